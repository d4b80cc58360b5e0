package console

import (
	"fmt"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/jsonlines"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/progress"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/runreport"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/schedule"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/stateview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
)

// screen shows a run: text for people, or with -json lines for programs.
type screen interface {
	// Diagnostics shows findings.
	Diagnostics(diag.Diagnostics)
	// Plan shows a plan; the options have the recorded values.
	Plan(p *planner.Plan, o ui.Options) error
	// Saved shows where a plan was saved; path is empty if it was not.
	Saved(path string, p *planner.Plan) error
	// Progress shows a run of the plan in progress.
	Progress(*planner.Plan, ui.Options) progress.Display
	// Complete ends a complete apply; the outcome is nil if no step ran.
	Complete(*planner.Plan, *executor.Outcome) error
	// Incomplete ends an apply that failed or was stopped.
	Incomplete(*planner.Plan, *executor.Outcome) error
	// Note shows what happens while nothing else is shown.
	Note(text string)
	// NotConverged warns that a plan right after an apply still finds differences.
	NotConverged(*planner.Plan) error
}

// Screen returns the screen that -json selects; with -json-into the lines also go to a file.
func (c *Console) Screen() screen {
	var shown screen = textScreen{c}
	if c.Lines != nil {
		shown = jsonScreen{c, c.Lines}
	}
	if c.Into == nil {
		return shown
	}
	return bothScreens{shown, jsonScreen{c, c.Into.Lines}}
}

// textScreen prints results to stdout and errors to stderr.
type textScreen struct{ *Console }

func (s textScreen) Diagnostics(list diag.Diagnostics) {
	w, o := s.Stdout, s.Options()
	if list.HasErrors() || s.QuietStdout {
		w, o = s.Stderr, s.ErrorOptions()
	}
	_ = ui.Diagnostics(w, list, o, s.Sources)
}

func (s textScreen) Plan(p *planner.Plan, o ui.Options) error { return planview.Print(s.Stdout, p, o) }

func (s textScreen) Saved(path string, p *planner.Plan) error {
	return planview.Saved(s.Stdout, path, p, s.Options())
}

func (s textScreen) Progress(p *planner.Plan, o ui.Options) progress.Display {
	fmt.Fprintln(s.Stdout) // an empty line below the plan, or the answer
	return progress.New(s.Stdout, schedule.WithForecast(p, o), s.Redraws())
}

func (s textScreen) Complete(p *planner.Plan, o *executor.Outcome) error {
	if err := runreport.Complete(s.Stdout, p, o, s.Options()); err != nil {
		return err
	}
	return stateview.Outputs(s.Stdout, p.Outputs, s.Options())
}

func (s textScreen) Incomplete(p *planner.Plan, o *executor.Outcome) error {
	return runreport.Incomplete(s.Stderr, p, o, s.ErrorOptions())
}

func (s textScreen) Note(text string) { _ = ui.Note(s.Stdout, text, s.Options()) }

func (s textScreen) NotConverged(p *planner.Plan) error {
	return runreport.NotConverged(s.Stderr, p, s.ErrorOptions())
}

// jsonScreen prints everything as one object per line.
type jsonScreen struct {
	*Console
	lines *jsonlines.Stream
}

func (s jsonScreen) Diagnostics(list diag.Diagnostics) { s.lines.Diagnostics(list, s.Sources) }

func (s jsonScreen) Plan(p *planner.Plan, o ui.Options) error { return s.lines.Plan(p, o) }

// The line of the plan has its digest.
func (s jsonScreen) Saved(string, *planner.Plan) error { return nil }

func (s jsonScreen) Progress(*planner.Plan, ui.Options) progress.Display {
	return progress.Display{Renderer: s.lines}
}

func (s jsonScreen) Complete(p *planner.Plan, o *executor.Outcome) error {
	return s.lines.Complete(p, o)
}

func (s jsonScreen) Incomplete(p *planner.Plan, o *executor.Outcome) error {
	return s.lines.Incomplete(p, o, s.Options())
}

func (s jsonScreen) Note(text string) { s.lines.Note(text) }

func (s jsonScreen) NotConverged(p *planner.Plan) error { return s.lines.NotConverged(p) }
