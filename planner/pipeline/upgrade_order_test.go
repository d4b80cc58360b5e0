package pipeline_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// TestUpgradeKeepsInvariantsInRandomOrders runs the steps of upgrades in random orders that their needs allow. At no moment do
// incompatible versions run together, are more workers down than allowed, or one while a control plane
// still has the old version, or is a node touched before it was drained. Replaced workers are down as
// well, from the drain until they have joined.
func TestUpgradeKeepsInvariantsInRandomOrders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		planes, workers int
		from, to        string
		kubelet         string
		unavailable     string
		down            int
		replaced        []int
	}{
		{3, 4, "1.35.8", "1.36.3", "1.36.3", "2", 2, nil},
		{3, 5, "1.34.9", "1.37.1", "1.37.1", "40%", 2, nil},
		{1, 3, "1.36.1", "1.36.3", "1.36.3", "10%", 1, nil},
		{3, 3, "1.35.8", "1.36.3", "1.36.3", "1", 1, []int{0, 1}},
		{1, 4, "1.36.1", "1.36.3", "1.36.3", "2", 2, []int{3}},
		{1, 2, "1.36.3", "1.36.3", "1.36.1", "1", 1, []int{0}},
	} {
		t.Run(fmt.Sprintf("%d+%d %s to %s, kubelets to %s, replaced %v", c.planes, c.workers, c.from, c.to, c.kubelet, c.replaced), func(t *testing.T) {
			t.Parallel()
			o := running(t, c.planes, c.workers, c.from)
			o.config.Clusters[0].KubernetesVersion = c.to
			o.config.Clusters[0].Upgrade.MaxUnavailable = c.unavailable
			o.kubelets(c.kubelet)
			for _, i := range c.replaced {
				o.replace = append(o.replace, o.config.Nodes[c.planes+i].Target)
			}
			p, err := o.plan()
			o.must(err)
			most := 0
			for seed := range uint64(50) {
				w := newUpgradeWalk(t, o, c.from)
				w.run(p, rand.New(rand.NewPCG(seed, 1)))
				if w.most > c.down {
					t.Fatalf("%d workers are down at once, want %d at most", w.most, c.down)
				}
				most = max(most, w.most)
			}
			if most != c.down {
				t.Errorf("never more than %d workers are down at once, want %d", most, c.down)
			}
		})
	}
}

// TestUpgradeExcludedNodeBlocksOnlyDependents checks that a node that is left out of an upgrade only holds up those that need
// it: kubelets wait for all control planes, since they may not be newer, but not for each other.
func TestUpgradeExcludedNodeBlocksOnlyDependents(t *testing.T) {
	t.Parallel()
	all := func(nodes ...string) (out []planner.Selector) {
		for _, n := range nodes {
			block, key, _ := strings.Cut(n, "/")
			out = append(out, planner.Selector{Target: state.NodeKeyTarget(block, key)})
		}
		return out
	}
	for name, tt := range map[string]struct {
		options     planner.Options
		turns, left string
		addon       bool
	}{
		"everything":                 {planner.Options{}, "cp1 cp2 cp3 w1 w2 w3", "[]", true},
		"without a worker":           {planner.Options{Excludes: all("worker/w2")}, "cp1 cp2 cp3 w1 w3", "[]", true},
		"without the first worker":   {planner.Options{Excludes: all("worker/w1")}, "cp1 cp2 cp3 w2 w3", "[]", true},
		"without a control plane":    {planner.Options{Excludes: all("cp/cp3")}, "", `[cluster.prod/addon node.cp["cp1"]/drain node.cp["cp1"]/kubelet-start node.cp["cp2"]/drain node.cp["cp2"]/kubelet-start node.worker["w1"] node.worker["w2"] node.worker["w3"]]`, false},
		"of the kubelet of a worker": {planner.Options{Targets: all("worker/w2")}, "w2", "[]", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := running(t, 3, 3, "1.35.8")
			o.config.Clusters[0].KubernetesVersion = "1.36.3"
			o.kubelets("1.36.3")
			r, diags := o.planOf(o.observe(), tt.options)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			var turns []string
			addon := false
			for _, s := range r.Plan.Steps {
				if s.Phase == "kubelet-start" {
					turns = append(turns, s.Target.Key)
				}
				addon = addon || s.Phase == "addon"
			}
			if got := strings.Join(turns, " "); got != tt.turns || addon != tt.addon {
				t.Errorf("kubelets of %q, addons %v; want %q, %v", got, addon, tt.turns, tt.addon)
			}
			if got := fmt.Sprint(r.Plan.LeftOut); got != tt.left {
				t.Errorf("left out as well: %s\nwant %s", got, tt.left)
			}
			w := newUpgradeWalk(t, o, "1.35.8")
			w.run(r.Plan, rand.New(rand.NewPCG(1, 1)))
			if w.most > 1 {
				t.Errorf("%d workers are down at once", w.most)
			}
		})
	}
}

