package diff

import (
	"slices"
	"strconv"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// unwanted lists the parts of a partial item that kubewright set before, that are unchanged, and
// that the configuration no longer asks for. It ignores what others have added, including elements
// of lists.
func unwanted(want, have, was *state.Item) []planner.AttributeChange {
	if was.Attributes.Equal(want.Attributes) {
		return nil // the common case
	}
	var out []planner.AttributeChange
	for _, key := range was.Attributes.Keys() {
		if want.Class(key) == state.Bound {
			w := walk{item: want, out: &out}
			w.leave(state.JoinPath("", key), want.Attributes.AsMap()[key], have.Attributes.AsMap()[key], was.Attributes.AsMap()[key])
		}
	}
	return out
}

// leave collects what has to be removed at a path. It skips what compare has already reported,
// because another value is desired there or kubewright owns the whole value.
func (w walk) leave(path string, want, have, was state.Value) {
	if was.IsNull() || have.IsNull() || was.Equal(want) {
		return
	}
	w.exact = w.exact || slices.Contains(w.item.Exact, path)
	switch {
	case w.exact && !want.IsNull():
	case was.Kind() == state.KindMap && have.Kind() == state.KindMap && len(was.AsMap()) > 0:
		if want.IsNull() || want.Kind() == state.KindMap {
			for _, k := range was.Keys() {
				w.leave(state.JoinPath(path, k), want.AsMap()[k], have.AsMap()[k], was.AsMap()[k])
			}
		}
	case was.Kind() == state.KindList && have.Kind() == state.KindList && want.Kind() == state.KindList:
		w.leaveList(path, want, have, was)
	case !want.IsNull():
	case was.Kind() == state.KindList && have.Kind() == state.KindList && !was.Equal(have):
		w.leaveWhole(path, have, was)
	case was.Equal(have):
		w.add(path, have, state.Null())
	}
}

// leaveList handles a list of which some elements are still desired, like compareLists: by name, or
// by index if the lengths are equal.
func (w walk) leaveList(path string, want, have, was state.Value) {
	wanted, byName := index(want)
	there, named := index(have)
	if !byName || !named {
		if len(want.AsList()) != len(have.AsList()) || len(was.AsList()) != len(have.AsList()) {
			return
		}
		for i, e := range was.AsList() {
			w.leave(state.JoinPath(path, strconv.Itoa(i)), want.AsList()[i], have.AsList()[i], e)
		}
		return
	}
	if _, ok := index(was); !ok {
		return
	}
	for _, e := range was.AsList() {
		name := e.Get("name").AsString()
		at := state.JoinPath(path, name)
		if is, ok := wanted[name]; ok {
			w.leave(at, is, there[name], e)
		} else {
			w.leaveElement(at, there[name], e)
		}
	}
}

// leaveWhole handles a list that is no longer desired and to which another writer has added
// elements, or fields of elements. It recognises elements without a name by the fields that
// kubewright set.
func (w walk) leaveWhole(path string, have, was state.Value) {
	_, byName := index(was)
	there, named := index(have)
	switch {
	case Ours(have, was).Equal(was) && len(have.AsList()) == len(was.AsList()):
		w.add(path, Ours(have, was), state.Null())
	case byName && named:
		for _, e := range was.AsList() {
			name := e.Get("name").AsString()
			w.leaveElement(state.JoinPath(path, name), there[name], e)
		}
	default:
		sought := slices.Clone(was.AsList())
		for i, h := range have.AsList() {
			if at := slices.IndexFunc(sought, func(e state.Value) bool { return Ours(h, e).Equal(e) }); at >= 0 {
				w.add(state.JoinPath(path, strconv.Itoa(i)), Ours(h, sought[at]), state.Null())
				sought = slices.Delete(sought, at, at+1)
			}
		}
	}
}

// leaveElement removes a named list element as a whole, or, where another writer has changed it,
// the rest of what kubewright set; it then keeps its name.
func (w walk) leaveElement(path string, have, was state.Value) {
	if ours := Ours(have, was); ours.Equal(was) {
		w.add(path, ours, state.Null())
		return
	}
	for _, k := range was.Keys() {
		if k != "name" {
			w.leave(state.JoinPath(path, k), state.Null(), have.AsMap()[k], was.AsMap()[k])
		}
	}
}

// Ours returns the part of have that kubewright set before (was), with its observed values: the
// same keys of maps, and the same elements of lists by name. Lists without names are matched by
// index, or returned as a whole if their lengths differ.
func Ours(have, was state.Value) state.Value {
	switch {
	case have.Kind() == state.KindMap && was.Kind() == state.KindMap:
		m := map[string]state.Value{}
		for k, e := range was.AsMap() {
			if h, ok := have.AsMap()[k]; ok {
				m[k] = Ours(h, e)
			}
		}
		return state.Map(m)
	case have.Kind() == state.KindList && was.Kind() == state.KindList:
		return oursOfList(have, was)
	}
	return have
}

func oursOfList(have, was state.Value) state.Value {
	_, byName := index(was)
	there, named := index(have)
	out := make([]state.Value, 0, len(was.AsList()))
	switch {
	case byName && named:
		for _, e := range was.AsList() {
			if h, ok := there[e.Get("name").AsString()]; ok {
				out = append(out, Ours(h, e))
			}
		}
	case len(have.AsList()) == len(was.AsList()):
		for i, e := range was.AsList() {
			out = append(out, Ours(have.AsList()[i], e))
		}
	default:
		return have
	}
	return state.List(out...)
}
