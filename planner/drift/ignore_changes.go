package drift

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// DropIgnored drops changes that a lifecycle ignores and that no rendered file contains: labels,
// annotations and taints of nodes, and whole addons. An addon whose block was removed is still
// pruned: that is no change of a value.
func DropIgnored(v *topology.Fleet, changes []planner.Change) []planner.Change {
	var out []planner.Change
	for _, c := range changes {
		t := c.Address.Target
		if cl := v.Config.Cluster(t.Name); t.Type == state.TypeAddon && cl != nil && v.Owns(t) && hasAddon(cl, t.Key) && cl.Lifecycle.Ignores("addon", t.Key) {
			continue
		}
		n := v.Find(t)
		if c.Kind == state.KindNodeObject && c.Action == planner.Update && n != nil && v.RecordedNode(t) {
			c.Attributes = slices.DeleteFunc(slices.Clone(c.Attributes), func(a planner.AttributeChange) bool {
				return n.Lifecycle.Ignores(state.SplitPath(a.Path)...)
			})
			if len(c.Attributes) == 0 {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

func hasAddon(c *config.Cluster, name string) bool {
	return slices.ContainsFunc(c.Addons, func(a *config.Addon) bool { return a.Name == name })
}

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

// ignoredDrift drops the drift that the configuration accepts: with ignore_changes, the desired
// value is the observed one.
func ignoredDrift(v *topology.Fleet, drift []planner.Change, desired, observed *state.Snapshot) []planner.Change {
	var out []planner.Change
	for _, c := range DropIgnored(v, drift) {
		want, have := desired.Find(c.Address), observed.Find(c.Address)
		if want != nil && have != nil && ignoresAny(v, c.Address.Target) {
			c.Attributes = slices.DeleteFunc(slices.Clone(c.Attributes), func(a planner.AttributeChange) bool {
				return want.Attributes.Get(a.Path).Equal(have.Attributes.Get(a.Path))
			})
			if len(c.Attributes) == 0 {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// ignoresAny reports whether a target or its cluster has ignore_changes.
func ignoresAny(v *topology.Fleet, t state.Target) bool {
	c := v.ClusterOf(t)
	if c == nil {
		return false
	}
	n := c.Node(t)
	return len(c.Lifecycle.IgnoreChanges) > 0 || n != nil && len(n.Lifecycle.IgnoreChanges) > 0
}

// AddressesOf returns the addresses of the items that change.
func AddressesOf(changes []planner.Change) map[state.Address]bool {
	out := map[state.Address]bool{}
	for _, c := range changes {
		out[c.Address] = true
	}
	return out
}
