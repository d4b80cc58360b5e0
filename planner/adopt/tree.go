package adopt

import (
	"maps"
	"slices"

	"github.com/kubewright/kubewright/state"
)

// over returns the overlay that turns base into seen, and the paths that have to be removed from
// base. Maps are compared key by key, everything else as a whole.
func over(base, seen state.Value) (add state.Value, gone [][]string) {
	m := map[string]state.Value{}
	for _, key := range seen.Keys() {
		was, is := base.AsMap()[key], seen.AsMap()[key]
		switch {
		case was.Equal(is):
		case was.Kind() == state.KindMap && is.Kind() == state.KindMap && len(is.AsMap()) > 0:
			inner, without := over(was, is)
			if len(inner.AsMap()) > 0 {
				m[key] = inner
			}
			for _, path := range without {
				gone = append(gone, append([]string{key}, path...))
			}
		case !(was.IsNull() && empty(is)):
			m[key] = is
		}
	}
	for _, key := range base.Keys() {
		if _, there := seen.AsMap()[key]; !there && !empty(base.AsMap()[key]) {
			gone = append(gone, []string{key})
		}
	}
	if len(m) == 0 {
		return state.Null(), gone
	}
	return state.Map(m), gone
}

// empty reports whether a value is equivalent to a missing one.
func empty(v state.Value) bool {
	switch v.Kind() {
	case state.KindNull:
		return true
	case state.KindMap:
		return len(v.AsMap()) == 0
	case state.KindList:
		return len(v.AsList()) == 0
	}
	return false
}

// with returns a tree with a value at a path.
func with(v state.Value, path []string, value state.Value) state.Value {
	if len(path) == 0 {
		return value
	}
	m := maps.Clone(v.AsMap())
	if m == nil {
		m = map[string]state.Value{}
	}
	m[path[0]] = with(m[path[0]], path[1:], value)
	return state.Map(m)
}

// without returns a tree without a key.
func without(v state.Value, key string) state.Value {
	if _, there := v.AsMap()[key]; !there {
		return v
	}
	m := maps.Clone(v.AsMap())
	delete(m, key)
	if len(m) == 0 {
		return state.Null()
	}
	return state.Map(m)
}

// nulls returns the merge patch that removes the paths.
func nulls(paths [][]string) state.Value {
	out := state.Map(map[string]state.Value{})
	for _, p := range paths {
		out = with(out, p, state.Null())
	}
	return out
}

// same reports whether value returns the same for all elements.
func same[T any](list []T, value func(T) string) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(e T) bool { return value(e) != value(list[0]) })
}