// upgradeWalk is a cluster on which the steps of a plan are executed one by one.
type upgradeWalk struct {
	t       *testing.T
	v       skew.Versions
	workers map[state.Target]bool
	down    map[state.Target]bool
	most    int
	// to is the version of upgraded control planes, joins the kubelet versions of nodes that rejoin.
	to    skew.Release
	joins map[state.Target]skew.Release
	// running are the steps in progress, of which any may end next.
	running []*planner.Step
	done    map[state.Address]bool
}

func newUpgradeWalk(t *testing.T, o *operator, from string) *upgradeWalk {
	t.Helper()
	w := &upgradeWalk{
		t: t, workers: map[state.Target]bool{}, down: map[state.Target]bool{}, done: map[state.Address]bool{},
		joins: map[state.Target]skew.Release{},
		v: skew.Versions{
			APIServers: map[string]skew.Release{}, ControllerManagers: map[string]skew.Release{},
			Schedulers: map[string]skew.Release{}, Kubelets: map[string]skew.Release{},
		},
	}
	r, _ := skew.ParseRelease(from)
	w.to, _ = skew.ParseRelease(o.config.Clusters[0].KubernetesVersion)
	for _, n := range o.config.Nodes {
		name := n.Target.String()
		if w.v.Kubelets[name] = r; slices.Contains(o.replace, n.Target) {
			w.joins[n.Target], _ = skew.ParseRelease(o.fleet.Reports[n.Target].Facts.KubeletVersion)
		}
		if w.workers[n.Target] = n.Role == config.Worker; !w.workers[n.Target] {
			w.v.APIServers[name], w.v.ControllerManagers[name], w.v.Schedulers[name] = r, r, r
		}
	}
	return w
}

// run starts and ends steps in a random order that needs and limits allow.
func (w *upgradeWalk) run(p *planner.Plan, random *rand.Rand) {
	w.t.Helper()
	var waiting []*planner.Step
	for i := range p.Steps {
		waiting = append(waiting, &p.Steps[i])
	}
	for len(waiting)+len(w.running) > 0 {
		ready := slices.DeleteFunc(slices.Clone(waiting), func(s *planner.Step) bool { return !w.mayStart(p, s) })
		if len(ready) > 0 && random.IntN(2) == 0 {
			s := ready[random.IntN(len(ready))]
			waiting = slices.DeleteFunc(waiting, func(o *planner.Step) bool { return o == s })
			w.running = append(w.running, s)
			w.start(s)
			continue
		}
		if len(w.running) == 0 && len(ready) == 0 {
			w.t.Fatalf("nothing can start, and %d steps wait", len(waiting))
		}
		if len(w.running) > 0 {
			i := random.IntN(len(w.running))
			w.end(w.running[i])
			w.running = slices.Delete(w.running, i, i+1)
		}
	}
}

func (w *upgradeWalk) mayStart(p *planner.Plan, s *planner.Step) bool {
	for _, n := range s.Needs {
		if !w.done[n] {
			return false
		}
	}
	for _, l := range s.Limits {
		busy := 0
		for _, r := range w.running {
			if slices.Contains(r.Limits, l) {
				busy++
			}
		}
		if busy >= p.Limits[l] {
			return false
		}
	}
	return true
}

var imageOf = regexp.MustCompile(`image: \S+/(kube-\S+):v(\S+)`)

// start does what a step does at its beginning: it writes manifests, replaces programs, and takes a
// node down.
func (w *upgradeWalk) start(s *planner.Step) {
	w.t.Helper()
	name := s.Target.String()
	for _, op := range s.Operations {
		switch op := op.(type) {
		case planner.WriteFile:
			if m := imageOf.FindStringSubmatch(op.Content.Inline); m != nil {
				r, _ := skew.ParseRelease(m[2])
				map[string]map[string]skew.Release{
					"kube-apiserver": w.v.APIServers, "kube-controller-manager": w.v.ControllerManagers, "kube-scheduler": w.v.Schedulers,
				}[m[1]][name] = r
			}
			if strings.HasPrefix(op.Path, "/etc/kubernetes/manifests/") && !slices.ContainsFunc(s.Limits, func(l string) bool { return strings.HasSuffix(l, "/control-plane-disruption") }) {
				w.t.Fatalf("%s restarts static pods without the limit", s.ID)
			}
		case planner.Cordon:
			w.down[s.Target] = !op.Undo
		case planner.Wait:
			if r, ok := skew.ParseRelease(op.Version); ok {
				w.v.Kubelets[name] = r
			}
		}
		if broken := w.v.Violations(); len(broken) > 0 {
			w.t.Fatalf("in %s: %v", s.ID, broken)
		}
		w.count()
	}
	joins, again := w.joins[s.Target]
	switch s.Phase {
	case "drain":
		w.down[s.Target] = true
	case "reset":
		delete(w.v.Kubelets, name)
		w.down[s.Target] = true
		w.count()
	case "kubelet-start":
		// Until the step has ended.
		if w.down[s.Target] = true; again {
			w.v.Kubelets[name] = joins
		}
		w.count()
	}
	if broken := w.v.Violations(); len(broken) > 0 {
		w.t.Fatalf("in %s: %v", s.ID, broken)
	}
}

