package drift

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/diff"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/sensitive"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Refresh returns the refresh-only plan, which changes no host: it reports what changed outside of
// kubewright.
func Refresh(v *topology.Fleet, header planner.Plan, desired, observed *state.Snapshot, options planner.Options) topology.Result {
	header.RefreshOnly, header.Moved = true, v.Moved
	header = options.Restrict(header)
	drift := slices.DeleteFunc(Drift(v, desired, observed), func(c planner.Change) bool { return !options.Selects(c.Address.Step()) })
	for i := range drift {
		drift[i] = say(v, drift[i], desired, observed)
	}
	sensitive.Scrub(v, drift)
	header.Drift = drift
	open := AddressesOf(diff.Changes(desired, observed, WithImplied(v, desired)))
	for _, a := range interruptedSteps(v, desired, observed, open) {
		if options.Selects(a) {
			header.Interrupted = append(header.Interrupted, a.String())
		}
	}
	withheld := slices.Clone(header.Withheld)
	for _, u := range v.Unobserved {
		withheld = append(withheld, u)
	}
	slices.SortFunc(withheld, func(a, b state.Unobserved) int { return topology.CompareTargets(a.Target, b.Target) })
	header.Withheld = withheld
	header.Resources = standing(v)
	header.Certificates = pki.CertificateExpiry(v, &header)
	return topology.Result{Plan: &header, Fleet: v, Desired: desired, Observed: observed, Open: open}
}

// say returns drift with its origin in the configuration and, for a node whose taints can only be
// configured all at once, the taints that it now has.
func say(v *topology.Fleet, c planner.Change, desired, observed *state.Snapshot) planner.Change {
	want, have := desired.Find(c.Address), observed.Find(c.Address)
	if want == nil || have == nil {
		return c
	}
	c.Attributes = slices.Clone(c.Attributes)
	n, shared := v.Find(c.Address.Target), false
	for i := range c.Attributes {
		if from := want.OriginOf(c.Attributes[i].Path); from.File != "" {
			c.Attributes[i].Origin = from
			shared = shared || n != nil && c.Attributes[i].After.IsNull() && !says(n, from)
		}
	}
	if shared {
		c.Shown = map[string]state.Value{planner.SharedSetting: state.Bool(true)}
	}
	if n != nil && c.Kind == state.KindNodeObject && slices.ContainsFunc(c.Attributes, ofTaints) {
		left, whole := taintsLeft(n, want, have)
		if !v.Config.Secrets.IsZero() {
			left = sensitive.Scrubbed(v, left)
		}
		if whole && !left.HasSensitive() {
			c.Shown = map[string]state.Value{"taints": left}
		}
	}
	return c
}

// says reports whether a source location is in the node's own block.
func says(n *topology.Node, at state.Source) bool {
	for _, s := range n.Origins {
		if s == at {
			return true
		}
	}
	return false
}

func ofTaints(a planner.AttributeChange) bool { return state.SplitPath(a.Path)[0] == "taints" }

// taintsLeft returns those of a node's desired taints that it has, with their observed values.
// whole reports whether they can only be written all at once: the configuration has them as one
// list, or none is left, which a control plane has to set explicitly.
func taintsLeft(n *topology.Node, want, have *state.Item) (left state.Value, whole bool) {
	m := map[string]state.Value{}
	for key := range want.Attributes.Get("taints").AsMap() {
		if value, there := have.Attributes.Get("taints").AsMap()[key]; there {
			m[key] = value
		}
	}
	_, listed := n.Origins["taints"]
	return state.Map(m), listed || n.IsControlPlane() && len(m) == 0
}

// Refreshed returns what a refresh-only plan records in the state: drifted items as observed. Of a
// partial item it records only kubewright's part. A secret that turns up in another place is
// recorded as shown, that is, masked.
func Refreshed(v *topology.Fleet, r topology.Result) state.Learned {
	var l state.Learned
	learn := func(it state.Item) {
		if !v.Config.Secrets.IsZero() {
			it.Attributes = sensitive.Scrubbed(v, it.Attributes)
		}
		l.Items = append(l.Items, it)
	}
	for _, c := range r.Plan.Drift {
		was, it := v.RecordedItems.Find(c.Address), r.Observed.Find(c.Address)
		switch {
		case it == nil || was == nil || c.Action == planner.Delete:
			l.Gone = append(l.Gone, c.Address)
		case was.Partial:
			ours := *was
			for _, a := range c.Attributes {
				path := enclosingMap(was.Attributes, state.SplitPath(a.Path))
				ours.Attributes = topology.ReplaceAt(ours.Attributes, path, ofOurs(was, path, topology.ValueAt(it.Attributes, path)))
			}
			learn(ours)
		default:
			learn(*it)
		}
	}
	return l
}

// ofOurs returns the observed value at a path of a partial item, without elements that others have
// added to its lists: these are not recorded, and so never removed. A document inside it is
// kubewright's as a whole.
func ofOurs(was *state.Item, path []string, there state.Value) state.Value {
	to := ""
	for _, key := range path {
		if to = state.JoinPath(to, key); slices.Contains(was.Exact, to) {
			return there
		}
	}
	return diff.Ours(there, topology.ValueAt(was.Attributes, path))
}

// enclosingMap returns the part of a path that leads through maps: a list is taken as a whole.
func enclosingMap(v state.Value, path []string) []string {
	for i, key := range path {
		if v.Kind() != state.KindMap {
			return path[:i]
		}
		v = v.AsMap()[key]
	}
	return path
}
