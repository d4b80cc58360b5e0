package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/diff"
	"github.com/kubewright/kubewright/state"
)

// address returns the address of an item of one node.
func address(item string) state.Address {
	return state.Address{Target: state.NodeTarget("a"), Phase: "p", Item: item}
}

func snapshot(items ...state.Item) *state.Snapshot {
	s := &state.Snapshot{Items: items}
	s.Sort()
	return s
}

func value(x any) state.Value { return state.FromGo(x) }

type tree = map[string]any

// text prints changes, one attribute per line.
func text(changes []planner.Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s %s: %s\n", c.Action, c.Address.Item, c.Reason)
		for _, a := range c.Attributes {
			before, _ := a.Before.MarshalJSON()
			after, _ := a.After.MarshalJSON()
			fmt.Fprintf(&b, "  %s %s -> %s\n", a.Path, before, after)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestDiff(t *testing.T) {
	t.Parallel()
	args := func(pairs ...string) state.Value {
		var out []state.Arg
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, state.Arg{Name: pairs[i], Value: pairs[i+1]})
		}
		return state.Args(out)
	}
	item := state.Item{Address: address("file:/x"), Kind: state.KindFile}
	image := state.Item{Address: address("image:i"), Kind: state.KindImage}
	object := state.Item{Address: address("object:v1/ConfigMap/ns/x"), Kind: state.KindObject, Partial: true, Exact: []string{"data.doc"}, Initial: []string{"spec.replicas"}}
	outdated := object
	outdated.Outdated = object.Initial
	for _, tt := range []struct {
		name                string
		item                state.Item
		want, have, recalls any
		is                  string
	}{
		{"nothing", item, tree{"a": 1}, tree{"a": 1}, nil, ""},
		{"absent", item, tree{"a": 1}, nil, nil, "create file:/x: not there yet\n  a null -> 1"},
		{"removed by hand", item, tree{"a": 1}, nil, tree{"a": 1}, "create file:/x: changed outside of kubewright\n  a null -> 1"},
		{"configured", item, tree{"a": 2}, tree{"a": 1}, tree{"a": 1}, "update file:/x: configuration changed\n  a 1 -> 2"},
		{"drifted", item, tree{"a": 1}, tree{"a": 3}, tree{"a": 1}, "update file:/x: changed outside of kubewright\n  a 3 -> 1"},
		{"a file is ours whole", item, tree{"a": tree{"b": 1}}, tree{"a": tree{"b": 1, "c": 2}}, nil, "update file:/x: configuration changed\n  a.c 2 -> null"},
		{"an object's other leaves are not", object, tree{"spec": tree{"b": 1}}, tree{"spec": tree{"b": 1, "c": 2}}, nil, ""},
		{
			"nor elements of others in a list by name", object,
			tree{"c": []any{tree{"name": "x", "v": 1}}},
			tree{"c": []any{tree{"name": "y"}, tree{"name": "x", "v": 2, "w": 3}}},
			nil,
			"update object:v1/ConfigMap/ns/x: configuration changed\n  c.x.v 2 -> 1",
		},
		{
			"a document inside it is ours whole", object,
			tree{"data": tree{"doc": tree{"a": 1}}},
			tree{"data": tree{"doc": tree{"a": 1, "b": 2}, "other": "x"}},
			nil,
			"update object:v1/ConfigMap/ns/x: configuration changed\n  data.doc.b 2 -> null",
		},
		{"what is outdated", outdated, tree{"spec": tree{"replicas": 2}}, tree{"spec": tree{"replicas": 5}}, nil, "update object:v1/ConfigMap/ns/x: configuration changed\n  spec.replicas 5 -> 2"},
		{"what matters only at first", object, tree{"spec": tree{"replicas": 2}}, tree{"spec": tree{"replicas": 5}}, nil, ""},
		{
			"a leaf that we set and want no more", object,
			tree{"labels": tree{}},
			tree{"labels": tree{"a": "1", "b": "2"}},
			tree{"labels": tree{"a": "1"}},
			"update object:v1/ConfigMap/ns/x: configuration changed\n  labels.a \"1\" -> null",
		},
		{"unless it was changed outside of kubewright", object, tree{"labels": tree{}}, tree{"labels": tree{"a": "9"}}, tree{"labels": tree{"a": "1"}}, ""},
		{
			"elements that we set in a list and want no more", object,
			tree{"c": []any{tree{"name": "x", "image": "1"}}},
			tree{"c": []any{
				tree{"name": "x", "image": "1", "env": []any{tree{"name": "D", "value": "1"}, tree{"name": "Z", "value": "9"}}, "sec": tree{"priv": true}, "pull": "Always"},
				tree{"name": "side", "image": "2", "pull": "Always"},
				tree{"name": "injected"},
			}},
			tree{"c": []any{tree{"name": "x", "image": "1", "env": []any{tree{"name": "D", "value": "1"}}, "sec": tree{"priv": true}}, tree{"name": "side", "image": "2"}}},
			"update object:v1/ConfigMap/ns/x: configuration changed\n" +
				"  c.x.env.D {\"name\":\"D\",\"value\":\"1\"} -> null\n" +
				"  c.x.sec.priv true -> null\n" +
				"  c.side {\"image\":\"2\",\"name\":\"side\"} -> null",
		},
		{
			"a list that we set and want no more, with defaults in it", object,
			tree{"spec": tree{}},
			tree{"spec": tree{"ports": []any{tree{"port": 80, "protocol": "TCP"}}}},
			tree{"spec": tree{"ports": []any{tree{"port": 80}}}},
			"update object:v1/ConfigMap/ns/x: configuration changed\n  spec.ports [{\"port\":80}] -> null",
		},
		{
			"and to which another writer has added an element", object,
			tree{"spec": tree{}},
			tree{"spec": tree{"ports": []any{tree{"port": 70}, tree{"port": 80, "protocol": "TCP"}}}},
			tree{"spec": tree{"ports": []any{tree{"port": 80}}}},
			"update object:v1/ConfigMap/ns/x: configuration changed\n  spec.ports.1 {\"port\":80} -> null",
		},
		{
			"a field in a list without names", object,
			tree{"rules": []any{tree{"verbs": []any{"get"}}}},
			tree{"rules": []any{tree{"verbs": []any{"get"}, "resourceNames": []any{"a"}}}},
			tree{"rules": []any{tree{"verbs": []any{"get"}, "resourceNames": []any{"a"}}}},
			"update object:v1/ConfigMap/ns/x: configuration changed\n  rules.0.resourceNames [\"a\"] -> null",
		},
		{
			"an element that another writer has changed in part", object,
			tree{"c": []any{}},
			tree{"c": []any{tree{"name": "x", "image": "9", "tty": true}}},
			tree{"c": []any{tree{"name": "x", "image": "1", "tty": true}}},
			"update object:v1/ConfigMap/ns/x: configuration changed\n  c.x.tty true -> null",
		},
		{
			"an element of ours that is gone, and one of others that was never ours", object,
			tree{"c": []any{tree{"name": "x"}}},
			tree{"c": []any{tree{"name": "x", "env": []any{tree{"name": "D", "value": "1"}}}, tree{"name": "injected"}}},
			tree{"c": []any{tree{"name": "x"}, tree{"name": "side"}}},
			"",
		},
		{
			"a map of a document that is ours whole, once", object,
			tree{"data": tree{"doc": tree{"a": 1, "l": []any{}}}},
			tree{"data": tree{"doc": tree{"a": 1, "hard": tree{"memory": "1"}, "l": []any{tree{"name": "x"}}}}},
			tree{"data": tree{"doc": tree{"a": 1, "hard": tree{"memory": "1"}, "l": []any{tree{"name": "x"}}}}},
			"update object:v1/ConfigMap/ns/x: configuration changed\n  data.doc.l [{\"name\":\"x\"}] -> []\n  data.doc.hard {\"memory\":\"1\"} -> null",
		},
		{"no longer configured", item, nil, tree{"a": 1}, tree{"a": 1}, "delete file:/x: no longer in the configuration"},
		{"an image that is no longer configured stays", image, nil, tree{"present": true}, tree{"present": true}, "forget image:i: no longer in the configuration"},
		{"no longer configured and gone", item, nil, nil, tree{"a": 1}, "forget file:/x: no longer in the configuration"},
		{
			"an argument", item,
			tree{"args": args("a", "1", "b", "2")},
			tree{"args": args("a", "1", "c", "3")},
			nil,
			"update file:/x: configuration changed\n  args.b null -> \"2\"\n  args.c \"3\" -> null",
		},
		{
			"a repeated argument", item,
			tree{"args": args("a", "1", "a", "2")},
			tree{"args": args("a", "1")},
			nil,
			"update file:/x: configuration changed\n  args.a \"1\" -> [\"1\",\"2\"]",
		},
		{
			"the order of arguments", item,
			tree{"args": args("a", "1", "b", "2")},
			tree{"args": args("b", "2", "a", "1")},
			nil, "",
		},
		{
			"the order of arguments of one name", item,
			tree{"args": args("a", "1", "b", "2", "a", "3")},
			tree{"args": args("a", "3", "a", "1", "b", "2")},
			nil,
			"update file:/x: configuration changed\n  args.a [\"3\",\"1\"] -> [\"1\",\"3\"]",
		},
		{"what only apply can know", item, tree{"ca": state.PendingValue("s", "o")}, tree{"ca": "abc"}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			side := func(x any) *state.Snapshot {
				if x == nil {
					return snapshot()
				}
				it := tt.item
				it.Attributes = value(x)
				return snapshot(it)
			}
			if got := text(diff.Changes(side(tt.want), side(tt.have), side(tt.recalls))); got != tt.is {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.is)
			}
		})
	}
}

