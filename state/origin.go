package state

import (
	"cmp"
	"slices"
	"strings"
)

// OriginOf returns the source of the attribute at the path: the entry with the longest path that
// is equal to it or above it.
func (i Item) OriginOf(path string) Source {
	keys := SplitPath(path)
	for n := len(keys); n >= 0; n-- {
		p := ""
		for _, k := range keys[:n] {
			p = JoinPath(p, k)
		}
		if s, ok := i.Origin[p]; ok {
			return s
		}
	}
	return Source{}
}

// OriginOfChange returns the source of a change of the attribute at the path: for an attribute
// composed of several settings, the setting that changed it.
func (i Item) OriginOfChange(path string, before, after Value) Source {
	own, exact := i.Origin[path]
	if exact && !composed(after) && (before.IsNull() || after.Kind() != KindString) {
		return own
	}
	var parts, changed []Source
	for p, s := range i.Origin {
		rest, below := cutPath(p, path)
		if !below || after.IsNull() {
			continue
		}
		is := part(after, rest)
		if is.IsNull() {
			continue
		}
		parts = append(parts, s)
		if !is.Equal(part(before, rest)) {
			changed = append(changed, s)
		}
	}
	switch {
	case len(changed) > 0 && (!exact || len(changed) < len(parts)):
		return first(changed)
	case !exact && len(parts) > 0 && !grown(before, after):
		return first(parts)
	}
	return i.OriginOf(path)
}

// OriginsOfChange returns the source of each part of a change of the attribute at the path, if
// they differ and a line of the configuration is among them: for a map its leaves, by their paths,
// and for a list its new or changed elements, by their names or texts. It is nil if one line causes
// all of it.
func (i Item) OriginsOfChange(path string, before, after Value) map[string]Source {
	out, sources, configured := map[string]Source{}, map[Source]bool{}, false
	for _, p := range parts(after) {
		was, is := part(before, SplitPath(p)), part(after, SplitPath(p))
		if is.Equal(was) {
			continue
		}
		whole := path
		for _, key := range SplitPath(p) {
			whole = JoinPath(whole, key)
		}
		out[p] = i.OriginOfChange(whole, was, is)
		sources[out[p]] = true
		configured = configured || out[p].File != ""
	}
	if len(sources) < 2 || !configured {
		return nil
	}
	return out
}

// parts returns the paths of the parts of a value: the leaves of a map, and the elements of a
// list that have a name or are strings.
func parts(v Value) []string {
	var out []string
	switch v.Kind() {
	case KindMap:
		return v.Leaves()
	case KindList:
		for _, e := range v.AsList() {
			if key := ElementKey(e); key != "" {
				out = append(out, JoinPath("", key))
			}
		}
	case KindArgs:
		for _, a := range v.AsArgs() {
			out = append(out, JoinPath("", a.Name))
		}
	}
	return out
}

// ElementKey returns the key of a list element: its name, or its text; empty if it has neither.
func ElementKey(e Value) string {
	if e.Kind() == KindMap {
		return e.Get("name").AsString()
	}
	if e.Kind() == KindString {
		return e.AsString()
	}
	return ""
}

// composed reports whether a value contains other values.
func composed(v Value) bool {
	return v.Kind() == KindMap || v.Kind() == KindList || v.Kind() == KindArgs
}

// cutPath returns the keys of a path below another one.
func cutPath(path, above string) (rest []string, below bool) {
	tail, ok := strings.CutPrefix(path, above)
	if !ok || tail == "" || above != "" && tail[0] != '.' && tail[0] != '[' {
		return nil, false
	}
	return SplitPath(tail), true
}

// part returns the part of a value at some keys, null when there is none. A list element is found
// by its name or its text; a string has each text that it contains. A secret cannot be inspected:
// it is returned as its own part.
func part(v Value, keys []string) Value {
	for _, key := range keys {
		switch {
		case v.Kind() == KindList:
			v = element(v, key)
		case v.Kind() == KindString && strings.Contains(v.AsString(), key):
			v = String(key)
		case v.Kind() != KindSensitive:
			v = v.child(key)
		}
	}
	return v
}

func element(list Value, key string) Value {
	for _, e := range list.AsList() {
		if (e.Kind() == KindMap || e.Kind() == KindString) && ElementKey(e) == key {
			return e
		}
	}
	return Null()
}

// grown reports whether a list has new elements.
func grown(before, after Value) bool {
	return slices.ContainsFunc(after.AsList(), func(e Value) bool {
		return !slices.ContainsFunc(before.AsList(), e.Equal)
	})
}

// first returns the source that comes first in the configuration; defaults come last.
func first(sources []Source) Source {
	return slices.MinFunc(sources, func(a, b Source) int {
		if (a.File == "") != (b.File == "") {
			return len(b.File) - len(a.File)
		}
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Default, b.Default))
	})
}
