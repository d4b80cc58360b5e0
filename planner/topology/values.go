package topology

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

func parseFile(kind state.Kind, content []byte) (state.Value, error) {
	switch kind {
	case state.KindStaticPod:
		tree, err := kubeadm.StaticPodAttributes(content)
		if err != nil {
			return state.Value{}, err
		}
		// The founding arguments have no effect once an etcd member has data, and kubeadm upgrade
		// rewrites them.
		return withoutArgs(tree, "initial-cluster", "initial-cluster-state"), nil
	case state.KindYAMLFile:
		return kubeadm.YAMLAttributes(content)
	case state.KindEnvFile:
		return kubeadm.KubeletFlagsAttributes(content)
	}
	if !utf8.Valid(content) {
		// Another file might contain exactly the text that represents this one's bytes.
		return Attributes("content", string(content), "encoding", "not UTF-8"), nil
	}
	return Attributes("content", string(content)), nil
}

func AddList(m map[string]any, key string, list []string) {
	if len(list) > 0 {
		m[key] = Sorted(list)
	}
}

func Sorted(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return out
}

// Attributes returns a map value from alternating keys and values.
func Attributes(pairs ...any) state.Value {
	m := make(map[string]state.Value, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = state.FromGo(pairs[i+1])
	}
	return state.Map(m)
}

// withoutArgs drops arguments that are not compared.
func withoutArgs(v state.Value, names ...string) state.Value {
	m := map[string]state.Value{}
	for k, e := range v.AsMap() {
		m[k] = e
	}
	var args []state.Arg
	for _, a := range m["args"].AsArgs() {
		keep := true
		for _, name := range names {
			keep = keep && a.Name != name
		}
		if keep {
			args = append(args, a)
		}
	}
	m["args"] = state.Args(args)
	return state.Map(m)
}

// Must returns the result of rendering a validated configuration, and panics on an error.
func Must(b []byte, err error) []byte {
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return b
}

// Brief formats a duration without zero units at its end: 10m, not 10m0s.
func Brief(d time.Duration) string {
	text := d.String()
	for _, unit := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, unit) {
			text = strings.TrimSuffix(text, unit[1:])
		}
	}
	return text
}

// WithAttribute returns a map with one more value.
func WithAttribute(m state.Value, name string, value any) state.Value {
	out := maps.Clone(m.AsMap())
	out[name] = state.FromGo(value)
	return state.Map(out)
}

// ValueAt returns the value at the path of a tree; null if there is none.
func ValueAt(v state.Value, path []string) state.Value {
	for _, key := range path {
		v = v.AsMap()[key]
	}
	return v
}

// ReplaceAt returns the tree with another value at the path; null removes the key.
func ReplaceAt(v state.Value, path []string, by state.Value) state.Value {
	m := map[string]state.Value{}
	for key, e := range v.AsMap() {
		m[key] = e
	}
	if len(path) > 1 {
		by = ReplaceAt(m[path[0]], path[1:], by)
	}
	if m[path[0]] = by; by.IsNull() {
		delete(m, path[0])
	}
	if len(m) == 0 {
		return state.Null()
	}
	return state.Map(m)
}
