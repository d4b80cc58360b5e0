package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/state"
)

// TestPartialPlanSentencesAreTrue checks that a plan's sentences about etcd and versions, and its number of
// removed nodes, are true for the steps that it has, whatever was left out.
func TestPartialPlanSentencesAreTrue(t *testing.T) {
	t.Parallel()
	const snapshot = "a snapshot is fetched"
	selected := func(name string) []planner.Selector {
		s, err := planner.ParseSelector(name, pipeline.Names())
		if err != nil {
			t.Fatal(err)
		}
		return []planner.Selector{s}
	}
	upgrade := func(o *operator) {
		o.config.Clusters[0].KubernetesVersion = "1.36.3"
		o.kubelets("1.36.3")
	}
	replace := func(o *operator) { o.replace = []state.Target{state.NodeKeyTarget("cp", "cp1")} }
	leaves := func(keys ...string) func(o *operator) { return func(o *operator) { o.leave(keys...) } }
	for name, tt := range map[string]struct {
		from     string
		change   func(o *operator)
		options  planner.Options
		want     []string
		wantNot  []string
		destroys int
	}{
		"a member leaves":                 {"", leaves("cp3"), planner.Options{}, []string{snapshot, "cp3 leaves: 2"}, nil, 1},
		"a member leaves, no snapshot":    {"", leaves("cp3"), planner.Options{SkipPhases: []string{"etcd-snapshot"}}, []string{"cp3 leaves: 2"}, []string{snapshot}, 1},
		"no member leaves":                {"", leaves("cp3"), planner.Options{SkipPhases: []string{"reset"}}, []string{"3 members throughout"}, []string{"cp3 leaves"}, 0},
		"a worker stays":                  {"", leaves("w2"), planner.Options{SkipPhases: []string{"reset"}}, nil, nil, 0},
		"a worker goes":                   {"", leaves("w2"), planner.Options{SkipPhases: []string{"drain"}}, nil, nil, 1},
		"replaced":                        {"", replace, planner.Options{}, []string{"cp1 leaves: 2", "cp1 joins: 3", snapshot}, nil, 1},
		"replaced, but left out":          {"", replace, planner.Options{Excludes: selected(`node.cp["cp1"]`)}, []string{"3 members throughout"}, []string{"cp1 leaves", "joins"}, 0},
		"upgrade":                         {"1.34.9", upgrade, planner.Options{}, []string{"1.34.9 → 1.35.8 → 1.36.3; control planes one at a time", snapshot}, []string{"this plan"}, 0},
		"upgrade, no snapshot":            {"1.34.9", upgrade, planner.Options{SkipPhases: []string{"etcd-snapshot"}}, []string{"1.34.9 → 1.35.8"}, []string{snapshot}, 0},
		"upgrade without a plane":         {"1.34.9", upgrade, planner.Options{Excludes: selected(`node.cp["cp3"]`)}, []string{"this plan does 4 of the 17 steps that change a version"}, []string{"one at a time"}, 0},
		"upgrade without the first plane": {"1.34.9", upgrade, planner.Options{Excludes: selected(`node.cp["cp1"]`)}, []string{"this plan does not change a version yet"}, []string{"one at a time"}, 0},
		"upgrade of control planes only":  {"1.34.9", upgrade, planner.Options{Excludes: append(selected("kubelet-start"), selected("drain")...)}, []string{"this plan does 12 of the 17 steps that change a version"}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 2)
			if tt.from != "" {
				o = running(t, 3, 2, tt.from)
			}
			tt.change(o)
			r, diags := o.planOf(o.observe(), tt.options)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			text := strings.Join(slices.Concat(r.Plan.Quorum, r.Plan.Upgrades), "\n")
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s\nwant %q", text, want)
				}
			}
			for _, not := range tt.wantNot {
				if strings.Contains(text, not) {
					t.Errorf("%s\nit is not true that %q", text, not)
				}
			}
			if _, _, destroys := r.Plan.Counts(); destroys != tt.destroys {
				t.Errorf("%d are destroyed, want %d", destroys, tt.destroys)
			}
		})
	}
}
