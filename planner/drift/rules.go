package drift

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/diff"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Rule decides about one difference, whatever the others are: it reports whether the difference
// stays, and may set its fields.
type Rule func(*planner.Change) bool

// Apply returns the differences that stay, in a new slice. The rules apply in their order to each
// difference; one that is dropped reaches no further rule.
func Apply(changes []planner.Change, rules ...Rule) []planner.Change {
	var out []planner.Change
	for _, c := range changes {
		if !slices.ContainsFunc(rules, func(stays Rule) bool { return !stays(&c) }) {
			out = append(out, c)
		}
	}
	return out
}

// Drift returns what changed outside of kubewright. Changes by a step that an apply has begun
// without confirming it are not drift: the changes of the plan cover them, and a refresh-only plan
// lists the step as interrupted.
func Drift(v *topology.Fleet, desired, observed *state.Snapshot) []planner.Change {
	own := unconfirmed(v)
	return Apply(changed(v, desired, observed), func(c *planner.Change) bool { return !own(c.Address) })
}

// changed returns what has changed since the observation that ended the last apply.
func changed(v *topology.Fleet, desired, observed *state.Snapshot) []planner.Change {
	return Apply(diff.Drift(observed, WithImplied(v, desired)), Ignored(v), kept(v, desired, observed), signedAgain(v), Departing(v), retained(desired))
}

// Ignored drops changes that a lifecycle ignores and that no rendered file contains: labels,
// annotations and taints of nodes, sysctls and units of hosts, and whole addons. An addon whose block was removed is still
// pruned: that is no change of a value.
func Ignored(v *topology.Fleet) Rule {
	return func(c *planner.Change) bool {
		t := c.Address.Target
		if cl := v.Config.Cluster(t.Name); t.Type == state.TypeAddon && cl != nil && v.Owns(t) && cl.Lifecycle.Ignores("addon", t.Key) {
			return !slices.ContainsFunc(cl.Addons, func(a *config.Addon) bool { return a.Name == t.Key })
		}
		n := v.Find(t)
		if n != nil && ignoresHost(n, c) {
			return false
		}
		return c.Kind != state.KindNodeObject || c.Action != planner.Update || n == nil || !v.RecordedNode(t) ||
			without(c, func(a planner.AttributeChange) bool { return n.Lifecycle.Ignores(state.SplitPath(a.Path)...) })
	}
}

// ignoresHost reports whether a change is of a kernel parameter or of a unit with its files that a lifecycle
// ignores. Without its block it is still put back.
func ignoresHost(n *topology.Node, c *planner.Change) bool {
	id := c.Address.ID()
	switch {
	case c.Action == planner.Delete:
		return false
	case c.Kind == state.KindSysctl:
		return host.IgnoresSetting(n, "sysctls", id)
	case c.Kind == state.KindUnit && c.Address.Phase == topology.PreparePhase:
		return host.IgnoresSetting(n, "unit", id)
	case c.Kind == state.KindFile && host.UnitOfPath(id) != "" && (c.Address.Phase == topology.PreparePhase || c.Address.Phase == topology.HostFilesPhase):
		return host.IgnoresSetting(n, "unit", host.UnitOfPath(id))
	}
	return false
}

// without drops attributes of a difference, and reports whether others are left.
func without(c *planner.Change, dropped func(planner.AttributeChange) bool) bool {
	c.Attributes = slices.DeleteFunc(slices.Clone(c.Attributes), dropped)
	return len(c.Attributes) > 0
}

// kept drops the drift that the configuration accepts: with ignore_changes, the desired value is the
// observed one.
func kept(v *topology.Fleet, desired, observed *state.Snapshot) Rule {
	return func(c *planner.Change) bool {
		want, have := desired.Find(c.Address), observed.Find(c.Address)
		return want == nil || have == nil || !ignoresAny(v, c.Address.Target) ||
			without(c, func(a planner.AttributeChange) bool {
				return want.Attributes.Get(a.Path).Equal(have.Attributes.Get(a.Path))
			})
	}
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

// signedAgain drops the drift that an interrupted rotation of a CA explains.
func signedAgain(v *topology.Fleet) Rule {
	return func(ch *planner.Change) bool {
		c := v.ClusterOf(ch.Address.Target)
		return c == nil || len(c.Rotating) == 0 || len(ch.Attributes) == 0 ||
			slices.ContainsFunc(ch.Attributes, func(a planner.AttributeChange) bool { return a.Path != "signed_by" && a.Path != "ca" })
	}
}

// Departing drops single items of nodes that leave, now or in a later plan, and of what is
// forgotten: they were not observed completely, and a reset removes everything at once.
func Departing(v *topology.Fleet) Rule {
	leaves := map[state.Target]bool{}
	for _, l := range v.Departures() {
		leaves[l.Target] = !l.Replaced
	}
	return func(c *planner.Change) bool {
		return !v.Destroy && !leaves[c.Address.Target] && !v.Forgets(c.Address.Target)
	}
}

// retained drops the drift of items that stay on a host when they are no longer desired, and are
// only forgotten: they were not observed.
func retained(desired *state.Snapshot) Rule {
	return func(c *planner.Change) bool { return !observe.IsRetained(c.Address) || desired.Find(c.Address) != nil }
}

// Incomplete sets the reason of changes that an unconfirmed step has left.
func Incomplete(v *topology.Fleet) Rule {
	own := unconfirmed(v)
	return func(c *planner.Change) bool {
		if c.Reason == planner.ReasonDrift && own(c.Address) {
			c.Reason = planner.ReasonIncomplete
		}
		return true
	}
}

// AddressesOf returns the addresses of the items that change.
func AddressesOf(changes []planner.Change) map[state.Address]bool {
	out := map[state.Address]bool{}
	for _, c := range changes {
		out[c.Address] = true
	}
	return out
}
