package outline_test

import (
	"slices"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestWithheldGroups checks that the same work on several nodes is named once, and the many steps of one
// node as one.
func TestWithheldGroups(t *testing.T) {
	t.Parallel()
	step := func(key, phase, why string, changes ...planner.Change) planner.WithheldStep {
		return planner.WithheldStep{Step: state.Address{Target: state.NodeKeyTarget("cp", key), Phase: phase}, Action: planner.Update, Reason: why, Changes: changes}
	}
	change := func(key string) planner.Change {
		return planner.Change{
			Address: state.Address{Target: state.NodeKeyTarget("cp", key), Phase: "control-plane", Item: "file:/etc/a.yaml"}, Action: planner.Update,
			Attributes: []planner.AttributeChange{{Path: "args.v"}, {Path: "args.w"}},
		}
	}
	plan := &planner.Plan{WithheldSteps: []planner.WithheldStep{
		step("cp1", "control-plane", "cp3 is missing", change("cp1")),
		step("cp2", "control-plane", "cp3 is missing", change("cp2")),
		step("late", "certs", "joins"), step("late", "etcd", "joins"), step("late", "kubelet-start", "joins"), step("late", "control-plane", "joins"),
	}}
	got := outline.WithheldGroups(plan)
	if len(got) != 2 ||
		got[0].Address != `node.cp["cp1"]/control-plane, node.cp["cp2"]/control-plane` || !slices.Equal(got[0].What, []string{"would update file /etc/a.yaml: args.v, args.w"}) ||
		got[1].Address != `node.cp["late"]` || !slices.Equal(got[1].What, []string{"would do certs, etcd, kubelet-start, control-plane"}) {
		t.Errorf("got %q", got)
	}
	if text := outline.WithheldHeadline(plan); text != "6 steps wait until what could not be observed is back" {
		t.Errorf("got %q", text)
	}
	if outline.WithheldHeadline(&planner.Plan{}) != "" || len(outline.Withheld(&planner.Plan{})) != 0 {
		t.Error("an empty plan withholds something")
	}
}
