package export_test

import (
	"io"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/export"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestRareSentencesExport checks sentences that are rarely printed.
func TestRareSentencesExport(t *testing.T) {
	t.Parallel()
	o := ui.Options{Width: 400, Recorded: ui.Recorded{Durations: map[string]float64{"certs/update": 12}}}
	as := func(form string, plan *planner.Plan) func(io.Writer) error {
		return func(w io.Writer) error { return export.PlanAs(w, plan, form, o) }
	}
	twoTexts := func() *planner.Plan {
		var m viewtest.Maker
		m.Resources = append(m.Resources, viewtest.ResourceChange(viewtest.W21, planner.Update, 0))
		m.AddChange(viewtest.W21, "kubelet-start", "file:/etc/motd", state.KindFile, planner.Update, viewtest.Attributes("content", "a\nb", "a\nb\n"))
		m.AddStep(viewtest.W21, "kubelet-start", planner.Update, "", nil, planner.WriteFile{Path: "/etc/motd"})
		return &m.Plan
	}
	partly := func() *planner.Plan {
		p := viewtest.UpdatePlan()
		p.Excluded, p.LeftOut = []string{`node.cp["cp1"]`}, []string{"cluster.prod/upload-config"}
		return p
	}
	viewtest.CheckSentences(t, map[string]viewtest.Sentences{
		"annotations that GitHub would not show": viewtest.Shows(as("github", viewtest.ManyLines(12)), "GitHub shows 10 of a kind.", "lines left out; kubewright show prints all of the plan."),
		"texts that differ in their end":         viewtest.Shows(as("text", twoTexts()), "<<-EOT # only the last line break differs\n"),
		"more steps than boxes":                  viewtest.Shows(as("html", viewtest.ManySteps(241)), "<p>The plan has 241 steps, too many to draw.</p>", "No earlier apply has recorded how long the steps take: the bars show only the order."),
		"more steps than can be put in order":    viewtest.Shows(as("text", viewtest.ManySteps(3001)), "Order: 3001 steps; kubewright graph draws them.\n"),
		"more steps than the drawing takes":      viewtest.Shows(as("html", viewtest.ManySteps(3001)), "<p>The plan has 3001 steps, too many to draw.</p>"),
		"a member that leaves":                   viewtest.Shows(as("text", viewtest.StepOf(planner.RemoveEtcdMember{}, planner.Cordon{Node: "w1"}, planner.SetSysctl{})), "takes it out of etcd, lets no more pods in, puts kernel settings back\n"),
		"nothing to destroy":                     viewtest.Shows(as("text", &planner.Plan{Destroy: true}), "No changes. No objects need to be destroyed.", "Either you have not created anything yet or everything was already destroyed."),
		"a part of a plan":                       viewtest.Shows(as("markdown", partly()), "-exclude=", ", which leaves out the excluded resources and what needs that: cluster.prod/upload-config."),
	})
}
