package planview_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

func TestPrompts(t *testing.T) {
	var b strings.Builder
	o := ui.Options{Width: 80}
	for _, print := range []func() error{
		func() error { return ui.Prompt(&b, "yes", false, o) },
		func() error { return ui.Cancelled(&b, false, o) },
		func() error { return ui.Prompt(&b, "prod", true, o) },
		func() error { return ui.Cancelled(&b, true, o) },
		func() error { return planview.Saved(&b, "", viewtest.UpdatePlan(), o) },
		func() error { return planview.Saved(&b, "tfplan", viewtest.UpdatePlan(), o) },
		func() error { return ui.Valid(&b, o) },
	} {
		if err := print(); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n=====\n")
	}
	viewtest.Golden(t, "messages.txt", b.String())
}

// TestPlanLarge prints a plan in which many nodes are upgraded one by one.
func TestPlanLarge(t *testing.T) {
	var m viewtest.Maker
	m.Limits = map[string]int{"drain": 1}
	for i := range 200 {
		target := state.NodeKeyTarget("worker", fmt.Sprintf("w%03d", i))
		m.Resources = append(m.Resources, planner.ResourceChange{Target: target, Action: planner.Update})
		m.AddChange(target, "kubelet-start", "binary:/usr/bin/kubelet", state.KindBinary, planner.Update, viewtest.Attributes("version", "1.35.8", "1.36.3"))
		a := m.AddStep(target, "images", planner.Update, "", nil, planner.LoadImage{})
		b := m.AddStep(target, "drain", planner.Update, "evicts its pods", []state.Address{a}, planner.Drain{})
		m.Steps[len(m.Steps)-1].Limits = []string{"drain"}
		m.AddStep(target, "kubelet-start", planner.Update, "", []state.Address{b}, planner.Unit{})
		m.Steps[len(m.Steps)-1].Limits = []string{"drain"}
	}
	began := time.Now()
	got := viewtest.Render(t, &m.Plan, ui.Options{})
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("printing took %v", d)
	}
	viewtest.Golden(t, "large.txt", got)
	if n := strings.Count(got, "\n"); n > 300 {
		t.Errorf("the plan is %d lines long:\n%s", n, got)
	}
}

func TestPlan(t *testing.T) {
	for name := range viewtest.Plans {
		t.Run(name, func(t *testing.T) {
			plan := viewtest.Load(t, name)
			for _, width := range []int{80, 120} {
				o := ui.Options{Width: width}
				if name == "create" {
					o.Recorded.Durations = viewtest.Durations()
				}
				viewtest.Golden(t, name+"."+map[int]string{80: "80", 120: "120"}[width]+".txt", viewtest.Render(t, plan, o))
			}
			viewtest.Golden(t, name+".color.txt", viewtest.Visible(viewtest.Render(t, plan, ui.Options{Width: 80, Color: true})))
			if name == "update" || name == "create" {
				viewtest.Golden(t, name+".full.txt", viewtest.Render(t, plan, ui.Options{Width: 120, Full: true}))
			}
		})
	}
}

func TestPlanOutputs(t *testing.T) {
	plan := viewtest.EmptyPlan()
	plan.Outputs = map[string]state.Value{"endpoint": state.String("b:6443"), "same": state.Int(1)}
	prior := map[string]state.Value{"endpoint": state.String("a:6443"), "same": state.Int(1), "gone": state.Bool(true)}
	viewtest.Golden(t, "outputs.txt", viewtest.Render(t, plan, ui.Options{Recorded: ui.Recorded{Outputs: prior}}))
	viewtest.Golden(t, "refresh-only.txt", viewtest.Render(t, viewtest.DriftPlan(), ui.Options{RefreshOnly: true}))
}

// TestPlanIsDeterministic prints a plan many times: nothing may depend on the order of a map.
func TestPlanIsDeterministic(t *testing.T) {
	plan := viewtest.CreatePlan()
	want := viewtest.Render(t, plan, ui.Options{})
	for range 20 {
		if got := viewtest.Render(t, plan, ui.Options{}); got != want {
			t.Fatalf("two prints of one plan differ:\n%s\n%s", got, want)
		}
	}
}

// TestRareSentencesPlanview checks sentences that are rarely printed.
func TestRareSentencesPlanview(t *testing.T) {
	t.Parallel()
	o := ui.Options{Width: 400, Recorded: ui.Recorded{Durations: map[string]float64{"certs/update": 12}}}
	renewed := func(w io.Writer) error {
		p := viewtest.UpdatePlan()
		p.Certificates[0].Changed = true
		full := o
		full.Full = true
		return planview.Print(w, p, full)
	}
	viewtest.CheckSentences(t, map[string]viewtest.Sentences{
		"certificates that a plan renews": viewtest.Shows(renewed, "  replaces or removes it\n"),
	})
}
