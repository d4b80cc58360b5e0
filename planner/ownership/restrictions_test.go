package ownership_test

import (
	"slices"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// TestRestrictions checks that the restrictions of a plan are options of a command.
func TestRestrictions(t *testing.T) {
	t.Parallel()
	got := ownership.Restrictions(planner.Options{
		Targets:    []planner.Selector{{Target: tt.W(1)}, {Target: state.ClusterTarget(tt.Label)}},
		Excludes:   []planner.Selector{{Phase: topology.AddonPhase}, {Target: state.NodeTarget("solo"), Phase: topology.ImagesPhase}},
		SkipPhases: []string{topology.DrainPhase},
	})
	const want = `⟨+only=node.worker["w1"] +only=cluster.prod +except=addon +except=node.solo/images +skip-phase=drain⟩`
	if got.String() != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestUnreplacedWarnsOfRestrictions checks that a plan warns of a node that it should replace and that a
// restriction leaves out.
func TestUnreplacedWarnsOfRestrictions(t *testing.T) {
	t.Parallel()
	options := planner.Options{Targets: []planner.Selector{{Target: tt.W(2)}}}
	v := tt.Running(1, 2, replaces(tt.W(1)), func(v *topology.Fleet) {
		v.Replacements = map[state.Target]*topology.Replacement{tt.W(1): {Reason: planner.ReasonRequested, Report: v.Reports[tt.W(1)]}}
	})
	step := planner.Step{Target: tt.W(1)}
	for _, c := range []struct {
		name string
		plan planner.Plan
		want [][]string
	}{
		{"the plan has other targets", planner.Plan{Targets: []string{"x"}}, [][]string{{"warning: Node is not replaced", `⟨+replace=node.worker["w1"]⟩: the node is excluded from the plan by ⟨+only=node.worker["w2"]⟩.`}}},
		{"the plan has a step of the node", planner.Plan{Targets: []string{"x"}, Steps: []planner.Step{step}}, nil},
		{"the plan is not restricted", planner.Plan{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, ownership.Unreplaced(v, &c.plan, options), c.want...)
		})
	}
}

// TestForgottenTargets checks which recorded targets removed blocks forget.
func TestForgottenTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		removal config.Removal
		kept    bool
		want    []state.Target
	}{
		{"a node", config.Removal{From: tt.W(1)}, false, []state.Target{tt.W(1)}},
		{"all nodes of a block", config.Removal{From: state.NodeTarget("worker")}, false, []state.Target{tt.W(1), tt.W(2)}},
		{"a node that is reset", config.Removal{From: tt.W(1), Destroy: true}, false, nil},
		{"a node that has its block", config.Removal{From: tt.CP(1)}, true, nil},
		{"a cluster with its nodes", config.Removal{From: state.ClusterTarget(tt.Label)}, false, []state.Target{state.ClusterTarget(tt.Label), tt.CP(1), tt.W(1), tt.W(2)}},
	} {
		v := tt.Running(1, 2)
		cfg := &config.Config{Removals: []config.Removal{c.removal}}
		if c.kept {
			cfg.Clusters, cfg.Nodes = v.Config.Clusters, v.Config.Nodes
		}
		if got := ownership.Forgotten(cfg, v.Recorded); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
