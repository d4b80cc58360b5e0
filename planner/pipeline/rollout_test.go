package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// rolledOut returns an error if steps of a plan that restart a kubelet or a container runtime of a
// running node may run at the same time although they must not: two control planes, a control plane
// and a worker while the API answers, workers of two pools, or more workers of a pool than may be
// unavailable. Every plan that a test makes is checked, whatever restarts there.
func rolledOut(v *topology.Fleet, p *planner.Plan) error {
	before := needsOf(p)
	ordered := func(s, o *planner.Step) bool {
		shared := slices.ContainsFunc(s.Limits, func(l string) bool { return p.Limits[l] == 1 && slices.Contains(o.Limits, l) })
		return before[s.ID][o.ID] || before[o.ID][s.ID] || shared
	}
	for _, c := range v.Clusters {
		pools := drain.Pools(c)
		members := drain.Members(c, pools)
		poolOf := func(n *topology.Node) int {
			return slices.IndexFunc(pools, func(p *config.Pool) bool { return slices.Contains(members[p], n) })
		}
		steps := restartsIn(c, p)
		for i, s := range steps {
			n := c.Node(s.Target)
			for _, o := range steps[:i] {
				other := c.Node(o.Target)
				apart := n.IsControlPlane() || other.IsControlPlane() || poolOf(n) != poolOf(other)
				if n != other && apart && !ordered(s, o) && (c.Report != nil || n.IsControlPlane() == other.IsControlPlane()) {
					return fmt.Errorf("%s and %s restart at the same time", o.ID, s.ID)
				}
			}
		}
		for _, pool := range pools {
			down := drain.MaxUnavailable(pool.MaxUnavailable, len(members[pool]))
			own := slices.DeleteFunc(slices.Clone(steps), func(s *planner.Step) bool { return !slices.Contains(members[pool], c.Node(s.Target)) })
			if at := atOnce(own, down+1, func(s, o *planner.Step) bool { return s.Target == o.Target || ordered(s, o) }); at != nil {
				return fmt.Errorf("max_unavailable is %s, and these restart at the same time: %s", pool.MaxUnavailable, strings.Join(at, ", "))
			}
		}
	}
	return nil
}

// restartsIn returns the steps that restart a kubelet or container runtime of running nodes.
func restartsIn(c *topology.Cluster, p *planner.Plan) []*planner.Step {
	var out []*planner.Step
	for i := range p.Steps {
		s := &p.Steps[i]
		if n := c.Node(s.Target); n != nil && n.Report != nil && !n.Joins() && !c.Founding && s.Phase != topology.ResetPhase && s.Restarts() {
			out = append(out, s)
		}
	}
	return out
}

// needsOf returns for each step of a plan all steps that come before it.
func needsOf(p *planner.Plan) map[state.Address]map[state.Address]bool {
	before := map[state.Address]map[state.Address]bool{}
	for _, s := range p.Steps {
		before[s.ID] = map[state.Address]bool{}
		for _, need := range s.Needs {
			before[s.ID][need] = true
			for id := range before[need] {
				before[s.ID][id] = true
			}
		}
	}
	return before
}

// atOnce returns so many steps that no two of them are apart; nil if there are none.
func atOnce(steps []*planner.Step, many int, apart func(s, o *planner.Step) bool) []string {
	var find func(rest []*planner.Step, chosen []*planner.Step) []string
	find = func(rest, chosen []*planner.Step) []string {
		if len(chosen) == many {
			var out []string
			for _, s := range chosen {
				out = append(out, s.ID.String())
			}
			return out
		}
		for i, s := range rest {
			if slices.ContainsFunc(chosen, func(o *planner.Step) bool { return apart(s, o) }) {
				continue
			}
			if out := find(rest[i+1:], append(slices.Clone(chosen), s)); out != nil {
				return out
			}
		}
		return nil
	}
	return find(steps, nil)
}

// TestRestartsAreRolledOut checks that whatever restarts kubelets or container runtimes goes by one
// control plane after the other, then the first worker alone, then as many workers as may be down.
func TestRestartsAreRolledOut(t *testing.T) {
	t.Parallel()
	const far = 9 * 365 * 24 * time.Hour
	settings := func(c *config.Cluster) { c.Kubelet.Config = state.FromGo(map[string]any{"maxPods": 90}) }
	for name, tt := range map[string]struct {
		change func(o *operator)
		phase  string
	}{
		"a setting":                {func(o *operator) { settings(o.config.Clusters[0]) }, "kubelet-start"},
		"a flag":                   {func(o *operator) { arg(&o.config.Clusters[0].Kubelet.Args, "v", "4") }, "kubelet-start"},
		"drift of a setting":       {everywhere("yaml /var/lib/kubelet/config.yaml set maxPods=50"), "kubelet-start"},
		"a server in a kubeconfig": {func(o *operator) { o.config.Clusters[0].ControlPlaneEndpoint = "other.example.com:6443" }, "kubelet-wait-bootstrap"},
		"expired certificates":     {func(o *operator) { o.world.Advance(far) }, "kubelet-start"},
		"a rotation":               {func(o *operator) { o.rotate = []topology.Rotation{{Cluster: state.ClusterTarget("prod"), CA: "ca"}} }, "kubelet-start"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := running(t, 3, 5, "1.36.3")
			o.config.Clusters[0].Upgrade.Pace = config.Pace{MaxUnavailable: "2", Canary: 1}
			tt.change(o)
			p, err := o.plan()
			o.must(err)
			c := o.fleet.Clusters[0]
			steps := slices.DeleteFunc(restartsIn(c, p), func(s *planner.Step) bool { return s.Phase != tt.phase || c.Node(s.Target).IsControlPlane() })
			before := needsOf(p)
			stages := map[string][]*planner.Step{}
			for _, s := range steps {
				stages[s.ID.Waypoint] = append(stages[s.ID.Waypoint], s)
			}
			for _, steps := range stages {
				for i, s := range steps {
					if i > 0 && !before[s.ID][steps[0].ID] {
						t.Errorf("%s does not wait for the first worker:\n%s", s.ID, describe(p))
					}
				}
				if len(steps) != 5 || before[steps[2].ID][steps[1].ID] {
					t.Errorf("the others do not go two at a time:\n%s", describe(p))
				}
			}
			if len(stages) == 0 {
				t.Errorf("no worker restarts:\n%s", describe(p))
			}
			o.must(o.carryOut())
			o.wantNothing()
		})
	}
}

func everywhere(edit string) func(o *operator) {
	return func(o *operator) {
		for _, n := range o.config.Nodes {
			o.must(sim.Edit(o.world, n.Address, edit))
		}
	}
}

func arg(args *[]config.Arg, name, value string) {
	*args = append(*args, config.Arg{Name: name, Value: value})
}
