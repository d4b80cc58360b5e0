package pipeline_test

import (
	"slices"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestTargetedPlanSkipsUnreachableCluster checks that a cluster with a host that does not answer does not prevent a plan for
// another cluster that -target selects alone, and that nothing of it is forgotten.
func TestTargetedPlanSkipsUnreachableCluster(t *testing.T) {
	t.Parallel()
	sick := func(t *testing.T) *operator {
		t.Helper()
		o := founded(t, 1, 1)
		second := config.NewCluster("test", "1.36.3")
		second.ControlPlaneEndpoint, second.Network.PodSubnet, second.Network.ServiceSubnet = "test.example.com:6443", "10.245.0.0/16", "10.97.0.0/16"
		second.Addons = []*config.Addon{{Name: "tools", Objects: documents(object("v1", "ConfigMap", "default", "tools"))}}
		n := config.NewNode(state.NodeKeyTarget("tcp", "t1"), "test", config.ControlPlane, "10.0.1.11")
		o.config.Clusters, o.config.Nodes = append(o.config.Clusters, second), append(o.config.Nodes, n)
		o.edit("10.0.1.11", "power off")
		o.recorded.Items = append(slices.Clone(o.recorded.Items), state.Item{
			Address: state.Address{Target: state.AddonTarget("test", "cni"), Phase: "addon", Item: "object:v1/Namespace/cni"},
			Kind:    state.KindObject, Attributes: state.Map(map[string]state.Value{"metadata": state.Map(nil)}),
		})
		o.config.Nodes[1].Labels = map[string]string{"example.com/pool": "a"}
		places(o.config)
		return o
	}
	aside := finding{diag.Warning, "Cluster skipped: not fully observed", "", "cluster.test", []string{`Cluster "test" was not fully observed`, "nothing is planned for it"}}
	silent := "Control plane could not be observed"
	for name, c := range map[string]struct {
		targets []planner.Selector
		refused bool
	}{
		"no target":         {nil, true},
		"its phase":         {[]planner.Selector{{Phase: "addon"}}, true},
		"its node":          {[]planner.Selector{{Target: state.NodeKeyTarget("tcp", "t1")}}, true},
		"its addon":         {[]planner.Selector{{Target: state.AddonTarget("test", "tools")}}, true},
		"its former addon":  {[]planner.Selector{{Target: state.AddonTarget("test", "cni")}}, true},
		"another's node":    {[]planner.Selector{{Target: state.NodeKeyTarget("worker", "w1")}}, false},
		"the other cluster": {[]planner.Selector{{Target: state.ClusterTarget("prod")}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := sick(t)
			whole := len(o.recorded.Nodes)
			r, diags := o.planOf(o.observe(), planner.Options{Targets: c.targets})
			if c.refused {
				if d := (finding{diag.Error, silent, "main.hcl:2", "", nil}).in(diags); d == nil {
					t.Errorf("the plan is not refused:\n%s", printedFindings(diags))
				}
				return
			}
			wantFindings(t, diags, aside)
			if r.Plan == nil || name == "another's node" && stepOf(r.Plan, "w1/mark-node") == nil && r.Plan.Empty() {
				t.Errorf("nothing is planned for the healthy cluster")
			}
			if gone := r.Plan.Forgotten; len(gone) > 0 {
				t.Errorf("the plan forgets %v", gone)
			}
			if len(o.recorded.Nodes) != whole {
				t.Errorf("the state has %d nodes, want %d", len(o.recorded.Nodes), whole)
			}
		})
	}
}
