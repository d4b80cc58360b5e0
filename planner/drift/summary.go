package drift

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// standing returns the clusters, addons and nodes in the state, for a plan that changes none of
// them except for their names in the state.
func standing(v *topology.Fleet) []planner.ResourceChange {
	var out []planner.ResourceChange
	seen, before := map[state.Target]bool{}, ownership.MovedFrom(v)
	add := func(t state.Target, note string) {
		if !seen[t] {
			seen[t] = true
			traits := TraitsBefore(v, t)
			out = append(out, planner.ResourceChange{Target: t, Action: planner.NoOp, Note: note, MovedFrom: before[t], Before: traits, After: traits})
		}
	}
	if v.Recorded == nil {
		return nil
	}
	for label, c := range v.Recorded.Clusters {
		add(state.ClusterTarget(label), "Kubernetes "+strings.TrimPrefix(c.Version, "v"))
	}
	for t, n := range v.Recorded.Nodes {
		add(t, n.Address+", "+n.Role)
	}
	for _, it := range v.Recorded.Items {
		add(it.Address.Target, "")
	}
	slices.SortFunc(out, func(a, b planner.ResourceChange) int { return topology.CompareTargets(a.Target, b.Target) })
	return out
}

func TraitsBefore(v *topology.Fleet, t state.Target) map[string]string {
	if v.Recorded == nil {
		return nil
	}
	if c := v.Recorded.Clusters[t.Name]; c != nil && t.Type == state.TypeCluster {
		return Traits{"kubernetes_version": strings.TrimPrefix(c.Version, "v")}.Known() // the cluster says v1.36.3, blocks 1.36.3
	}
	if n := v.Recorded.Nodes[t]; n != nil {
		return Traits{"cluster": n.Cluster, "role": n.Role, "name": n.Name, "address": n.Address}.Known()
	}
	return nil
}

// Traits are the settings that identify clusters and nodes, by the names of the block's arguments.
type Traits map[string]string

// Known drops unknown settings, such as the name of a host that was not observed.
func (t Traits) Known() map[string]string {
	maps.DeleteFunc(t, func(_, value string) bool { return value == "" })
	return t
}
