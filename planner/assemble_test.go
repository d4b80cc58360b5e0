package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

func TestAssembleOrdersThroughStepsWithoutWork(t *testing.T) {
	t.Parallel()
	id := func(phase string) state.Address { return state.Address{Target: state.NodeTarget("a"), Phase: phase} }
	step := func(phase string) planner.Step {
		return planner.Step{ID: id(phase), Phase: phase, Target: state.NodeTarget("a"), Operations: planner.Operations{planner.RemovePods{}}}
	}
	d := planner.Draft{
		Steps: []planner.Step{step("c"), step("a")},
		Edges: map[state.Address][]state.Address{id("c"): {id("b")}, id("b"): {id("a")}},
	}
	p, err := planner.Assemble(planner.Plan{}, nil, nil, d, planner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Steps[0].ID, p.Steps[1].ID, p.Steps[1].Needs); got != "node.a/a node.a/c [node.a/a]" {
		t.Errorf("order and needs are %s", got)
	}
	p, err = planner.Assemble(planner.Plan{}, nil, nil, d, planner.Options{Targets: []planner.Selector{{Phase: "c"}}, SkipPhases: []string{"a"}})
	if err != nil || len(p.Steps) != 1 || len(p.Steps[0].Needs) != 0 {
		t.Errorf("without a: %v, %v", p, err)
	}
	d.Edges[id("a")] = []state.Address{id("c")}
	if _, err := planner.Assemble(planner.Plan{}, nil, nil, d, planner.Options{}); err == nil {
		t.Error("a cycle of steps is accepted, want an error")
	}
}