// TestDiffOfUnobservedTargetIsEmpty checks that targets that could not be observed have no changes and no drift.
func TestDiffOfUnobservedTargetIsEmpty(t *testing.T) {
	t.Parallel()
	it := state.Item{Address: address("file:/x"), Kind: state.KindFile, Attributes: value(tree{"a": 1})}
	gone := state.Item{Address: address("file:/y"), Kind: state.KindFile, Attributes: value(tree{"a": 1})}
	dark := &state.Snapshot{Unobserved: []state.Unobserved{{Target: it.Address.Target, Reason: "no answer"}}}
	if got := diff.Changes(snapshot(it), dark, snapshot(it, gone)); len(got) != 0 {
		t.Errorf("changes on a host that did not answer:\n%s", text(got))
	}
	if got := diff.Drift(dark, snapshot(it)); len(got) != 0 {
		t.Errorf("drift on a host that did not answer:\n%s", text(got))
	}
}

// anyValue draws a tree of strings.
func anyValue(t *rapid.T, depth int, label string) any {
	if depth == 0 || rapid.Bool().Draw(t, label+" leaf") {
		return rapid.StringMatching(`[a-c]{0,2}`).Draw(t, label)
	}
	m := tree{}
	for _, k := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c.d"}), rapid.ID).Draw(t, label+" keys") {
		m[k] = anyValue(t, depth-1, label+k)
	}
	return m
}

