package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// TestKubeletMissingCredentialsIsReissued checks that a kubelet that has lost its credentials gets them again, on any node,
// even if it could not start any more.
func TestKubeletMissingCredentialsIsReissued(t *testing.T) {
	t.Parallel()
	const conf, own = "file /etc/kubernetes/kubelet.conf ", "file /var/lib/kubelet/pki/kubelet-client-current.pem "
	for name, tt := range map[string]struct {
		edits []string
		since string
	}{
		"kubeconfig deleted":  {[]string{conf + "delete"}, "because its kubeconfig is missing"},
		"kubeconfig garbage":  {[]string{conf + "content garbage"}, "because its kubeconfig cannot be read"},
		"certificate deleted": {[]string{own + "delete"}, "because its own is missing"},
		"certificate garbage": {[]string{own + "content garbage"}, "because its own cannot be read"},
		"both deleted":        {[]string{conf + "delete", own + "delete"}, "because its kubeconfig is missing"},
		"deleted and booted":  {[]string{conf + "delete", own + "delete", "power reboot"}, "because its kubeconfig is missing"},
	} {
		for _, hosts := range [][]string{{"10.0.0.11", "10.0.0.21"}, {"10.0.0.12"}} {
			t.Run(name+" on "+strings.Join(hosts, " and "), func(t *testing.T) {
				t.Parallel()
				o := founded(t, 3, 1)
				for _, h := range hosts {
					o.edit(h, tt.edits...)
				}
				p, err := o.plan()
				o.must(err)
				if said := impacts(p, tt.since); said != len(hosts) {
					t.Errorf("%d steps give the reason %q, want %d:\n%s", said, tt.since, len(hosts), describe(p))
				}
				o.must(o.carryOut())
				o.wantNothing()
				for _, h := range hosts {
					o.edit(h, "power reboot")
				}
				o.wantNothing()
			})
		}
	}
}

// TestKubeletMissingCredentialsIsReissuedWithoutAPI checks the same where the API does not answer, since the API server runs under
// the kubelet that has lost its credentials.
func TestKubeletMissingCredentialsIsReissuedWithoutAPI(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 0)
	o.edit("10.0.0.11", "file /etc/kubernetes/kubelet.conf delete", "power reboot")
	p, err := o.plan()
	o.must(err)
	if impacts(p, "because its kubeconfig is missing") != 1 {
		t.Errorf("the kubelet gets no certificate:\n%s", describe(p))
	}
	o.must(o.carryOut())
	o.must(o.apply()) // for objects that could not be observed before
	o.wantNothing()
}

// impacts counts the steps whose impact contains a text.
func impacts(p *planner.Plan, part string) int {
	count := 0
	for _, s := range p.Steps {
		if strings.Contains(s.Impact, part) {
			count++
		}
	}
	return count
}

// TestInterruptedJoinContinuesBesideOldNode checks that an interrupted join continues as a join, even if the API shows an
// old Node of the host: the node was forgotten and came back.
func TestInterruptedJoinContinuesBesideOldNode(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 2)
	o.edit("10.0.0.22", "power off")
	o.leave("w2")
	o.forget = []state.Target{state.NodeKeyTarget("worker", "w2")}
	o.must(o.apply())
	o.edit("10.0.0.22", "power on")
	o.world.Advance(time.Minute)
	o.edit("10.0.0.22", "reinstall")
	o.config = cluster(3, 2)
	_, err := o.planShown()
	o.must(err)
	if _, there := o.fleet.ClusterReports["prod"].Nodes["host-10-0-0-22"]; !there {
		t.Fatal("the old Node is gone")
	}
	crashed := false
	o.world.OnEffect = func(e sim.Effect) error {
		if crashed = crashed || e.Done && e.Host == "10.0.0.22" && e.Detail == "/var/lib/kubelet/config.yaml"; crashed {
			return errCrash
		}
		return nil
	}
	_ = o.carryOut()
	o.world.OnEffect = nil
	if !crashed {
		t.Fatal("the effect did not occur")
	}
	p, err := o.plan()
	o.must(err)
	if said := impacts(p, "issues the kubelet a certificate"); said > 0 {
		t.Errorf("a kubelet that never had a certificate is given one:\n%s", describe(p))
	}
	o.must(o.carryOut())
	o.wantNothing()
}