// TestAssembleExcludesDependentStepsOnly checks that excluding a step also drops the steps that need it, and reports
// them, but not the steps that only wait for their turn: these wait for what the excluded step had
// waited for.
func TestAssembleExcludesDependentStepsOnly(t *testing.T) {
	t.Parallel()
	id := func(node, phase string) state.Address {
		return state.Address{Target: state.NodeTarget(node), Phase: phase}
	}
	d := planner.Draft{Edges: map[state.Address][]state.Address{}, Turns: map[state.Address][]state.Address{}}
	for i, node := range []string{"a", "b", "c"} {
		for _, phase := range []string{"p", "q"} {
			d.Steps = append(d.Steps, planner.Step{ID: id(node, phase), Phase: phase, Target: state.NodeTarget(node), Operations: planner.Operations{planner.RemovePods{}}})
		}
		d.Edges[id(node, "q")] = []state.Address{id(node, "p")}
		if i > 0 {
			d.Turns[id(node, "p")] = []state.Address{id(string(rune('a'+i-1)), "q")}
		}
	}
	for _, test := range []struct {
		name, want string
		options    planner.Options
	}{
		{"everything", "a/p[] a/q[a/p] b/p[a/q] b/q[b/p] c/p[b/q] c/q[c/p]; []", planner.Options{}},
		{"without a node", "a/p[] a/q[a/p] c/p[a/q] c/q[c/p]; []", planner.Options{Excludes: []planner.Selector{{Target: state.NodeTarget("b")}}}},
		{"without a part of a node", "a/p[] a/q[a/p] c/p[a/q] c/q[c/p]; [node.b]", planner.Options{Excludes: []planner.Selector{{Target: state.NodeTarget("b"), Phase: "p"}}}},
		{"without the last part of a node", "a/p[] a/q[a/p] b/p[a/q] c/p[b/p] c/q[c/p]; []", planner.Options{Excludes: []planner.Selector{{Target: state.NodeTarget("b"), Phase: "q"}}}},
		{"one node", "b/p[] b/q[b/p]; []", planner.Options{Targets: []planner.Selector{{Target: state.NodeTarget("b"), Phase: "q"}}}},
	} {
		p, err := planner.Assemble(planner.Plan{}, nil, nil, d, test.options)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		var steps []string
		for _, s := range p.Steps {
			steps = append(steps, fmt.Sprintf("%s%v", s.ID, s.Needs))
		}
		if got := strings.ReplaceAll(strings.Join(steps, " "), "node.", "") + "; " + fmt.Sprint(p.LeftOut); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestAssembleFollowsTransitiveDependencies checks that a target selects everything that it needs, to the start of the
// chain, and that an exclusion drops everything that needs it, to the end.
func TestAssembleFollowsTransitiveDependencies(t *testing.T) {
	t.Parallel()
	d := planner.Draft{Edges: map[state.Address][]state.Address{}}
	for i, node := range []string{"a", "b", "c", "d", "other"} {
		d.Steps = append(d.Steps, planner.Step{ID: state.Address{Target: state.NodeTarget(node), Phase: "p"}, Phase: "p", Target: state.NodeTarget(node), Operations: planner.Operations{planner.RemovePods{}}})
		if i > 0 && node != "other" {
			d.Edges[d.Steps[i].ID] = []state.Address{d.Steps[i-1].ID}
		}
	}
	for _, test := range []struct {
		name, want string
		options    planner.Options
	}{
		{"the end of the chain", "[node.a node.b node.c node.d]", planner.Options{Targets: []planner.Selector{{Target: state.NodeTarget("d")}}}},
		{"its middle", "[node.a node.b node.c]", planner.Options{Targets: []planner.Selector{{Target: state.NodeTarget("c")}}}},
		{"without its begin", "[node.other]", planner.Options{Excludes: []planner.Selector{{Target: state.NodeTarget("a")}}}},
	} {
		p, err := planner.Assemble(planner.Plan{}, nil, nil, d, test.options)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		var got []state.Target
		for _, s := range p.Steps {
			got = append(got, s.Target)
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("%s: got %v, want %s", test.name, got, test.want)
		}
	}
}

// TestAssembleKeepsClosingSteps checks that every partial plan with a step also has the step that closes it.
func TestAssembleKeepsClosingSteps(t *testing.T) {
	t.Parallel()
	at := func(node, phase string) state.Address {
		return state.Address{Target: state.NodeTarget(node), Phase: phase}
	}
	made, gone := at("c", "token"), at("c", "gone")
	serves := map[state.Address]bool{made: true}
	d := planner.Draft{
		Edges:  map[state.Address][]state.Address{at("a", "join"): {made}, at("b", "join"): {made}, gone: {at("a", "join"), at("b", "join")}},
		Closes: map[state.Address][]state.Address{gone: {made}},
	}
	for _, id := range []state.Address{made, at("a", "join"), at("b", "join"), gone, at("c", "other")} {
		d.Steps = append(d.Steps, planner.Step{ID: id, Phase: id.Phase, Target: id.Target, Operations: planner.Operations{planner.RemovePods{}}})
	}
	a, b := planner.Selector{Target: state.NodeTarget("a")}, planner.Selector{Target: state.NodeTarget("b")}
	for _, test := range []struct {
		name, want string
		serves     map[state.Address]bool
		options    planner.Options
	}{
		{"everything", "c/token[] a/join[c/token] b/join[c/token] c/gone[a/join b/join] c/other[]; []", nil, planner.Options{}},
		{"one that joins", "c/token[] a/join[c/token] c/gone[a/join c/token]; []", nil, planner.Options{Targets: []planner.Selector{a}}},
		{"another phase", "c/other[]; []", nil, planner.Options{Targets: []planner.Selector{{Phase: "other"}}}},
		{"without one that joins", "c/token[] a/join[c/token] c/gone[a/join c/token] c/other[]; []", nil, planner.Options{Excludes: []planner.Selector{b}}},
		{"without what it is made for", "c/token[] c/gone[c/token] c/other[]; []", nil, planner.Options{Excludes: []planner.Selector{a, b}}},
		{"without what it alone is made for", "c/other[]; []", serves, planner.Options{Excludes: []planner.Selector{a, b}}},
		{"without one that it alone is made for", "c/token[] a/join[c/token] c/gone[a/join c/token] c/other[]; []", serves, planner.Options{Excludes: []planner.Selector{b}}},
		{"by its name", "c/token[] c/gone[c/token]; []", serves, planner.Options{Targets: []planner.Selector{{Phase: "token"}}}},
		{"without it", "c/other[]; [node.a node.b node.c/gone]", nil, planner.Options{Excludes: []planner.Selector{{Phase: "token"}}}},
		{"without its end", "c/token[] a/join[c/token] b/join[c/token] c/other[]; []", nil, planner.Options{Excludes: []planner.Selector{{Phase: "gone"}}}},
	} {
		d.Serves = test.serves
		p, err := planner.Assemble(planner.Plan{}, nil, nil, d, test.options)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		var steps []string
		for _, s := range p.Steps {
			steps = append(steps, fmt.Sprintf("%s%v", s.ID, s.Needs))
		}
		if got := strings.ReplaceAll(strings.Join(steps, " "), "node.", "") + "; " + fmt.Sprint(p.LeftOut); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestAssembleKeepsServingStepsOnlyIfNeeded checks that a partial plan has a serving step only with a step that needs it,
// or when its phase is selected by name.
func TestAssembleKeepsServingStepsOnlyIfNeeded(t *testing.T) {
	t.Parallel()
	at := func(node, phase string) state.Address {
		return state.Address{Target: state.NodeTarget(node), Phase: phase}
	}
	copied := at("c", "copy")
	d := planner.Draft{
		Edges:  map[state.Address][]state.Address{at("a", "leave"): {copied}, at("b", "leave"): {copied}},
		Serves: map[state.Address]bool{copied: true},
	}
	for _, id := range []state.Address{copied, at("a", "leave"), at("b", "leave"), at("c", "other")} {
		d.Steps = append(d.Steps, planner.Step{ID: id, Phase: id.Phase, Target: id.Target, Operations: planner.Operations{planner.RemovePods{}}})
	}
	a, b, c := planner.Selector{Target: state.NodeTarget("a")}, planner.Selector{Target: state.NodeTarget("b")}, planner.Selector{Target: state.NodeTarget("c")}
	for _, test := range []struct {
		name, want string
		options    planner.Options
	}{
		{"everything", "c/copy a/leave b/leave c/other; []", planner.Options{}},
		{"without one", "c/copy a/leave c/other; []", planner.Options{Excludes: []planner.Selector{b}}},
		{"without both", "c/other; []", planner.Options{Excludes: []planner.Selector{a, b}}},
		{"without their phase", "c/other; []", planner.Options{SkipPhases: []string{"leave"}}},
		{"where it is", "c/other; []", planner.Options{Targets: []planner.Selector{c}}},
		{"by its name", "c/copy; []", planner.Options{Targets: []planner.Selector{{Phase: "copy"}}}},
	} {
		p, err := planner.Assemble(planner.Plan{}, nil, nil, d, test.options)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		var steps []string
		for _, s := range p.Steps {
			steps = append(steps, s.ID.String())
		}
		if got := strings.ReplaceAll(strings.Join(steps, " "), "node.", "") + "; " + fmt.Sprint(p.LeftOut); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

func TestAssemblePartialPlan(t *testing.T) {
	t.Parallel()
	at := func(node, phase, item string) state.Address {
		return state.Address{Target: state.NodeTarget(node), Phase: phase, Item: item}
	}
	var d planner.Draft
	var changes, drift []planner.Change
	for _, node := range []string{"a", "b"} {
		for _, phase := range []string{"p", "q"} {
			d.Steps = append(d.Steps, planner.Step{ID: at(node, phase, ""), Phase: phase, Target: state.NodeTarget(node), Operations: planner.Operations{planner.RemovePods{}}})
			changes = append(changes, planner.Change{Address: at(node, phase, "file:/x"), Action: planner.Update})
			drift = append(drift, planner.Change{Address: at(node, phase, "file:/x"), Action: planner.Update})
		}
		d.Resources = append(d.Resources, planner.ResourceChange{Target: state.NodeTarget(node), Action: planner.Update})
	}
	gone := planner.Change{Address: at("a", "p", "file:/gone"), Action: planner.Forget}
	changes, drift = append(changes, gone), append(drift, planner.Change{Address: gone.Address, Action: planner.Delete})
	for _, test := range []struct {
		name    string
		options planner.Options
		want    string
	}{
		{"everything", planner.Options{}, "a/p a/q b/p b/q"},
		{"a node", planner.Options{Targets: []planner.Selector{{Target: state.NodeTarget("a")}}}, "a/p a/q"},
		{"a phase", planner.Options{Targets: []planner.Selector{{Phase: "q"}}}, "a/q b/q"},
		{"a phase of a node", planner.Options{Targets: []planner.Selector{{Target: state.NodeTarget("b"), Phase: "p"}}}, "b/p"},
		{"without a phase", planner.Options{SkipPhases: []string{"p"}}, "a/q b/q"},
		{"without what was selected", planner.Options{Targets: []planner.Selector{{Phase: "q"}}, SkipPhases: []string{"q"}}, ""},
	} {
		p, err := planner.Assemble(planner.Plan{}, changes, drift, d, test.options)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		var steps []string
		for _, s := range p.Steps {
			steps = append(steps, s.Target.Name+"/"+s.Phase)
		}
		if got := strings.Join(steps, " "); got != test.want {
			t.Errorf("%s: steps %s, want %s", test.name, got, test.want)
		}
		for what, list := range map[string][]planner.Change{"changes": p.Changes, "drift": p.Drift} {
			var got []string
			for _, c := range list {
				got = append(got, c.Address.Target.Name+"/"+c.Address.Phase)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%s: %s of %v, want %s", test.name, what, got, test.want)
			}
		}
		if len(p.Forgotten) != 1 || p.Forgotten[0] != gone.Address {
			t.Errorf("%s: forgotten are %v", test.name, p.Forgotten)
		}
		if restricted := len(test.options.Targets)+len(test.options.SkipPhases) > 0; p.Restricted() != restricted {
			t.Errorf("%s: restricted is %t", test.name, p.Restricted())
		}
	}
}

// TestAssembleMarksDriftAsChangedOutside checks that attributes with drift are marked as changed outside of
// kubewright, at the waypoint that observes the drifted value.
func TestAssembleMarksDriftAsChangedOutside(t *testing.T) {
	t.Parallel()
	at := func(waypoint string) state.Address {
		return state.Address{Target: state.NodeTarget("a"), Phase: "p", Waypoint: waypoint, Item: "file:/x"}
	}
	change := func(path, before, after string) planner.AttributeChange {
		return planner.AttributeChange{Path: path, Before: state.String(before), After: state.String(after)}
	}
	var d planner.Draft
	for _, w := range []string{"", "1.36"} {
		d.Steps = append(d.Steps, planner.Step{ID: at(w).Step(), Phase: "p", Target: state.NodeTarget("a"), Operations: planner.Operations{planner.RemovePods{}}})
	}
	changes := []planner.Change{
		{Address: at(""), Action: planner.Update, Reason: planner.ReasonConfigured, Attributes: []planner.AttributeChange{
			change("image", "1.37", "1.38"), change("args.v", "9", "2"), change("args.vv", "1", "2"), change("list", "[a b]", "[a b c]"),
		}},
		{Address: at("1.36"), Action: planner.Update, Reason: planner.ReasonConfigured, Attributes: []planner.AttributeChange{change("image", "latest", "1.37")}},
	}
	drift := []planner.Change{{Address: at(""), Action: planner.Update, Attributes: []planner.AttributeChange{
		change("args.v", "2", "9"), change("image", "1.36", "latest"), change("list.1", "d", "b"), change("other", "1", "2"),
	}}}
	p, err := planner.Assemble(planner.Plan{}, changes, drift, d, planner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range p.Changes {
		for _, a := range c.Attributes {
			if a.Outside {
				got = append(got, c.Address.Waypoint+" "+a.Path)
			}
		}
	}
	if want := " args.v; list;1.36 image"; strings.Join(got, ";") != want {
		t.Errorf("marked are %q, want %q", strings.Join(got, ";"), want)
	}
	if changes[1].Attributes[0].Outside {
		t.Error("Assemble modified its input")
	}
}
