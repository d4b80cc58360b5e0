package planner

import (
	"slices"
	"strconv"

	"github.com/kubewright/kubewright/state"
)

// Reasons of a change.
const (
	ReasonNew          = "not there yet"
	ReasonConfigured   = "configuration changed"
	ReasonDrift        = "changed outside of kubewright"
	ReasonUnconfigured = "no longer in the configuration"
	ReasonRequested    = "as requested"
	ReasonIncomplete   = "an earlier apply did not finish"
	ReasonDue          = "renewal due"
)

// RenewalDue is the attribute of a certificate or kubeconfig that reports whether it
// ends soon. Time alone changes it: that is no drift, nobody did it.
const RenewalDue = "renewal_due"

// CASerial is the attribute of a kubeconfig, and of cluster-info, that tells which
// certificate of the operator's CA they trust: it may be reissued for the same key.
const CASerial = "ca_serial"

// StaleFiles is the attribute of a static pod that runs as it was before these
// files were written, of the kubeconfig of a kubelet that does, and of the DaemonSet of
// kube-proxy, whose pods do. It is never wanted.
const StaleFiles = "stale_files"

// LeftRules is the attribute of the DaemonSet of kube-proxy that says which nodes keep
// rules of another mode than the one in use. It is never wanted.
const LeftRules = "left_rules"

// NeverWanted reports whether an attribute, by its path, is one that only what is observed
// has: a change takes it away.
func NeverWanted(path string) bool { return path == StaleFiles || path == LeftRules }

// OnlyRereads reports whether nothing of an item changes but that who uses it reads
// again what is there.
func (c Change) OnlyRereads() bool {
	return len(c.Attributes) > 0 && !slices.ContainsFunc(c.Attributes, func(a AttributeChange) bool { return a.Path != StaleFiles })
}