func (w *upgradeWalk) end(s *planner.Step) {
	w.done[s.ID] = true
	_, again := w.joins[s.Target]
	if s.Phase == "kubelet-start" && !again || s.Phase == "kubelet-wait-bootstrap" {
		w.down[s.Target] = false
	}
}

func (w *upgradeWalk) count() {
	down := 0
	for t, is := range w.down {
		if is && w.workers[t] {
			down++
		}
	}
	for name, r := range w.v.APIServers {
		if down > 0 && r != w.to {
			w.t.Fatalf("a worker is down and %s still has %s", name, r)
		}
	}
	w.most = max(w.most, down)
}

// TestUpgradeWaitsForWorkerToRejoin checks that after an interrupted apply that had taken out a worker, the
// others take their turns when it has rejoined.
func TestUpgradeWaitsForWorkerToRejoin(t *testing.T) {
	t.Parallel()
	o := running(t, 1, 2, "1.35.8")
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.kubelets("1.36.3")
	w1 := o.config.Nodes[1].Target
	o.replace = []state.Target{w1}
	power := errors.New("the operator's machine is off")
	o.around = func(s *planner.Step) error {
		if s.Target == w1 && s.Phase == "kubelet-start" {
			return power
		}
		return nil
	}
	if err := o.apply(); !errors.Is(err, power) {
		t.Fatalf("apply: %v", err)
	}
	o.replace, o.around = nil, nil
	p, err := o.plan()
	o.must(err)
	for seed := range uint64(20) {
		w := newUpgradeWalk(t, o, "1.36.3")
		w.joins[w1], w.down[w1] = w.to, true
		if w.run(p, rand.New(rand.NewPCG(seed, 1))); w.most != 1 {
			t.Fatalf("%d workers are down at once", w.most)
		}
	}
	o.must(o.carryOut())
	o.wantNothing()
}

// TestRejoiningWorkerIsNotDown checks that a worker that rejoins in the same plan does not count as down,
// although its previous Node still exists.
func TestRejoiningWorkerIsNotDown(t *testing.T) {
	t.Parallel()
	o := running(t, 1, 2, "1.35.8")
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.edit("10.0.0.22", "reinstall")
	o.forgetNode(o.config.Nodes[2].Target)
	o.kubelets("1.36.3")
	o.world.Advance(time.Minute)
	o.must(o.apply())
	o.wantNothing()
}

// TestUpgradeAwaitsKubeProxy checks that the last step of an upgrade waits for the pods of kube-proxy's
// new template, and that it does not with a node on which they would never run.
func TestUpgradeAwaitsKubeProxy(t *testing.T) {
	t.Parallel()
	o := running(t, 1, 1, "1.35.8")
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.kubelets("1.36.3")
	v := o.observe()
	awaited := func() bool {
		p, _ := o.planOf(v, planner.Options{})
		addon := p.Plan.Step(topology.StepAddress(state.ClusterTarget("prod"), topology.AddonPhase))
		return slices.ContainsFunc(addon.Operations, func(op planner.Operation) bool {
			restart, is := op.(planner.RestartPods)
			return is && restart.Mark == ""
		})
	}
	if !awaited() {
		t.Error("the plan does not wait for kube-proxy's pods")
	}
	worker := v.ClusterReports["prod"].Nodes["host-10-0-0-21"]
	worker.Ready = false
	v.ClusterReports["prod"].Nodes["host-10-0-0-21"] = worker
	if awaited() {
		t.Error("the plan waits for kube-proxy's pods though a node is not Ready")
	}
}

// TestManifestsAwaitTheKubeletThatHasTheirPod checks that a manifest follows its former pod where etcd and the
// API server are stopped, and not where the kubelet is replaced: the new one does not have that pod.
func TestManifestsAwaitTheKubeletThatHasTheirPod(t *testing.T) {
	t.Parallel()
	o := running(t, 1, 0, "1.35.8")
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.kubelets("1.36.3")
	p, err := o.plan()
	o.must(err)
	awaited := map[string]bool{topology.EtcdPhase: true, topology.KubeletStartPhase: false}
	for phase, want := range awaited {
		written := 0
		for _, op := range p.Step(topology.StepAddress(o.config.Nodes[0].Target, phase)).Operations {
			if file, is := op.(planner.WriteFile); is && planner.Serves(file.Path) {
				written++
				if file.StaticPod != want {
					t.Errorf("%s writes %s, awaiting its former pod: %v", phase, file.Path, file.StaticPod)
				}
			}
		}
		if written < 2 {
			t.Errorf("%s writes %d manifests of etcd and the API server", phase, written)
		}
	}
}