// TestDiffOfEqualItemsIsEmpty checks that equal items have no changes and no drift, whatever they contain.
func TestDiffOfEqualItemsIsEmpty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		it := state.Item{Address: address("file:/x"), Kind: state.KindFile, Partial: rapid.Bool().Draw(t, "partial"), Attributes: value(tree{"v": anyValue(t, 3, "v")})}
		s := snapshot(it)
		if got := diff.Changes(s, s, s); len(got) != 0 {
			t.Fatalf("changes between equals:\n%s", text(got))
		}
		if got := diff.Drift(s, s); len(got) != 0 {
			t.Fatalf("drift between equals:\n%s", text(got))
		}
	})
}

// TestDiffReportsDifferentFiles checks that two different files differ.
func TestDiffReportsDifferentFiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := state.Item{Address: address("file:/x"), Kind: state.KindFile, Attributes: value(tree{"v": anyValue(t, 3, "a")})}
		b := a
		b.Attributes = value(tree{"v": anyValue(t, 3, "b")})
		got := diff.Changes(snapshot(a), snapshot(b), snapshot())
		if (len(got) == 0) != a.Attributes.Equal(b.Attributes) {
			t.Fatalf("equal is %v, changes:\n%s", a.Attributes.Equal(b.Attributes), text(got))
		}
	})
}

// anyList draws elements of a list, most of them with names.
func anyList(t *rapid.T, label string) []any {
	var out []any
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"", "x", "y", "z"}), rapid.ID).Draw(t, label) {
		e := tree{"v": rapid.SampledFrom([]string{"1", "2"}).Draw(t, label+name+" v")}
		if name != "" {
			e["name"] = name
		}
		if rapid.Bool().Draw(t, label+name+" more") {
			e["env"] = []any{tree{"name": "D", "value": "1"}}
		}
		out = append(out, e)
	}
	return out
}

// TestDiffRemovesOnlyRecordedListElements checks that nothing unrecorded is removed from a list to which
// others have added elements, and that each path is reported once.
func TestDiffRemovesOnlyRecordedListElements(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		it := func(list []any) state.Item {
			return state.Item{Address: address("object:v1/Pod/ns/x"), Kind: state.KindObject, Partial: true, Attributes: value(tree{"c": list})}
		}
		want, have, was := it(anyList(t, "want")), it(anyList(t, "have")), it(anyList(t, "was"))
		if got, fresh := diff.Changes(snapshot(want), snapshot(have), snapshot(want)), diff.Changes(snapshot(want), snapshot(have), snapshot()); len(got) != len(fresh) {
			t.Fatalf("removed although never set before:\n%s", text(got))
		}
		paths := map[string]bool{}
		for _, c := range diff.Changes(snapshot(want), snapshot(have), snapshot(was)) {
			for _, a := range c.Attributes {
				if paths[a.Path] {
					t.Fatalf("%s is reported twice", a.Path)
				}
				paths[a.Path] = true
			}
		}
	})
}