// Diff compares what is wanted with what is there, item by item. Recorded
// tells what we set before and no longer want, and which side moved. Items of
// targets that could not be observed are left out: unknown is not absent.
func Diff(desired, observed, recorded *state.Snapshot) []Change {
	var changes []Change
	for i := range desired.Items {
		want := &desired.Items[i]
		if observed.Dark(want.Address) {
			continue
		}
		have, was := observed.Find(want.Address), recorded.Find(want.Address)
		if c, ok := diffItem(want, have, was); ok {
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
		changes = append(changes, diffGone(was, observed.Find(was.Address)))
	}
	state.SortByAddress(changes, func(c *Change) state.Address { return c.Address })
	return changes
}

// Drift compares what was recorded with what is there: what somebody else changed.
func Drift(observed, recorded *state.Snapshot) []Change {
	var drift []Change
	for i := range recorded.Items {
		was := &recorded.Items[i]
		if observed.Dark(was.Address) {
			continue
		}
		have := observed.Find(was.Address)
		c := Change{Address: was.Address, Kind: was.Kind, Reason: ReasonDrift}
		if have == nil {
			c.Action = Delete
			if !was.Expires && !was.CreateOnly {
				drift = append(drift, c)
			}
			continue
		}
		c.Action = Update
		differences := compareItem(was, have.Attributes)
		if was.CreateOnly {
			differences = onceThere(was.Kind, differences)
		}
		// The arrow points from what we remember to what is there now. Who may read a
		// key, or which certificate is trusted, an older version did not remember; the
		// latter is not looked for while the CA is rotated.
		for _, a := range differences {
			if a.Path == RenewalDue || lasts(was.Kind, a.Path) && a.After.IsNull() || a.Path == CASerial && a.Before.IsNull() {
				continue
			}
			c.Attributes = append(c.Attributes, AttributeChange{Path: a.Path, Before: a.After, After: a.Before})
		}
		if len(c.Attributes) > 0 {
			drift = append(drift, c)
		}
	}
	return drift
}

func diffItem(want, have, was *state.Item) (Change, bool) {
	c := Change{Address: want.Address, Kind: want.Kind}
	if have == nil && want.Expires && was != nil && was.Attributes.Equal(want.Attributes) {
		return c, false
	}
	if have == nil {
		c.Action, c.Reason = Create, ReasonNew
		if was != nil {
			c.Reason = ReasonDrift
		}
		if was != nil && want.Expires {
			c.Reason = ReasonConfigured
		}
		c.Attributes = created(want)
		return c, true
	}
	c.Action = Update
	c.Attributes = compareItem(want, have.Attributes)
	if want.CreateOnly {
		c.Attributes = onceThere(want.Kind, c.Attributes)
	}
	var left []AttributeChange
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
		c.Reason = ReasonConfigured
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

// diffGone returns the change of an item that we own and that nobody wants any more.
func diffGone(was, have *state.Item) Change {
	c := Change{Address: was.Address, Kind: was.Kind, Action: Delete, Reason: ReasonUnconfigured}
	// Images are never removed: others may run them, and the kubelet frees their
	// room when it needs it.
	if have == nil || was.Kind == state.KindImage {
		c.Action = Forget
	}
	return c
}

func created(want *state.Item) []AttributeChange {
	var out []AttributeChange
	for _, path := range want.Attributes.Leaves() {
		if want.Class(path) == state.Bound {
			after := want.Attributes.Get(path)
			out = append(out, AttributeChange{
				Path: path, After: after,
				Origin: want.OriginOfChange(path, state.Null(), after), Origins: want.OriginsOfChange(path, state.Null(), after),
			})
		}
	}
	return out
}

// reason tells whether the configuration moved, or the world did, or only time.
func reason(changes []AttributeChange, was *state.Item) string {
	if was == nil {
		return ReasonConfigured
	}
	due := true
	for _, a := range changes {
		if !was.Attributes.Get(a.Path).Equal(a.After) {
			return ReasonConfigured
		}
		due = due && a.Path == RenewalDue
	}
	if due {
		return ReasonDue
	}
	return ReasonDrift
}

// compareItem lists the bound attributes of an item that differ from what is there.
func compareItem(want *state.Item, have state.Value) []AttributeChange {
	if want.Attributes.Equal(have) {
		return nil // nearly all items are as they are wanted
	}
	var out []AttributeChange
	for _, key := range differing(want.Attributes, have) {
		if want.Class(key) == state.Bound {
			w := walk{item: want, out: &out}
			w.compare(state.JoinPath("", key), want.Attributes.AsMap()[key], have.AsMap()[key])
		}
	}
	for _, key := range missing(want.Attributes, have) {
		if (!want.Partial || NeverWanted(key)) && want.Class(key) == state.Bound {
			out = append(out, AttributeChange{Path: state.JoinPath("", key), Before: have.AsMap()[key]})
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

// walk compares two trees and collects the differing leaves.
type walk struct {
	item  *state.Item
	out   *[]AttributeChange
	exact bool // below a path of Item.Exact
}

func (w walk) compare(path string, want, have state.Value) {
	if !have.IsNull() && (want.IsPending() || w.settled(path)) {
		return
	}
	w.exact = w.exact || slices.Contains(w.item.Exact, path)
	switch {
	case want.Kind() == state.KindMap && have.Kind() == state.KindMap:
		w.compareMaps(path, want, have)
	case want.Kind() == state.KindList && have.Kind() == state.KindList && w.partial():
		w.compareLists(path, want, have)
	case want.Kind() == state.KindArgs && have.Kind() == state.KindArgs:
		w.compareArgs(path, want, have)
	case !want.Equal(have):
		w.add(path, have, want)
	}
}

// settled reports whether what is at the path matters no longer once it is there.
func (w walk) settled(path string) bool {
	return slices.Contains(w.item.Initial, path) && !slices.Contains(w.item.Outdated, path)
}

func (w walk) partial() bool { return w.item.Partial && !w.exact }

func (w walk) add(path string, before, after state.Value) {
	*w.out = append(*w.out, AttributeChange{Path: path, Before: before, After: after})
}

func (w walk) compareMaps(path string, want, have state.Value) {
	for _, k := range differing(want, have) {
		w.compare(state.JoinPath(path, k), want.AsMap()[k], have.AsMap()[k])
	}
	if w.partial() {
		return
	}
	for _, k := range missing(want, have) {
		w.add(state.JoinPath(path, k), have.AsMap()[k], state.Null())
	}
}

// compareLists compares lists of a partial item: by name where all elements
// carry one (containers, ports, volumes), otherwise element by element.
func (w walk) compareLists(path string, want, have state.Value) {
	byName, named := index(have)
	if _, ok := index(want); ok && named {
		for _, e := range want.AsList() {
			name := e.Get("name").AsString()
			w.compare(state.JoinPath(path, name), e, byName[name])
		}
		return
	}
	if len(want.AsList()) != len(have.AsList()) {
		w.add(path, have, want)
		return
	}
	for i, e := range want.AsList() {
		w.compare(state.JoinPath(path, strconv.Itoa(i)), e, have.AsList()[i])
	}
}

func index(list state.Value) (map[string]state.Value, bool) {
	m := map[string]state.Value{}
	for _, e := range list.AsList() {
		name := e.Get("name").AsString()
		if _, twice := m[name]; name == "" || twice {
			return nil, false
		}
		m[name] = e
	}
	return m, true
}

// compareArgs names the arguments that differ. In which order those of different
// names stand is no difference, for it makes none to who reads them (pflag); of those
// of one name it is.
func (w walk) compareArgs(path string, want, have state.Value) {
	if want.Equal(have) {
		return
	}
	wanted, had := groupArgs(want.AsArgs()), groupArgs(have.AsArgs())
	for _, name := range sortedKeys(wanted, had) {
		if !slices.EqualFunc(wanted[name], had[name], state.Arg.Equal) {
			w.add(state.JoinPath(path, name), argValue(had[name]), argValue(wanted[name]))
		}
	}
}

func groupArgs(args []state.Arg) map[string][]state.Arg {
	m := map[string][]state.Arg{}
	for _, a := range args {
		m[a.Name] = append(m[a.Name], a)
	}
	return m
}

func sortedKeys(maps ...map[string][]state.Arg) []string {
	var keys []string
	for _, m := range maps {
		for k := range m {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func argValue(args []state.Arg) state.Value {
	values := make([]state.Value, len(args))
	for i, a := range args {
		values[i] = a.Of()
	}
	switch len(values) {
	case 0:
		return state.Null()
	case 1:
		return values[0]
	}
	return state.List(values...)
}
