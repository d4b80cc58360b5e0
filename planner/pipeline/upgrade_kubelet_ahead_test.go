package pipeline_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
)

// TestUpgradeCompletesWithKubeletNewerThanAPIServer checks that an upgrade completes when a control plane was rebooted after the new
// kubelet was installed: its kubelet is newer than its API server then, and does not become Ready
// before the upgrade has come to it.
func TestUpgradeCompletesWithKubeletNewerThanAPIServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		planes   int
		from, to string
		rebooted string
	}{
		"one minor version": {3, "1.35.8", "1.36.3", "10.0.0.12"},
		"the first one":     {3, "1.35.8", "1.36.3", "10.0.0.11"},
		"the only one":      {1, "1.35.8", "1.36.3", "10.0.0.11"},
		"a worker":          {1, "1.35.8", "1.36.3", "10.0.0.21"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := running(t, c.planes, 2, c.from)
			o.config.Clusters[0].KubernetesVersion = c.to
			o.kubelets(c.to)
			o.edit(c.rebooted, "power reboot")
			o.world.Advance(time.Minute)
			o.world.Watch = true
			o.must(o.apply())
			o.wantNothing()
			// It is back as soon as its own API server has the version.
			held := slices.DeleteFunc(o.world.Violations(), func(v string) bool { return strings.Contains(v, "host-10-0-0-11: kubelet") })
			if len(held) > 0 {
				t.Errorf("violations:\n%s", strings.Join(held, "\n"))
			}
		})
	}
}

// TestUpgradeIsRefusedWithKubeletThatExits checks that the plan names a kubelet that was installed ahead of its
// upgrade and does not start: 1.35 has no --pod-infra-container-image any more, which 1.34 has. With the
// kubelet of before the upgrade completes.
func TestUpgradeIsRefusedWithKubeletThatExits(t *testing.T) {
	t.Parallel()
	for planes, title := range map[int]string{3: "Kubelet is not running", 1: "Cluster cannot be upgraded now"} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			o := running(t, planes, 2, "1.34.9")
			o.config.Clusters[0].KubernetesVersion = "1.36.3"
			last := fmt.Sprint("10.0.0.1", planes)
			o.kubelets("1.36.3")
			o.edit(last, "power reboot")
			o.world.Advance(time.Minute)
			want := fmt.Sprintf("The kubelet 1.36.3 that is installed on node.cp[\"cp%d\"] has no --pod-infra-container-image, which /var/lib/kubelet/kubeadm-flags.env names, and exits. "+
				"Install the kubelet 1.34.9 there again, start it, and plan again.", planes)
			if err := o.apply(); err == nil || !strings.Contains(err.Error(), title) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
			o.kubelets("1.34.9")
			o.world.Advance(5 * time.Minute)
			o.kubelets("1.36.3")
			o.must(o.apply())
			o.wantNothing()
		})
	}
}

// TestUpgradeReportsKubeletNewerThanAPIServer checks that the plan says that the upgrade does not wait for such a node. A control
// plane that is not Ready for another reason is still waited for.
func TestUpgradeReportsKubeletNewerThanAPIServer(t *testing.T) {
	t.Parallel()
	o := running(t, 3, 0, "1.35.8")
	cl := places(o.config).Clusters[0]
	cl.KubernetesVersion, cl.Origins = "1.36.3", maps.Clone(cl.Origins)
	cl.Origins["kubernetes_version"] = kubernetesVersion
	o.kubelets("1.36.3")
	o.edit("10.0.0.12", "power reboot")
	o.world.Advance(time.Minute)
	v := o.observe()
	unready := v.ClusterReports["prod"].Nodes["host-10-0-0-13"]
	unready.Ready = false
	v.ClusterReports["prod"].Nodes["host-10-0-0-13"] = unready
	_, diags := o.planOf(v, planner.Options{})
	wantFindings(t, diags,
		finding{diag.Warning, "Kubelet is newer than the API server", kubernetesVersion.String(), `node.cp["cp2"]`, []string{
			"the kubelet 1.36.3 is installed and the version of the running one is unknown", "API server 1.35.8 beside it", "does not wait for it", "install the kubelet 1.35.8, restart it, and apply again",
		}},
		finding{diag.Warning, "Control plane is not ready", kubernetesVersion.String(), "", []string{`node.cp["cp3"]: the Node is not Ready`, "waits 4m0s for it"}})
}
