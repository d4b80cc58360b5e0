package phases_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers/sim"
)

// running is a cluster of a version, with its kubelets.
func running(t testing.TB, planes, workers int, version string) *operator {
	t.Helper()
	cfg := cluster(planes, workers)
	cfg.Clusters[0].KubernetesVersion = version
	o := newOperator(t, cfg)
	o.kubelets(version)
	o.must(o.apply())
	o.wantNothing()
	o.world.Advance(time.Minute)
	return o
}

// kubelets installs the kubelet of a version on every host, as a package does.
func (o *operator) kubelets(version string) {
	o.t.Helper()
	for _, n := range o.config.Nodes {
		o.must(sim.Edit(o.world, n.Address, "install kubelet="+version))
	}
}

// wantHeld wants that nothing broke that has to hold throughout.
func (o *operator) wantHeld() {
	o.t.Helper()
	if v := o.world.Violations(); len(v) > 0 {
		o.t.Errorf("%d moments at which something was broken:\n%s", len(v), strings.Join(v[:min(len(v), 10)], "\n"))
	}
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{1, 0}, {1, 2}, {3, 2}} {
		t.Run(fmt.Sprintf("%d+%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			o := running(t, size[0], size[1], "1.35.8")
			o.config.Clusters[0].KubernetesVersion = "1.36.3"
			o.kubelets("1.36.3")
			o.world.Watch = true
			o.must(o.apply())
			o.wantNothing()
			for name, n := range o.view.Clusters["prod"].Nodes {
				if n.KubeletVersion != "v1.36.3" || n.Unschedulable || !n.Ready {
					t.Errorf("node %s: %+v", name, n)
				}
			}
			o.wantHeld()
		})
	}
}

func TestUpgradeRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		planes  int
		version string
		want    string
	}{
		{1, "1.34.9", "cannot go back"},
		{1, "1.37.1", "go through 1.36"},
		{2, "1.36.3", "two control planes"},
	} {
		o := running(t, c.planes, 0, "1.35.8")
		o.config.Clusters[0].KubernetesVersion = c.version
		if _, err := o.plan(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("1.35.8 → %s with %d control planes: %v; want %q", c.version, c.planes, err, c.want)
		}
	}
}

// TestUpgradeCrashAnywhere stops the operator at single effects of an upgrade:
// the same command again ends in the same place, and nothing breaks meanwhile.
func TestUpgradeCrashAnywhere(t *testing.T) {
	t.Parallel()
	crashAnywhere(t, func() *operator {
		o := running(t, 3, 1, "1.35.8")
		o.world.Watch = true
		o.config.Clusters[0].KubernetesVersion = "1.36.3"
		o.kubelets("1.36.3")
		return o
	}, 13)
}
