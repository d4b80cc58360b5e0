package export_test

import (
	"io"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/export"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
)

func TestGraphFormats(t *testing.T) {
	for _, format := range []string{"dot", "mermaid", "json"} {
		viewtest.Golden(t, "graph."+format, viewtest.Printed(t, func(w io.Writer) error { return export.Graph(w, viewtest.ExamplePlan(), format, ui.Options{}) }))
	}
	page := viewtest.Printed(t, func(w io.Writer) error { return export.Graph(w, viewtest.ExamplePlan(), "html", ui.Options{}) })
	if got, want := strings.Count(page, `<a class="step"`), len(viewtest.ExamplePlan().Steps); got != want {
		t.Errorf("the page draws %d steps, want %d", got, want)
	}
	if strings.Contains(page, "<details") || strings.Contains(page, `href="#`) || !strings.Contains(page, "<title>kubewright graph prod: Plan: 0 to add, 4 to change, 1 to destroy.</title>") {
		t.Error("the page of the graph has changes, or links that lead nowhere, or another title")
	}
	page = viewtest.Printed(t, func(w io.Writer) error { return export.Graph(w, &planner.Plan{}, "html", ui.Options{}) })
	if !strings.Contains(page, "There is no step to draw.") {
		t.Error("the page of an empty plan does not say so")
	}
	if err := export.Graph(io.Discard, viewtest.ExamplePlan(), "svg", ui.Options{}); err == nil {
		t.Error("the unknown format svg is accepted")
	}
}
