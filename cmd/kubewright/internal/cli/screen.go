package cli

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

// screen is what a run shows: text for people, or with -json lines for programs.
type screen interface {
	// diagnostics shows findings.
	diagnostics(diag.Diagnostics)
	// plan shows a plan; the options have what the state knows.
	plan(p *planner.Plan, o ui.Options) error
	// saved tells where a plan was saved; path is empty when it was not.
	saved(path string, p *planner.Plan) error
	// progress shows a run of the plan while it goes on.
	progress(*planner.Plan, ui.Options) progress.Display
	// complete ends an apply of which nothing is left to do; the outcome is nil
	// when no step ran.
	complete(*planner.Plan, *executor.Outcome) error
	// incomplete ends an apply that failed or was stopped.
	incomplete(*planner.Plan, *executor.Outcome) error
	// note tells what goes on while nothing else is shown.
	note(text string)
	// notConverged warns that a plan right after an apply still finds differences.
	notConverged(*planner.Plan) error
}

// screen is chosen by -json; with -json-into the lines go to a file as well.
func (a *app) screen() screen {
	var shown screen = textScreen{a}
	if a.lines != nil {
		shown = jsonScreen{a, a.lines}
	}
	if a.into == nil {
		return shown
	}
	return bothScreens{shown, jsonScreen{a, a.into.lines}}
}

// textScreen prints results to stdout and errors to stderr.
type textScreen struct{ *app }

func (s textScreen) diagnostics(list diag.Diagnostics) {
	w, o := s.Stdout, s.options()
	if list.HasErrors() || s.quietStdout {
		w, o = s.Stderr, s.errorOptions()
	}
	_ = ui.Diagnostics(w, list, o, s.sources)
}

func (s textScreen) plan(p *planner.Plan, o ui.Options) error { return planview.Print(s.Stdout, p, o) }

func (s textScreen) saved(path string, p *planner.Plan) error {
	return planview.Saved(s.Stdout, path, p, s.options())
}

func (s textScreen) progress(p *planner.Plan, o ui.Options) progress.Display {
	fmt.Fprintln(s.Stdout) // apart from the plan, or the answer, above
	return progress.New(s.Stdout, schedule.WithForecast(p, o), s.draws())
}

func (s textScreen) complete(p *planner.Plan, o *executor.Outcome) error {
	if err := runreport.Complete(s.Stdout, p, o, s.options()); err != nil {
		return err
	}
	return stateview.Outputs(s.Stdout, p.Outputs, s.options())
}

func (s textScreen) incomplete(p *planner.Plan, o *executor.Outcome) error {
	return runreport.Incomplete(s.Stderr, p, o, s.errorOptions())
}

func (s textScreen) note(text string) { _ = ui.Note(s.Stdout, text, s.options()) }

func (s textScreen) notConverged(p *planner.Plan) error {
	return runreport.NotConverged(s.Stderr, p, s.errorOptions())
}

// jsonScreen prints everything as one object per line.
type jsonScreen struct {
	*app
	lines *jsonlines.Stream
}

func (s jsonScreen) diagnostics(list diag.Diagnostics) { s.lines.Diagnostics(list, s.sources) }

func (s jsonScreen) plan(p *planner.Plan, o ui.Options) error { return s.lines.Plan(p, o) }

// The line of the plan has its digest.
func (s jsonScreen) saved(string, *planner.Plan) error { return nil }

func (s jsonScreen) progress(*planner.Plan, ui.Options) progress.Display {
	return progress.Display{Renderer: s.lines}
}

func (s jsonScreen) complete(p *planner.Plan, o *executor.Outcome) error {
	return s.lines.Complete(p, o)
}

func (s jsonScreen) incomplete(p *planner.Plan, o *executor.Outcome) error {
	return s.lines.Incomplete(p, o, s.options())
}

func (s jsonScreen) note(text string) { s.lines.Note(text) }

func (s jsonScreen) notConverged(p *planner.Plan) error { return s.lines.NotConverged(p) }
