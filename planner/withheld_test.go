package planner_test

import (
	"fmt"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestAssembleWithholds checks that a withheld step takes with it the steps that need it and those that
// close or serve it alone, that a step that is set apart stays, and that the changes of what is withheld
// are kept.
func TestAssembleWithholds(t *testing.T) {
	t.Parallel()
	id := func(phase string) state.Address { return state.Address{Target: state.NodeTarget("a"), Phase: phase} }
	d := planner.Draft{
		Edges:  map[state.Address][]state.Address{id("restart"): {id("snapshot")}, id("after"): {id("restart")}, id("mark"): {id("restart")}, id("uncordon"): {id("restart")}},
		Closes: map[state.Address][]state.Address{id("uncordon"): {id("restart")}}, Serves: map[state.Address]bool{id("snapshot"): true},
		Withhold: map[state.Address]string{id("restart"): "cp3 is missing"}, Apart: map[state.Address]bool{id("mark"): true},
		Withheld: []state.Unobserved{{Target: state.NodeTarget("b"), Reason: "timeout"}},
	}
	for _, phase := range []string{"snapshot", "restart", "after", "mark", "uncordon", "other"} {
		d.Steps = append(d.Steps, planner.Step{ID: id(phase), Phase: phase, Target: state.NodeTarget("a"), Action: planner.Update, Operations: planner.Operations{planner.RemovePods{}}})
	}
	file := id("restart")
	file.Item = "file:/etc/a"
	changes := []planner.Change{{Address: file, Action: planner.Update, Kind: state.KindFile}}
	d.Resources = []planner.ResourceChange{{Target: state.NodeTarget("a"), Action: planner.Update}}
	p, err := planner.Assemble(planner.Plan{Withheld: []state.Unobserved{{Target: state.ClusterTarget("c")}}}, changes, nil, d, planner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var kept, withheld []string
	for _, s := range p.Steps {
		kept = append(kept, s.Phase)
	}
	for _, w := range p.WithheldSteps {
		withheld = append(withheld, fmt.Sprintf("%s: %s (%d changes, %d operations)", w.Step.Phase, w.Reason, len(w.Changes), len(w.Operations)))
	}
	if got := fmt.Sprint(kept, len(p.Changes), len(p.Withheld)); got != "[mark other] 0 2" {
		t.Errorf("the plan has %s", got)
	}
	if got := fmt.Sprint(withheld); got != "[restart: cp3 is missing (1 changes, 0 operations) after: waits for node.a/restart, which is withheld (0 changes, 1 operations)]" {
		t.Errorf("withheld are %s", got)
	}
	if !p.Withholds() || (&planner.Plan{}).Withholds() {
		t.Error("a plan says wrongly whether it withholds something")
	}
	if same := p.Unkeyed(); len(same.WithheldSteps) != len(p.WithheldSteps) || len(same.WithheldSteps[0].Changes) != 1 {
		t.Errorf("without a key the plan withholds %v", same.WithheldSteps)
	}
}
