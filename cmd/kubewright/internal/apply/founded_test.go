package apply

import (
	"slices"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

func TestFoundsNewClustersOnly(t *testing.T) {
	t.Parallel()
	prod := state.ClusterTarget("prod")
	plan := func(a planner.Action, from string) *planner.Plan {
		return &planner.Plan{Resources: []planner.ResourceChange{{Target: prod, Action: a, ImportedFrom: from}, {Target: state.NodeTarget("a"), Action: planner.Create}}}
	}
	for name, tt := range map[string]struct {
		plan    *planner.Plan
		applies []state.Apply
		want    []state.Target
	}{
		"a new cluster":                       {plan(planner.Create, ""), nil, []state.Target{prod}},
		"a new cluster beside another":        {plan(planner.Create, ""), []state.Apply{{Steps: 3}}, []state.Target{prod}},
		"the rest of an interrupted founding": {plan(planner.Update, ""), []state.Apply{{Steps: 3, Unfinished: true}}, []state.Target{prod}},
		"a change":                            {plan(planner.Update, ""), []state.Apply{{Steps: 3}}, nil},
		"the rest of an interrupted change":   {plan(planner.Update, ""), []state.Apply{{Steps: 3}, {Steps: 1, Unfinished: true}}, nil},
		"the first change of an imported one": {plan(planner.Update, ""), nil, nil},
		"an import":                           {plan(planner.Create, "ssh://10.0.0.11"), nil, nil},
		"a destroy":                           {plan(planner.Delete, ""), nil, nil},
	} {
		if got := founds(tt.plan, &state.State{Applies: tt.applies}); !slices.Equal(got, tt.want) {
			t.Errorf("%s founds %v, want %v", name, got, tt.want)
		}
	}
}

func TestBringsNetworkOfAddons(t *testing.T) {
	t.Parallel()
	cluster := func(text map[string]any) *config.Cluster {
		return &config.Cluster{Addons: []*config.Addon{{Name: "a", Objects: []config.AddonObject{{Value: state.FromGo(text)}}}}}
	}
	if !bringsNetwork(cluster(map[string]any{"kind": "DaemonSet", "spec": map[string]any{"hostPath": map[string]any{"path": "/etc/cni/net.d"}}})) {
		t.Error("a network plugin is not recognised")
	}
	if bringsNetwork(cluster(map[string]any{"kind": "ConfigMap"})) || bringsNetwork(&config.Cluster{}) {
		t.Error("something else is taken for a network plugin")
	}
}
