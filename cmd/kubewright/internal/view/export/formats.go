package export

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/graph"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planjson"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
)

// planFormats are the forms of a plan by name. All of them are made of the same value, so that
// they cannot disagree.
var planFormats = map[string]func(io.Writer, *planner.Plan, ui.Options) error{
	"text": textPage, "json": planjson.Write, "markdown": markdown, "html": htmlPage, "junit": junit, "github": annotations,
}

// textPage prints the plan as on the terminal, below its warnings.
func textPage(w io.Writer, plan *planner.Plan, o ui.Options) error {
	if err := ui.Diagnostics(w, outline.Warnings(plan), o, nil); err != nil {
		return err
	}
	return planview.Print(w, plan, o)
}

// PlanFormats returns the names of the forms of a plan.
func PlanFormats() []string { return slices.Sorted(maps.Keys(planFormats)) }

// CheckPlanFormat returns an error for a form of a plan that does not exist.
func CheckPlanFormat(format string) error {
	if planFormats[format] == nil {
		return fmt.Errorf("unknown format %q of a plan; use %s", format, ui.CommaList(PlanFormats()))
	}
	return nil
}

// PlanAs prints a plan in one of its forms: text as on the terminal, json as one
// document, markdown for a pull request, html as one page, junit as a report of
// tests, github as annotations of a workflow.
func PlanAs(w io.Writer, plan *planner.Plan, format string, o ui.Options) error {
	if err := CheckPlanFormat(format); err != nil {
		return err
	}
	return planFormats[format](w, plan, o)
}

// graphs are the forms of a graph, by name.
var graphs = map[string]func(io.Writer, *planner.Plan, ui.Options) error{
	"dot":     func(w io.Writer, plan *planner.Plan, _ ui.Options) error { return graph.Dot(w, plan) },
	"mermaid": func(w io.Writer, plan *planner.Plan, _ ui.Options) error { return graph.Mermaid(w, plan) },
	"json":    func(w io.Writer, plan *planner.Plan, _ ui.Options) error { return graph.JSON(w, plan) },
	"html":    graphPage,
}

// GraphFormats returns the names of the forms of a graph.
func GraphFormats() []string { return slices.Sorted(maps.Keys(graphs)) }

// CheckGraphFormat returns an error for a form of a graph that does not exist.
func CheckGraphFormat(format string) error {
	if graphs[format] == nil {
		return fmt.Errorf("unknown format %q of a graph; use %s", format, ui.CommaList(GraphFormats()))
	}
	return nil
}

// Graph prints the steps of a plan and what each waits for: as dot, mermaid, json or a page. Solid
// edges are needs; dashed ones come from a limit of one, in the order of the plan.
func Graph(w io.Writer, plan *planner.Plan, format string, o ui.Options) error {
	if err := CheckGraphFormat(format); err != nil {
		return err
	}
	return graphs[format](w, plan, o)
}
