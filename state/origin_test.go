package state_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state"
)

// TestOriginOfChange checks that the origin of a composed attribute is the setting that changed
// it.
func TestOriginOfChange(t *testing.T) {
	t.Parallel()
	line := func(n int) state.Source { return state.Source{File: "main.hcl", Line: n} }
	it := state.Item{Origin: map[string]state.Source{
		"": state.DefaultSource("kubeadm 1.36"), "image": line(2), `image["mirror"]`: line(3), `image[":1.2"]`: line(2),
		"extraArgs.a": line(5), "extraArgs.b": line(6), "config.x": line(9), "config.y": line(8), "names.own": line(11),
		"names.usual": state.DefaultSource("kubeadm 1.36"), "secret.a": line(13), "args.v": line(15), "env": line(17),
	}}
	type tree = map[string]any
	arg := func(name, value string) any { return tree{"name": name, "value": value} }
	const usual = "default(kubeadm 1.36)"
	for _, c := range []struct {
		name, path    string
		before, after any
		want          string
	}{
		{"a text whose one part changed", "image", "old/x:1.2", "mirror/x:1.2", "main.hcl:3"},
		{"the other part", "image", "mirror/x:1.1", "mirror/x:1.2", "main.hcl:2"},
		{"both", "image", "old/x:1.1", "mirror/x:1.2", "main.hcl:2"},
		{"neither", "image", "mirror/y:1.2", "mirror/x:1.2", "main.hcl:2"},
		{"a new text", "image", nil, "mirror/x:1.2", "main.hcl:2"},
		{"the element that changed", "extraArgs", []any{arg("a", "1"), arg("b", "1")}, []any{arg("a", "1"), arg("b", "2")}, "main.hcl:6"},
		{"the first of two", "extraArgs", nil, []any{arg("b", "1"), arg("a", "1")}, "main.hcl:5"},
		{"an element that is gone", "extraArgs", []any{arg("a", "1"), arg("b", "1")}, []any{arg("b", "1")}, "main.hcl:6"},
		{"an element without a setting", "extraArgs", []any{arg("a", "1")}, []any{arg("a", "1"), arg("c", "1")}, usual},
		{"a list that is gone", "extraArgs", []any{arg("a", "1")}, nil, usual},
		{"an element by its text", "names", []any{"usual"}, []any{"usual", "own"}, "main.hcl:11"},
		{"a usual one", "names", []any{"own"}, []any{"usual", "own"}, usual},
		{"a map that is new", "config", nil, tree{"x": 1, "y": 2, "z": 3}, "main.hcl:8"},
		{"a map without a setting", "config", nil, tree{"z": 3}, usual},
		{"a part of something with a line", "env.A", nil, tree{"b": 1}, "main.hcl:17"},
	} {
		if got := it.OriginOfChange(c.path, state.FromGo(c.before), state.FromGo(c.after)).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	args := state.Args([]state.Arg{{Name: "v", Value: "2"}, {Name: "w", Value: "1"}})
	if got := it.OriginOfChange("args", state.Null(), args).String(); got != "main.hcl:15" {
		t.Errorf("all arguments: %s", got)
	}
	if got := it.OriginOfChange("secret", state.Null(), state.SensitiveValue("ref", "print")).String(); got != "main.hcl:13" {
		t.Errorf("a secret: %s", got)
	}
}

// TestOriginsOfChange checks that an attribute of several lines has an origin for each new part.
func TestOriginsOfChange(t *testing.T) {
	t.Parallel()
	line := func(n int) state.Source { return state.Source{File: "main.hcl", Line: n} }
	it := state.Item{Origin: map[string]state.Source{
		"": state.DefaultSource("kubeadm 1.36"), "env.A": line(2), "env.B": line(3), "list.a": line(4), "list.b.x": line(5), "list.b.y": line(6), "args.v": line(7), "args.w": line(8),
		"names.own": line(9), "one": line(10),
	}}
	type tree = map[string]any
	element := func(name string) any { return tree{"name": name, "x": 1, "y": 2} }
	for _, c := range []struct {
		path          string
		before, after any
		want          string
	}{
		{"env", nil, tree{"A": "1", "B": "2", "C": "3"}, "A main.hcl:2, B main.hcl:3, C default(kubeadm 1.36)"},
		{"env", tree{"A": "1"}, tree{"A": "1", "B": "2"}, ""},
		{"env", nil, tree{"A": "1", "C": "3"}, "A main.hcl:2, C default(kubeadm 1.36)"},
		{"env", nil, tree{"C": "3", "D": "4"}, ""},
		{"list", nil, []any{element("b"), element("a")}, "a main.hcl:4, b main.hcl:5"},
		{"list", []any{element("a")}, []any{element("a"), element("b")}, ""},
		{"list", []any{element("a")}, nil, ""},
		{"names", nil, []any{"own", "usual"}, "own main.hcl:9, usual default(kubeadm 1.36)"},
		{"one", nil, tree{"x": 1, "y": 2}, ""},
		{"env.A", "1", "2", ""},
		{"env", nil, tree{}, ""},
	} {
		if got := lines(it.OriginsOfChange(c.path, state.FromGo(c.before), state.FromGo(c.after))); got != c.want {
			t.Errorf("%s, %v: %s, want %s", c.path, c.after, got, c.want)
		}
	}
	args := state.Args([]state.Arg{{Name: "v", Value: "2"}, {Name: "w", Value: "1"}})
	if got, want := lines(it.OriginsOfChange("args", state.Null(), args)), "v main.hcl:7, w main.hcl:8"; got != want {
		t.Errorf("arguments: %s, want %s", got, want)
	}
}

// lines returns origins as text.
func lines(origins map[string]state.Source) string {
	var out []string
	for _, path := range slices.Sorted(maps.Keys(origins)) {
		out = append(out, path+" "+origins[path].String())
	}
	return strings.Join(out, ", ")
}
