package upgrade_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/planner/upgrade"
	"github.com/kubewright/kubewright/state"
)

// described returns a version change in one line.
func described(up *topology.Upgrade) string {
	if up == nil {
		return "none"
	}
	out := fmt.Sprintf("%s to %s, wants %s", up.Oldest, up.Newest, up.Want)
	for _, flag := range []struct {
		set  bool
		name string
	}{{up.Raises, "raises"}, {up.Begun, "begun"}} {
		if flag.set {
			out += ", " + flag.name
		}
	}
	var hops []string
	for _, h := range up.Hops {
		hops = append(hops, h.String())
	}
	if len(hops) > 0 {
		out += ", by " + strings.Join(hops, " ")
	}
	var turns []string
	for _, target := range slices.SortedFunc(maps.Keys(up.Turns), topology.CompareTargets) {
		turns = append(turns, topology.ShortName(target)+"="+up.Turns[target])
	}
	if len(turns) > 0 {
		out += ", kubelets " + strings.Join(turns, " ")
	}
	if up.Err != nil {
		out += ", error: " + up.Err.Error()
	}
	return out
}

// image makes a control plane's host have the image of an API server.
func image(t state.Target, version string) tt.Change {
	return tt.Host(t, func(r *state.Report) { r.Images = append(r.Images, "registry.k8s.io/kube-apiserver:v"+version) })
}

// stopped makes the static pods of Kubernetes on a control plane be stopped.
func stopped(t state.Target) tt.Change {
	return tt.Host(t, func(r *state.Report) {
		for _, component := range topology.ControlPlaneVersions {
			delete(r.Files, topology.Manifest(component))
		}
	})
}

// archive makes an archive of images be among the artifacts.
func archive(images ...string) tt.Change {
	return tt.Cluster(func(c *config.Cluster) {
		c.Install.Catalog = &config.Catalog{Files: []config.Artifact{{Name: "images/kubernetes.tar", Kind: config.ArtifactImages, Images: images}}}
	})
}

func cordoned(t state.Target) tt.Change {
	return tt.Node(t, func(n *state.NodeReport) {
		n.Unschedulable, n.Annotations = true, map[string]string{planner.CordonAnnotation: drain.ForUpgrade}
	})
}

