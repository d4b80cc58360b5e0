package config

import (
	"maps"

	"github.com/kubewright/kubewright/state"
)

// MergeTrees lays a tree over another: maps are merged key by key, all other values replaced. A
// null counts as absent.
func MergeTrees(base, over state.Value) state.Value {
	if over.IsNull() {
		return base
	}
	if base.Kind() != state.KindMap || over.Kind() != state.KindMap {
		return over
	}
	merged := maps.Clone(base.AsMap())
	for k, v := range over.AsMap() {
		merged[k] = MergeTrees(merged[k], v)
	}
	return state.Map(merged)
}
