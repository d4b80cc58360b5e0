package diff

import (
	"slices"
	"strconv"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// walk compares two trees and collects the differing leaves.
type walk struct {
	item  *state.Item
	out   *[]planner.AttributeChange
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

// settled reports whether the value at the path no longer matters once it exists.
func (w walk) settled(path string) bool {
	return slices.Contains(w.item.Initial, path) && !slices.Contains(w.item.Outdated, path)
}

func (w walk) partial() bool { return w.item.Partial && !w.exact }

func (w walk) add(path string, before, after state.Value) {
	*w.out = append(*w.out, planner.AttributeChange{Path: path, Before: before, After: after})
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

// compareLists compares lists of a partial item: by name if all elements have one (containers,
// ports, volumes), otherwise by index.
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

// compareArgs adds the arguments that differ. The order of arguments with different names does not
// matter, as it does not matter to pflag; the order of arguments with the same name does.
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
