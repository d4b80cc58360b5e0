package view_test

import (
	"io"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// A plan never says that a new node is like another one when any value of any new item
// differs: every attribute of the last control plane and of the last worker is changed,
// one at a time, and has to be on the screen.
func TestNewNodesThatDifferInOneValueAreShown(t *testing.T) {
	forms := map[string]func(p *planner.Plan) string{
		"text": func(p *planner.Plan) string {
			return printed(t, func(w io.Writer) error { return view.Plan(w, p, view.Options{}) })
		},
		"markdown": func(p *planner.Plan) string { return planAs(t, p, "markdown") },
	}
	changed := 0
	for i, c := range createPlan().Changes {
		last := c.Address.Target == planes[2] || c.Address.Target == workers[len(workers)-1]
		if !last || c.Action != planner.Create {
			continue
		}
		for k, a := range c.Attributes {
			if a.After.Kind() == state.KindPending {
				continue // known after the apply alone
			}
			changed++
			plan := createPlan()
			plan.Changes[i].Attributes[k].After = other(a.After)
			for form, print := range forms {
				got := print(plan)
				if !strings.Contains(got, "differing") {
					t.Errorf("%s: %s of %s differs and is not shown:\n%s", form, a.Path, c.Address, got)
				}
			}
		}
	}
	if changed < 50 {
		t.Fatalf("%d values were changed", changed)
	}
}

// other returns a value of the same kind with another content.
func other(v state.Value) state.Value {
	switch v.Kind() {
	case state.KindMap:
		m := map[string]state.Value{}
		for k, x := range v.AsMap() {
			m[k] = x
		}
		m["differing"] = state.String("differing")
		return state.Map(m)
	case state.KindList:
		return state.List(append([]state.Value{state.String("differing")}, v.AsList()...)...)
	case state.KindArgs:
		return state.Args(append([]state.Arg{{Name: "differing", Value: "1"}}, v.AsArgs()...))
	}
	return state.String("differing")
}
