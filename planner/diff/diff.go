package diff

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Changes compares desired with observed items. Recorded shows which items kubewright set before
// and no longer wants, and which side changed. Items of targets that could not be observed are
// skipped: unknown is not absent.
func Changes(desired, observed, recorded *state.Snapshot) []planner.Change {
	var changes []planner.Change
	for i := range desired.Items {
		want := &desired.Items[i]
		if observed.Dark(want.Address) {
			continue
		}
		have, was := observed.Find(want.Address), recorded.Find(want.Address)
		if c, ok := changed(want, have, was); ok {
			changes = append(changes, c)
		}
	}
	for i := range recorded.Items {
		was := &recorded.Items[i]
		if was.CreateOnly || desired.Find(was.Address) != nil {
			continue
		}
		if observed.Dark(was.Address) {
			continue
		}
		changes = append(changes, gone(was, observed.Find(was.Address)))
	}
	state.SortByAddress(changes, func(c *planner.Change) state.Address { return c.Address })
	return changes
}

// Drift compares recorded with observed items and returns what changed outside of kubewright.
func Drift(observed, recorded *state.Snapshot) []planner.Change {
	var drift []planner.Change
	for i := range recorded.Items {
		was := &recorded.Items[i]
		if observed.Dark(was.Address) {
			continue
		}
		have := observed.Find(was.Address)
		c := planner.Change{Address: was.Address, Kind: was.Kind, Reason: planner.ReasonDrift}
		if have == nil {
			c.Action = planner.Delete
			if !was.Expires && !was.CreateOnly {
				drift = append(drift, c)
			}
			continue
		}
		c.Action = planner.Update
		differences := compareItem(was, have.Attributes)
		if was.CreateOnly {
			differences = onceThere(was.Kind, differences)
		}
		// Before is the recorded value, After the observed one. The access to a key and the serial
		// of the trusted CA may be missing: an older version did not record them, and the latter is
		// not observed during a rotation of the CA.
		for _, a := range differences {
			if a.Path == planner.RenewalDue || lasts(was.Kind, a.Path) && a.After.IsNull() || a.Path == planner.CASerial && a.Before.IsNull() {
				continue
			}
			c.Attributes = append(c.Attributes, planner.AttributeChange{Path: a.Path, Before: a.After, After: a.Before})
		}
		if len(c.Attributes) > 0 {
			drift = append(drift, c)
		}
	}
	return drift
}

func changed(want, have, was *state.Item) (planner.Change, bool) {
	c := planner.Change{Address: want.Address, Kind: want.Kind}
	if have == nil && want.Expires && was != nil && was.Attributes.Equal(want.Attributes) {
		return c, false
	}
	if have == nil {
		c.Action, c.Reason = planner.Create, planner.ReasonNew
		if was != nil {
			c.Reason = planner.ReasonDrift
		}
		if was != nil && want.Expires {
			c.Reason = planner.ReasonConfigured
		}
		c.Attributes = created(want)
		return c, true
	}
	c.Action = planner.Update
	c.Attributes = compareItem(want, have.Attributes)
	if want.CreateOnly {
		c.Attributes = onceThere(want.Kind, c.Attributes)
	}
	var left []planner.AttributeChange
	if want.Partial && was != nil && !want.CreateOnly {
		left = unwanted(want, have, was)
		c.Attributes = append(c.Attributes, left...)
	}
	if len(c.Attributes) == 0 {
		return c, false
	}
	for i := range c.Attributes {
		if a := &c.Attributes[i]; a.Origin.IsZero() {
			a.Origin = want.OriginOfChange(a.Path, a.Before, a.After)
			a.Origins = want.OriginsOfChange(a.Path, a.Before, a.After)
		}
	}
	c.Reason = reason(c.Attributes, was)
	if len(left) > 0 {
		c.Reason = planner.ReasonConfigured
	}
	c.Shown = shown(want, have)
	return c, true
}

// shown returns the observed attributes that are for display only.
func shown(want, have *state.Item) map[string]state.Value {
	var out map[string]state.Value
	for key, value := range have.Attributes.AsMap() {
		if want.Class(key) == state.Shown {
			if out == nil {
				out = map[string]state.Value{}
			}
			out[key] = value
		}
	}
	return out
}

// gone returns the change of an item that kubewright owns and that is no longer desired.
func gone(was, have *state.Item) planner.Change {
	c := planner.Change{Address: was.Address, Kind: was.Kind, Action: planner.Delete, Reason: planner.ReasonUnconfigured}
	// Images are never removed: other pods may use them, and the kubelet frees the space when
	// needed.
	if have == nil || was.Kind == state.KindImage {
		c.Action = planner.Forget
	}
	return c
}

func created(want *state.Item) []planner.AttributeChange {
	var out []planner.AttributeChange
	for _, path := range want.Attributes.Leaves() {
		if want.Class(path) == state.Bound {
			after := want.Attributes.Get(path)
			out = append(out, planner.AttributeChange{
				Path: path, After: after,
				Origin: want.OriginOfChange(path, state.Null(), after), Origins: want.OriginsOfChange(path, state.Null(), after),
			})
		}
	}
	return out
}

// reason returns the reason of a change: the configuration changed, the host or cluster did, or a
// renewal is due.
func reason(changes []planner.AttributeChange, was *state.Item) string {
	if was == nil {
		return planner.ReasonConfigured
	}
	due := true
	for _, a := range changes {
		if !was.Attributes.Get(a.Path).Equal(a.After) {
			return planner.ReasonConfigured
		}
		due = due && a.Path == planner.RenewalDue
	}
	if due {
		return planner.ReasonDue
	}
	return planner.ReasonDrift
}

// compareItem lists the bound attributes of an item that differ from the observed ones.
func compareItem(want *state.Item, have state.Value) []planner.AttributeChange {
	if want.Attributes.Equal(have) {
		return nil // the common case
	}
	var out []planner.AttributeChange
	for _, key := range differing(want.Attributes, have) {
		if want.Class(key) == state.Bound {
			w := walk{item: want, out: &out}
			w.compare(state.JoinPath("", key), want.Attributes.AsMap()[key], have.AsMap()[key])
		}
	}
	for _, key := range missing(want.Attributes, have) {
		if (!want.Partial || planner.NeverWanted(key)) && want.Class(key) == state.Bound {
			out = append(out, planner.AttributeChange{Path: state.JoinPath("", key), Before: have.AsMap()[key]})
		}
	}
	return out
}

// differing lists the keys of a desired map with another observed value, sorted. Usually there are
// few, and the other keys need no further work.
func differing(want, have state.Value) []string {
	var keys []string
	seen := have.AsMap()
	for key, value := range want.AsMap() {
		if !value.Equal(seen[key]) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// missing lists the observed keys that a desired map does not have, sorted.
func missing(want, have state.Value) []string {
	var keys []string
	wanted := want.AsMap()
	for key := range have.AsMap() {
		if _, ok := wanted[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// lasts reports whether an attribute of a create-only file is still compared later, if it was
// recorded and can be observed: the access to a key, and the serial of the trusted CA certificate.
func lasts(kind state.Kind, path string) bool {
	return planner.IsAccess(kind, path) || path == planner.CASerial
}

// onceThere keeps those differences of an existing create-only item that still count: a renewal
// that is due, and the attributes that lasts accepts.
func onceThere(kind state.Kind, changes []planner.AttributeChange) []planner.AttributeChange {
	return slices.DeleteFunc(changes, func(a planner.AttributeChange) bool {
		return a.Path != planner.RenewalDue && (!lasts(kind, a.Path) || a.Before.IsNull() || a.After.IsNull())
	})
}