// TestAnalyzeUpgradeFindsWaypoints checks from which version a cluster of two control planes and a
// worker goes to which, by which versions, and which kubelets change.
func TestAnalyzeUpgradeFindsWaypoints(t *testing.T) {
	t.Parallel()
	const all = ", kubelets cp1=1.36.3 cp2=1.36.3 w1=1.36.3"
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    string
	}{
		{"nothing changes", []tt.Change{tt.From("1.36.3")}, "none"},
		{"one minor version", []tt.Change{tt.From("1.35.8")}, "1.35.8 to 1.35.8, wants 1.36.3, raises, by 1.36.3" + all},
		{"a patch release", []tt.Change{tt.From("1.36.1")}, "1.36.1 to 1.36.1, wants 1.36.3, raises, by 1.36.3" + all},
		{"no minor version is skipped", []tt.Change{tt.From("1.34.9")}, "1.34.9 to 1.34.9, wants 1.36.3, raises, by 1.35.8 1.36.3" + all},
		{"three minor versions", []tt.Change{tt.From("1.34.9"), tt.To("1.37.1")}, "1.34.9 to 1.34.9, wants 1.37.1, raises, by 1.35.8 1.36.3 1.37.1" + all},
		{
			"the artifacts have another release of the version on the way",
			[]tt.Change{tt.From("1.34.9"), archive("registry.k8s.io/kube-apiserver:v1.35.2", "registry.k8s.io/kube-apiserver:v1.35.5")},
			"1.34.9 to 1.34.9, wants 1.36.3, raises, by 1.35.5 1.36.3" + all,
		},
		{
			"the first control plane has the version already",
			[]tt.Change{tt.From("1.35.8"), tt.Manifests(tt.CP(1), "1.36.3")},
			"1.35.8 to 1.36.3, wants 1.36.3, raises, begun, by 1.36.3" + all,
		},
		{
			"the others follow to the release that the first one has on the way",
			[]tt.Change{tt.From("1.34.9"), tt.Manifests(tt.CP(1), "1.35.2"), image(tt.CP(1), "1.36.3")},
			"1.34.9 to 1.35.2, wants 1.36.3, raises, begun, by 1.35.2 1.36.3" + all,
		},
		{
			"a version on the way was configured before",
			[]tt.Change{tt.From("1.34.9"), tt.Manifests(tt.CP(1), "1.35.2")},
			"1.34.9 to 1.35.2, wants 1.36.3, raises, by 1.35.2 1.36.3" + all,
		},
		{
			"all control planes were stopped",
			[]tt.Change{tt.From("1.35.8"), stopped(tt.CP(1)), stopped(tt.CP(2)), image(tt.CP(1), "1.36.3"), tt.SilentAPI()},
			"1.35.8 to 1.35.8, wants 1.36.3, raises, begun, by 1.36.3",
		},
		{"the API is silent", []tt.Change{tt.From("1.35.8"), tt.SilentAPI()}, "1.35.8 to 1.35.8, wants 1.36.3, raises, by 1.36.3"},
		{"a kubelet is one minor version behind", []tt.Change{tt.From("1.36.3"), tt.Kubelet(tt.W(1), "1.35.8")}, "1.36.3 to 1.36.3, wants 1.36.3, begun, kubelets w1=1.36.3"},
		{"a kubelet that is behind is not replaced", []tt.Change{tt.From("1.36.3"), tt.Kubelet(tt.W(1), "1.35.8"), tt.Installed(tt.W(1), "1.35.8")}, "none"},
		{"a kubelet was replaced by an older one", []tt.Change{tt.From("1.36.3"), tt.Installed(tt.W(1), "1.35.8")}, "1.36.3 to 1.36.3, wants 1.36.3, begun, kubelets w1=1.35.8"},
		{"an interrupted upgrade has left a worker cordoned", []tt.Change{tt.From("1.36.3"), cordoned(tt.W(1))}, "1.36.3 to 1.36.3, wants 1.36.3, begun"},
		{
			"back", []tt.Change{tt.From("1.36.3"), tt.To("1.35.8")}, "1.36.3 to 1.36.3, wants 1.35.8, raises, error: an API server already runs 1.36.3, and Kubernetes cannot be downgraded: " +
				`what it has stored may be in a form that 1.35.8 does not read. Set kubernetes_version = "1.36.3"`,
		},
		{"the cluster is destroyed", []tt.Change{tt.From("1.35.8"), func(v *topology.Fleet) { v.Destroy = true }}, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Running(2, 1, c.changes...)
			if got := described(upgrade.AnalyzeUpgrade(v.Clusters[0])); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestAnalyzeUpgradeOfStoppedControlPlanes checks that a control plane that was stopped before it got
// its manifests counts with the version that it can have had.
func TestAnalyzeUpgradeOfStoppedControlPlanes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, first, oldest, hops string }{
		{"while another one got the version", "1.35.8", "1.36.3", "1.35.8", "[1.36.3]"},
		{"on the last hop", "1.34.9", "1.36.3", "1.35.8", "[1.36.3]"},
		{"on the first hop", "1.34.9", "1.35.8", "1.34.9", "[1.35.8 1.36.3]"},
	} {
		v := tt.Running(2, 1, tt.From(c.from), tt.Manifests(tt.CP(1), c.first), stopped(tt.CP(2)), image(tt.CP(2), "1.36.3"))
		up := upgrade.AnalyzeUpgrade(v.Clusters[0])
		if up == nil || up.Oldest.String() != c.oldest || fmt.Sprint(up.Hops) != c.hops || !up.Begun {
			t.Errorf("%s: got %s, want one from %s by %s that has begun", c.name, described(up), c.oldest, c.hops)
		}
	}
}

// upgrading returns a cluster in which the version change is known.
func upgrading(planes, workers int, changes ...tt.Change) *topology.Cluster {
	c := tt.Running(planes, workers, changes...).Clusters[0]
	c.Up = upgrade.AnalyzeUpgrade(c)
	return c
}

