package topology

import (
	"maps"
	"slices"

	"github.com/kubewright/kubewright/state"
)

func CompareTargets(a, b state.Target) int {
	return state.Address{Target: a}.Compare(state.Address{Target: b})
}

// Forgotten returns the recorded targets that removed blocks drop without touching them.
func (v *Fleet) Forgotten() []state.Target {
	if v.Recorded == nil {
		return nil
	}
	var out []state.Target
	for t := range v.Recorded.Nodes {
		if v.Forgets(t) {
			out = append(out, t)
		}
	}
	for _, label := range slices.Sorted(maps.Keys(v.Recorded.Clusters)) {
		if t := state.ClusterTarget(label); v.Forgets(t) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, CompareTargets)
	return out
}

// Forgets reports whether a removed block drops the target from the state. A cluster includes its
// nodes and addons.
func (v *Fleet) Forgets(t state.Target) bool {
	for _, r := range v.Config.Removals {
		switch {
		case r.Destroy:
		case r.Covers(t):
			return v.Find(t) == nil
		case r.From.Type != state.TypeCluster:
		case t.Type == state.TypeNode && v.RecordedNode(t) && v.Recorded.Nodes[t].Cluster == r.From.Name:
			return v.Find(t) == nil
		case t.Type == state.TypeAddon && t.Name == r.From.Name:
			return true
		}
	}
	return false
}
