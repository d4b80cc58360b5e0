package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/state"
)

// TestPartialClusterRemovalIsRefused checks that nodes of a cluster that is removed as a whole cannot be removed alone,
// neither in a destroy nor when all blocks are gone, since they are neither drained nor removed from
// etcd. A node that leaves a remaining cluster may go before others.
func TestPartialClusterRemovalIsRefused(t *testing.T) {
	t.Parallel()
	cp1 := []planner.Selector{{Target: state.NodeKeyTarget("cp", "cp1")}}
	all := []planner.Selector{{Target: state.ClusterTarget("prod"), Members: []state.Target{
		state.NodeKeyTarget("cp", "cp1"), state.NodeKeyTarget("cp", "cp2"), state.NodeKeyTarget("cp", "cp3"), state.NodeKeyTarget("worker", "w1"),
	}}}
	destroy := func(o *operator) { o.destroy = true }
	blocksGone := func(o *operator) { o.config = nothing() }
	for name, tt := range map[string]struct {
		change  func(o *operator)
		options planner.Options
		want    []string
	}{
		"destroyed, one chosen":   {destroy, planner.Options{Targets: cp1}, []string{"remove them from the configuration"}},
		"destroyed, all chosen":   {destroy, planner.Options{Targets: all}, nil},
		"blocks gone, one chosen": {blocksGone, planner.Options{Targets: cp1}, []string{"restore its blocks", "⟨destroy +only=cluster.prod⟩"}},
		"blocks gone, one left":   {blocksGone, planner.Options{Excludes: cp1}, []string{`and node.cp["cp1"] would remain`, "restore its blocks"}},
		"blocks gone, all chosen": {blocksGone, planner.Options{Targets: all}, nil},
		"blocks gone":             {blocksGone, planner.Options{}, nil},
		"one leaves": {func(o *operator) {
			o.config.Nodes = slices.Delete(slices.Clone(o.config.Nodes), 0, 1)
		}, planner.Options{Targets: cp1}, nil},
		"nothing leaves": {func(*operator) {}, planner.Options{Targets: cp1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 1)
			v := o.observe()
			tt.change(o)
			v.Config, v.Destroy, v.Key = o.config, o.destroy, state.NewKey(o.recorded.FingerprintKey)
			_, diags := pipeline.Plan(v, planner.Plan{}, tt.options)
			show(t, diags...)
			i := slices.IndexFunc(diags, func(d *diag.Diagnostic) bool { return d.Severity == diag.Error })
			switch {
			case len(tt.want) == 0 && i >= 0:
				t.Errorf("%s: %s", diags[i].Summary, diags[i].Detail)
			case len(tt.want) > 0 && i < 0:
				t.Error("the plan is not refused")
			case i >= 0 && diags[i].Summary != "Part of a cluster cannot be destroyed":
				t.Errorf("refused for another reason: %s: %s", diags[i].Summary, diags[i].Detail)
			}
			for _, want := range tt.want {
				if i >= 0 && !strings.Contains(diags[i].Detail, want) {
					t.Errorf("%s\nwant %s", diags[i].Detail, want)
				}
			}
		})
	}
}

// nothing returns a configuration without the cluster, and with a removed block that asks for its
// destruction.
func nothing() *config.Config {
	return &config.Config{Removals: []config.Removal{{From: state.ClusterTarget("prod"), Destroy: true}}}
}

// TestMissingBlocksDoNotDestroyCluster checks that missing blocks alone do not destroy a cluster.
func TestMissingBlocksDoNotDestroyCluster(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	o.config = &config.Config{}
	if _, err := o.planShown(); err == nil || !strings.Contains(err.Error(), "Cluster would be destroyed") {
		t.Errorf("the plan is not refused: %v", err)
	}
	o.config = nothing()
	p, err := o.plan()
	o.must(err)
	if p.Step(state.Address{Target: state.NodeKeyTarget("cp", "cp1"), Phase: "reset"}) == nil {
		t.Error("the cluster is not destroyed")
	}
}
