package diff

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Changes compares what is wanted with what is there, item by item. Recorded
// tells what we set before and no longer want, and which side moved. Items of
// targets that could not be observed are left out: unknown is not absent.
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

// Drift compares what was recorded with what is there: what somebody else changed.
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
		// The arrow points from what we remember to what is there now. Who may read a
		// key, or which certificate is trusted, an older version did not remember; the
		// latter is not looked for while the CA is rotated.
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

// shown returns the attributes of what is there that are only shown.
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

// gone returns the change of an item that we own and that nobody wants any more.
func gone(was, have *state.Item) planner.Change {
	c := planner.Change{Address: was.Address, Kind: was.Kind, Action: planner.Delete, Reason: planner.ReasonUnconfigured}
	// Images are never removed: others may run them, and the kubelet frees their
	// room when it needs it.
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

// reason tells whether the configuration moved, or the world did, or only time.
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

// compareItem lists the bound attributes of an item that differ from what is there.
func compareItem(want *state.Item, have state.Value) []planner.AttributeChange {
	if want.Attributes.Equal(have) {
		return nil // nearly all items are as they are wanted
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

// differing lists the keys of a wanted map under which something else is there, in order.
// Mostly those are few, and nothing more is done about the others.
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

// missing lists the keys of what is there that a wanted map does not have, in order.
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

// lasts tells an attribute that counts also of a file that matters only while it is made,
// as far as it was remembered and can be seen: who may read a key, and which certificate
// of the CA is trusted.
func lasts(kind state.Kind, path string) bool {
	return planner.IsAccess(kind, path) || path == planner.CASerial
}

// onceThere leaves of the differences of an item that matters only while it is made
// what counts afterwards as well: a renewal that is due, and what lasts.
func onceThere(kind state.Kind, changes []planner.AttributeChange) []planner.AttributeChange {
	return slices.DeleteFunc(changes, func(a planner.AttributeChange) bool {
		return a.Path != planner.RenewalDue && (!lasts(kind, a.Path) || a.Before.IsNull() || a.After.IsNull())
	})
}
