package drift

import (
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// AsRemembered returns an item as the state records it when a lifecycle leaves parts of it to
// others: an observed value if it is the desired one, otherwise the recorded value. The configured
// value was never set then, so its absence is no drift.
func AsRemembered(v *topology.Fleet, it state.Item, was, have *state.Item) state.Item {
	n := v.Find(it.Address.Target)
	if it.Kind != state.KindNodeObject || n == nil {
		return it
	}
	before := state.Null()
	if was != nil {
		before = was.Attributes
	}
	for _, path := range it.Attributes.Leaves() {
		keys := state.SplitPath(path)
		if n.Lifecycle.Ignores(keys...) && !it.Attributes.Get(path).Equal(have.Attributes.Get(path)) {
			it.Attributes = topology.ReplaceAt(it.Attributes, keys, topology.ValueAt(before, keys))
		}
	}
	return it
}
