package upgrade_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/planner/upgrade"
	"github.com/kubewright/kubewright/state"
)

// draft returns a builder without steps and changes.
func draft() *topology.Builder {
	return &topology.Builder{
		Draft: &planner.Draft{
			Edges: map[state.Address][]state.Address{}, Turns: map[state.Address][]state.Address{}, Closes: map[state.Address][]state.Address{},
		},
		Desired: &state.Snapshot{}, Changes: map[state.Address][]planner.Change{}, Access: map[state.Address][]planner.Operation{},
	}
}

// of returns the short names of the targets of those steps that have a phase, sorted.
func of(phase string, steps []state.Address) string {
	var out []string
	for _, s := range steps {
		if s.Phase == phase {
			out = append(out, topology.ShortName(s.Target))
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

// TestOrderUpgradeTakesTurns checks which kubelets are upgraded before a node is drained for its own.
func TestOrderUpgradeTakesTurns(t *testing.T) {
	t.Parallel()
	paced := func(p config.Pace) tt.Change {
		return tt.Cluster(func(c *config.Cluster) { c.Upgrade.Pace = p })
	}
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    map[state.Target]string
	}{
		{"one after another", nil, map[state.Target]string{tt.CP(1): "", tt.CP(2): "cp1", tt.W(1): "cp1 cp2", tt.W(2): "cp1 cp2 w1", tt.W(3): "cp1 cp2 w2"}},
		{"two workers at a time", []tt.Change{paced(config.Pace{MaxUnavailable: "2"})}, map[state.Target]string{tt.W(1): "cp1 cp2", tt.W(2): "cp1 cp2", tt.W(3): "cp1 cp2 w1"}},
		{"one of two lanes is taken", []tt.Change{
			paced(config.Pace{MaxUnavailable: "2"}), tt.Node(tt.W(3), func(n *state.NodeReport) { n.Ready = false }), tt.Installed(tt.W(3), "1.35.8"),
		}, map[state.Target]string{tt.W(1): "cp1 cp2", tt.W(2): "cp1 cp2 w1"}},
		{"one that is cordoned already is first", []tt.Change{cordoned(tt.W(3))}, map[state.Target]string{tt.W(3): "cp1 cp2", tt.W(1): "cp1 cp2 w3", tt.W(2): "cp1 cp2 w1"}},
		{"a kubelet that keeps its version is passed over", []tt.Change{tt.Installed(tt.W(2), "1.35.8")}, map[state.Target]string{tt.W(3): "cp1 cp2 w1"}},
		{"a worker that an apply has removed comes back first", []tt.Change{func(v *topology.Fleet) {
			marks := v.Reports[tt.W(3)].Marks
			tt.Wiped(tt.W(3))(v)
			v.Reports[tt.W(3)].Marks = marks
		}}, map[state.Target]string{tt.W(1): "cp1 cp2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cluster, b := upgrading(2, 3, append([]tt.Change{tt.From("1.35.8")}, c.changes...)...), draft()
			upgrade.OrderUpgrade(b, cluster)
			for target, want := range c.want {
				if got := of(topology.KubeletStartPhase, b.Draft.Turns[topology.StepAddress(target, topology.DrainPhase)]); got != want {
					t.Errorf("before the drain of %s: got %q, want %q", topology.ShortName(target), got, want)
				}
			}
			back := of(topology.MarkWorkerPhase, b.Draft.Turns[topology.StepAddress(tt.W(1), topology.DrainPhase)])
			if comes := cluster.Node(tt.W(3)).ComesBack(); comes != (back == "w3") {
				t.Errorf("w1 waits for %q to come back, and that w3 comes back is %v", back, comes)
			}
		})
	}
}

// TestOrderUpgradeProvesControlPlanes checks that workers are drained after all control planes are
// proved to run, that all hosts have their images before a control plane changes, and that the
// addons come last.
func TestOrderUpgradeProvesControlPlanes(t *testing.T) {
	t.Parallel()
	c, b := upgrading(2, 2, tt.From("1.35.8")), draft()
	upgrade.OrderUpgrade(b, c)
	drains := b.Draft.Edges[topology.StepAddress(tt.W(1), topology.DrainPhase)]
	if got, want := of(topology.WaitControlPlanePhase, drains), "cp1 cp2"; got != want {
		t.Errorf("w1 is drained after the proof of %q, want %q", got, want)
	}
	if got, want := of(topology.UploadConfigPhase, drains), "prod"; got != want {
		t.Errorf("w1 is drained after the configuration of %q, want %q", got, want)
	}
	for _, phase := range []string{topology.EtcdPhase, topology.ControlPlanePhase} {
		if got, want := of(topology.ImagesPhase, b.Draft.Turns[topology.StepAddress(tt.CP(1), phase)]), "cp1 cp2 w1 w2"; got != want {
			t.Errorf("%s of cp1 comes after the images of %q, want %q", phase, got, want)
		}
	}
	if got, want := of(topology.KubeletStartPhase, b.Draft.Turns[topology.StepAddress(c.Target, topology.AddonPhase)]), "cp1 cp2 w1 w2"; got != want {
		t.Errorf("the addons come after the kubelets of %q, want %q", got, want)
	}
	var drained []string
	for _, s := range b.Draft.Steps {
		if s.Phase == topology.DrainPhase {
			drained = append(drained, topology.ShortName(s.Target))
		}
	}
	if got, want := strings.Join(drained, " "), "cp1 cp2 w1 w2"; got != want {
		t.Errorf("drained are %q, want %q", got, want)
	}
}

// TestOrderUpgradePausesBetweenBatches checks the steps between batches: after which kubelets they
// begin, and that the next batch waits for them.
func TestOrderUpgradePausesBetweenBatches(t *testing.T) {
	t.Parallel()
	c, b := upgrading(1, 3, tt.From("1.35.8"), tt.Cluster(func(c *config.Cluster) {
		c.Upgrade.Pace = config.Pace{MaxUnavailable: "1", Canary: 1, Pause: 10 * 60e9}
	})), draft()
	upgrade.OrderUpgrade(b, c)
	pause := func(batch string) state.Address {
		id := topology.StepAddress(c.Target, topology.PausePhase)
		id.Waypoint = "batch-" + batch
		return id
	}
	for batch, want := range map[string]string{"1": "w1", "2": "w2"} {
		if got := of(topology.KubeletStartPhase, b.Draft.Edges[pause(batch)]); got != want {
			t.Errorf("pause %s begins after %q, want %q", batch, got, want)
		}
	}
	for target, batch := range map[state.Target]string{tt.W(2): "1", tt.W(3): "2"} {
		if !slices.Contains(b.Draft.Edges[topology.StepAddress(target, topology.DrainPhase)], pause(batch)) {
			t.Errorf("%s does not wait for pause %s", target, batch)
		}
	}
	i := slices.IndexFunc(b.Draft.Steps, func(s planner.Step) bool { return s.ID == pause("1") })
	if i < 0 {
		t.Fatal("there is no first pause")
	}
	if got, want := b.Draft.Steps[i].Impact, "waits 10m, and until w1 is Ready"; got != want || b.Draft.Steps[i].Action != planner.NoOp {
		t.Errorf("got %s %q, want %s %q", b.Draft.Steps[i].Action, got, planner.NoOp, want)
	}
}

// TestWaypointsChangeControlPlanes checks what changes at a version on the way: the static pods of
// all control planes and their images, nothing on workers, and at the wanted version nothing.
func TestWaypointsChangeControlPlanes(t *testing.T) {
	t.Parallel()
	v := tt.Running(2, 1, tt.From("1.34.9"))
	v.Clusters[0].Up = upgrade.AnalyzeUpgrade(v.Clusters[0])
	v, changes, items := upgrade.Waypoints(v, &state.Snapshot{})
	c := v.Clusters[0]
	if len(c.Up.Way) != 1 || c.Up.Way[0].Version != "1.35.8" {
		t.Fatalf("got %d waypoints, want 1.35.8", len(c.Up.Way))
	}
	got := map[string][]string{}
	for _, ch := range changes {
		if ch.Address.Waypoint != "1.35.8" {
			t.Errorf("%s is at the waypoint %q, want 1.35.8", ch.Address, ch.Address.Waypoint)
		}
		if ch.Kind == state.KindStaticPod {
			got[topology.ShortName(ch.Address.Target)] = append(got[topology.ShortName(ch.Address.Target)], ch.Address.ID())
		}
	}
	want := []string{topology.Manifest("kube-apiserver"), topology.Manifest("kube-controller-manager"), topology.Manifest("kube-scheduler")}
	for _, name := range []string{"cp1", "cp2"} {
		pods := slices.DeleteFunc(got[name], func(path string) bool { return path == topology.Manifest("etcd") })
		if !slices.Equal(pods, want) {
			t.Errorf("%s: got %v, want %v", name, pods, want)
		}
	}
	if len(got["w1"]) > 0 {
		t.Errorf("w1: got %v, want nothing", got["w1"])
	}
	image := topology.ItemAddress(tt.CP(1), topology.ImagesPhase, "image", "registry.k8s.io/kube-apiserver:v1.35.8")
	image.Waypoint = "1.35.8"
	if !slices.ContainsFunc(items, func(it state.Item) bool { return it.Address == image }) {
		t.Errorf("%s is missing", image)
	}
}

// TestOrderUpgradePassesVersions checks that each control plane has a version on the way, and is proved
// to run if it failed, before the next one gets it, and that all have it before any continues.
func TestOrderUpgradePassesVersions(t *testing.T) {
	t.Parallel()
	v := tt.Running(2, 1, tt.From("1.34.9"), tt.To("1.37.1"))
	v.Clusters[0].Up = upgrade.AnalyzeUpgrade(v.Clusters[0])
	v, _, _ = upgrade.Waypoints(v, &state.Snapshot{})
	c, b := v.Clusters[0], draft()
	upgrade.OrderUpgrade(b, c)
	if len(c.Up.Way) != 2 {
		t.Fatalf("got %d waypoints, want 1.35.8 and 1.36.3", len(c.Up.Way))
	}
	first, second := c.Up.Way[0], c.Up.Way[1]
	for _, s := range []struct{ step, after state.Address }{
		{first.Step(tt.CP(1), topology.ControlPlanePhase), first.Step(tt.CP(1), topology.EtcdPhase)},
		{first.Step(tt.CP(2), topology.EtcdPhase), first.Step(tt.CP(1), topology.ControlPlanePhase)},
		{second.Step(tt.CP(1), topology.EtcdPhase), first.Step(tt.CP(2), topology.ControlPlanePhase)},
		{second.Step(tt.CP(2), topology.EtcdPhase), second.Step(tt.CP(1), topology.WaitControlPlanePhase)},
	} {
		if !slices.Contains(b.Draft.Edges[s.step], s.after) {
			t.Errorf("%s does not wait for %s: %v", s.step, s.after, b.Draft.Edges[s.step])
		}
	}
	if got, want := of(topology.ImagesPhase, b.Draft.Turns[first.Step(tt.CP(1), topology.EtcdPhase)]), "cp1 cp2 w1"; got != want {
		t.Errorf("etcd of cp1 comes after the images of %q, want %q", got, want)
	}
}

// TestRiskySteps checks which steps come after a snapshot of etcd.
func TestRiskySteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, from string
		want       []string
	}{
		{"another minor version", "1.35.8", []string{`node.cp["cp1"]/etcd`, `node.cp["cp1"]/control-plane`}},
		{"a patch release", "1.36.1", []string{`node.cp["cp1"]/etcd`}},
		{"no upgrade", "1.36.3", nil},
	} {
		cluster, b := upgrading(2, 0, tt.From(c.from)), draft()
		for _, phase := range []string{topology.EtcdPhase, topology.ControlPlanePhase} {
			id := topology.StepAddress(tt.CP(1), phase)
			b.Changes[id] = []planner.Change{{Address: topology.ItemAddress(tt.CP(1), phase, "file", topology.Manifest("etcd")), Kind: state.KindStaticPod, Action: planner.Update}}
		}
		var got []string
		for _, a := range upgrade.RiskySteps(b, cluster) {
			got = append(got, a.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestAsksForDeprecated checks in which clusters the use of deprecated APIs is queried.
func TestAsksForDeprecated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		label, running string
		want           bool
	}{
		{tt.Label, "v1.35.8", true},
		{tt.Label, "v1.36.1", false},
		{tt.Label, "v1.36.3", false},
		{tt.Label, "v1.37.0", false},
		{tt.Label, "", false},
		{"other", "v1.35.8", false},
	} {
		if got := upgrade.AsksForDeprecated(tt.Config(1, 0), c.label, c.running); got != c.want {
			t.Errorf("%s at %q: got %v, want %v", c.label, c.running, got, c.want)
		}
	}
}

// TestTaintsFirst checks that a taint is set between the drain of a node and its return.
func TestTaintsFirst(t *testing.T) {
	t.Parallel()
	mark, start, drained := topology.StepAddress(tt.W(1), topology.MarkWorkerPhase), topology.StepAddress(tt.W(1), topology.KubeletStartPhase), topology.StepAddress(tt.W(1), topology.DrainPhase)
	taint := state.JoinPath("taints", "gpu:NoSchedule")
	for _, c := range []struct {
		name    string
		changes []tt.Change
		path    string
		after   state.Value
		moved   bool
	}{
		{"a taint of a node that is drained", []tt.Change{tt.From("1.35.8")}, taint, state.String(""), true},
		{"a taint of a node that an interrupted upgrade has cordoned", []tt.Change{tt.From("1.36.3"), cordoned(tt.W(1))}, taint, state.String(""), true},
		{"a taint of a node that is not drained", []tt.Change{tt.From("1.36.3")}, taint, state.String(""), false},
		{"a taint that is removed", []tt.Change{tt.From("1.35.8")}, taint, state.Null(), false},
		{"a label", []tt.Change{tt.From("1.35.8")}, "labels.gpu", state.String("a"), false},
		{"the operator skips the step", []tt.Change{tt.From("1.35.8"), func(v *topology.Fleet) { v.Skipped = []string{topology.MarkWorkerPhase} }}, taint, state.String(""), false},
	} {
		cluster, b := upgrading(1, 1, c.changes...), draft()
		b.Changes[mark] = []planner.Change{{Address: mark, Kind: state.KindNodeObject, Action: planner.Update, Attributes: []planner.AttributeChange{{Path: c.path, After: c.after}}}}
		b.Draft.Edges[start] = []state.Address{drained}
		upgrade.TaintsFirst(b, cluster)
		moved := slices.Contains(b.Draft.Edges[mark], drained) && slices.Contains(b.Draft.Edges[start], mark) && slices.Contains(b.Draft.Closes[start], mark)
		if moved != c.moved {
			t.Errorf("%s: got %v, want %v: %v", c.name, moved, c.moved, b.Draft.Edges)
		}
	}
}

// TestDrainsAtOnce checks how many nodes may be drained at the same time.
func TestDrainsAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, from, most string
		want             int
	}{
		{"no upgrade", "1.36.3", "3", 1},
		{"one at a time", "1.35.8", "1", 1},
		{"three at a time", "1.35.8", "3", 3},
		{"half of four", "1.35.8", "50%", 2},
	} {
		cluster := upgrading(1, 4, tt.From(c.from), tt.Cluster(func(cl *config.Cluster) { cl.Upgrade.MaxUnavailable = c.most }))
		if got := upgrade.DrainsAtOnce(cluster); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
