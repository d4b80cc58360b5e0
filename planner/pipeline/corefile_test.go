package pipeline_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// dnsConfig is CoreDNS's ConfigMap, and dnsDeployment the Deployment that uses it.
var (
	dnsConfig     = state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "coredns"}
	dnsDeployment = state.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "kube-system", Name: "coredns"}
)

// corefile returns the present Corefile.
func (o *operator) corefile() string {
	return o.observe().ClusterReports["prod"].Objects[dnsConfig].Get("data.Corefile").AsString()
}

// writeCorefile edits the Corefile as kubectl edit would.
func (o *operator) writeCorefile(text string) {
	o.t.Helper()
	o.must(sim.Edit(o.world, o.config.Nodes[0].Address, "object ConfigMap kube-system/coredns set data.Corefile="+strconv.Quote(text)))
	if got := o.corefile(); got != text {
		o.t.Fatalf("the Corefile is %q, want %q", got, text)
	}
}

// wantNoDrift checks that the plan is empty and reports no drift.
func (o *operator) wantNoDrift() {
	o.t.Helper()
	o.wantNothing()
	if drift := o.result.Plan.Drift; len(drift) > 0 {
		o.t.Errorf("reported as drift: %+v", drift)
	}
}

// TestCustomCorefileAndReplicasSurviveUpgrade checks that a user's Corefile and number of CoreDNS replicas stay, even when an
// upgrade gives CoreDNS another image.
func TestCustomCorefileAndReplicasSurviveUpgrade(t *testing.T) {
	t.Parallel()
	o := running(t, 1, 1, "1.35.8")
	stub := o.corefile() + "example.com:53 {\n    forward . 10.0.0.53\n}\n"
	o.writeCorefile(stub)
	o.must(sim.Edit(o.world, o.config.Nodes[0].Address, "object Deployment kube-system/coredns set spec.replicas=3"))
	o.wantNoDrift()
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.kubelets("1.36.3")
	o.must(o.apply())
	if got := o.corefile(); got != stub {
		t.Errorf("the upgrade made the Corefile %q", got)
	}
	if got := o.observe().ClusterReports["prod"].Objects[dnsDeployment].Get("spec.replicas"); got.AsString() != "3" {
		t.Errorf("the upgrade left %s replicas of CoreDNS, want 3", got.AsString())
	}
	o.wantNoDrift()
	o.must(sim.Edit(o.world, o.config.Nodes[0].Address, "object ConfigMap kube-system/coredns delete"))
	o.must(o.apply())
	if got := o.corefile(); !strings.HasPrefix(stub, got) || got == stub {
		t.Errorf("the deleted Corefile came back as %q", got)
	}
}

// TestCoreDNSReplicasFollowPatch checks that CoreDNS has as many replicas as a patch says, even after manual
// scaling, and that the number stays once no patch sets it.
func TestCoreDNSReplicasFollowPatch(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	want := func(n string) {
		t.Helper()
		if got := o.observe().ClusterReports["prod"].Objects[dnsDeployment].Get("spec.replicas"); got.AsString() != n {
			t.Errorf("%s replicas of CoreDNS, want %s", got.AsString(), n)
		}
		o.wantNoDrift()
	}
	o.config.Clusters[0].Patches = []config.Patch{{Target: "corednsdeployment", Type: "merge", Content: "spec: {replicas: 3}"}}
	o.must(o.apply())
	want("3")
	o.must(sim.Edit(o.world, o.config.Nodes[0].Address, "object Deployment kube-system/coredns set spec.replicas=5"))
	o.must(o.apply())
	want("3")
	o.config.Clusters[0].Patches = nil
	o.must(o.apply())
	want("3")
	o.must(sim.Edit(o.world, o.config.Nodes[0].Address, "object Deployment kube-system/coredns set spec.replicas=5"))
	want("5")
}

// TestOldKubeadmCorefileIsReplacedOnlyByUpgrade checks that only an upgrade replaces a Corefile that kubeadm wrote in an earlier
// release.
func TestOldKubeadmCorefileIsReplacedOnlyByUpgrade(t *testing.T) {
	t.Parallel()
	o := running(t, 1, 0, "1.35.8")
	present := o.corefile()
	before, rest, _ := strings.Cut(present, "    cache 30 {")
	_, after, _ := strings.Cut(rest, "    }\n")
	former := before + "    cache 30\n" + after
	o.writeCorefile(former)
	o.wantNoDrift()
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.kubelets("1.36.3")
	o.must(o.apply())
	if got := o.corefile(); got != present {
		t.Errorf("the upgrade left the Corefile %q", got)
	}
	o.wantNoDrift()
}