// TestUpgradeSentenceListsBatches checks the sentence about an upgrade: the versions, and the order of
// the workers.
func TestUpgradeSentenceListsBatches(t *testing.T) {
	t.Parallel()
	pace := func(p config.Pace) tt.Change {
		return tt.Cluster(func(c *config.Cluster) { c.Upgrade.Pace = p })
	}
	const begins = "kubernetes_version: 1.35.8 → 1.36.3; control planes one at a time"
	for _, c := range []struct {
		name    string
		workers int
		changes []tt.Change
		want    string
	}{
		{"one worker", 1, nil, begins + "."},
		{"workers one after another", 3, nil, begins + "; workers 1 at a time."},
		{"two at a time", 3, []tt.Change{pace(config.Pace{MaxUnavailable: "2"})}, begins + "; workers 2 at a time."},
		{"half of them", 4, []tt.Change{pace(config.Pace{MaxUnavailable: "50%"})}, begins + "; workers 2 at a time."},
		{"a version on the way", 1, []tt.Change{tt.From("1.34.9")}, "kubernetes_version: 1.34.9 → 1.35.8 → 1.36.3; control planes one at a time."},
		{"only kubelets", 2, []tt.Change{tt.Manifests(tt.CP(1), "1.36.3")}, "kubelets to 1.36.3; workers 1 at a time."},
		{
			"a canary and a pause", 4,
			[]tt.Change{pace(config.Pace{MaxUnavailable: "2", Canary: 1, Pause: 10 * 60e9})},
			begins + "; workers in batches:\n  1. w1 (canary), then a pause of 10m\n  2. w2, w3, then a pause of 10m\n  3. w4",
		},
		{
			"one that an interrupted upgrade has cordoned is first", 3,
			[]tt.Change{pace(config.Pace{MaxUnavailable: "1", Pause: 10 * 60e9}), cordoned(tt.W(3))},
			begins + "; workers in batches:\n  1. w3, then a pause of 10m\n  2. w1, then a pause of 10m\n  3. w2",
		},
		{
			"one that is not ready is first", 3,
			[]tt.Change{pace(config.Pace{MaxUnavailable: "1", Pause: 10 * 60e9}), tt.Node(tt.W(2), func(n *state.NodeReport) { n.Ready = false })},
			begins + "; workers in batches:\n  1. w2, then a pause of 10m\n  2. w1, then a pause of 10m\n  3. w3",
		},
		{
			"a pool", 3,
			[]tt.Change{
				tt.Node(tt.W(3), func(n *state.NodeReport) { n.Labels = map[string]string{"pool": "gpu"} }),
				tt.Cluster(func(c *config.Cluster) {
					c.Upgrade.Pools = []config.Pool{{Name: "gpu", Selector: "pool=gpu", Pace: config.Pace{MaxUnavailable: "1"}}}
				}),
			},
			begins + "; workers in batches:\n  1. w3 (pool gpu)\n  2. w1, w2 (1 at a time)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cluster := upgrading(1, c.workers, append([]tt.Change{tt.From("1.35.8")}, c.changes...)...)
			if got := upgrade.UpgradeLine(cluster); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestDowngradedKubeletsAreNoUpgrade checks that kubelets that an administrator has replaced by older ones
// are no upgrade, and that everything else is.
func TestDowngradedKubeletsAreNoUpgrade(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    bool
	}{
		{"a kubelet becomes older", []tt.Change{tt.From("1.36.3"), tt.Installed(tt.W(1), "1.35.8")}, true},
		{"one becomes older, and one newer", []tt.Change{tt.From("1.36.3"), tt.Installed(tt.W(1), "1.35.8"), tt.Kubelet(tt.W(2), "1.35.8")}, false},
		{"a kubelet becomes newer", []tt.Change{tt.From("1.36.3"), tt.Kubelet(tt.W(1), "1.35.8")}, false},
		{"the cluster is upgraded", []tt.Change{tt.From("1.35.8"), tt.Installed(tt.W(1), "1.34.9")}, false},
		{"a worker is cordoned for an upgrade", []tt.Change{tt.From("1.36.3"), cordoned(tt.W(1))}, false},
	} {
		if got := upgrade.LowersKubelets(upgrading(1, 2, c.changes...)); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
