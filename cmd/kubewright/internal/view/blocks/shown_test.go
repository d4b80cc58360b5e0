package blocks_test

import (
	"io"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/export"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestDifferingNewNodesAreShown checks that a plan never says that a new node is
// like another one if any value of any new item differs: it changes every attribute of the last
// control plane and of the last worker, one at a time, and expects the value on the screen.
func TestDifferingNewNodesAreShown(t *testing.T) {
	forms := map[string]func(p *planner.Plan) string{
		"text": func(p *planner.Plan) string {
			return viewtest.Printed(t, func(w io.Writer) error { return planview.Print(w, p, ui.Options{}) })
		},
		"markdown": func(p *planner.Plan) string {
			return viewtest.Printed(t, func(w io.Writer) error {
				return export.PlanAs(w, p, "markdown", ui.Options{Recorded: viewtest.Recorded()})
			})
		},
	}
	changed := 0
	for i, c := range viewtest.CreatePlan().Changes {
		last := c.Address.Target == viewtest.Planes[2] || c.Address.Target == viewtest.Workers[len(viewtest.Workers)-1]
		if !last || c.Action != planner.Create {
			continue
		}
		for k, a := range c.Attributes {
			if a.After.Kind() == state.KindPending {
				continue // known only after the apply
			}
			changed++
			plan := viewtest.CreatePlan()
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
