package testrun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/apply"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/planner"
)

// outcome is what a command has planned and reported.
type outcome struct {
	// plan is what it has planned; nil if it was refused.
	plan *planner.Plan
	// findings are all that it has reported.
	findings diag.Diagnostics
}

// command runs the command of a run. An error is no result: it was interrupted.
func (b *bench) command(ctx context.Context, run *hclconfig.TestRun) (outcome, error) {
	var out bytes.Buffer
	w := b.workspace(&out)
	o := session.Options{Vars: b.options.Vars, Destroy: run.Command == "destroy", JSON: true, Parallelism: b.options.Parallelism, Test: run}
	var s *session.Session
	var err error
	if run.Command == "plan" {
		if s, err = session.Open(ctx, w, o, ""); err == nil {
			err = s.Plan(ctx)
			s.Close()
		}
	} else {
		err = apply.CarryOut(ctx, w, o, apply.Approval{Auto: true}, run.Command, func(opened *session.Session) { s = opened })
	}
	if err != nil && interrupted(ctx, err) {
		return outcome{}, err
	}
	var got outcome
	if s != nil {
		b.last, got.plan = s, s.Result.Plan
	}
	got.findings = append(reported(out.Bytes()), failures(err)...)
	if err != nil && !got.findings.HasErrors() {
		got.findings = append(got.findings, diag.Errorf("Command failed", "The command ended with %s, and reported no error.", err).At(run.Source))
	}
	return got, nil
}

// reported returns the findings among JSON lines.
func reported(lines []byte) diag.Diagnostics {
	var out diag.Diagnostics
	for line := range bytes.Lines(lines) {
		var l struct {
			Type       string    `json:"type"`
			Diagnostic diag.JSON `json:"diagnostic"`
		}
		if json.Unmarshal(line, &l) == nil && l.Type == "diagnostic" {
			out = append(out, l.Diagnostic.Diagnostic())
		}
	}
	return out
}

// failures returns the findings of an error. Those of an exit code are printed already.
func failures(err error) diag.Diagnostics {
	var found *console.FindingsError
	switch {
	case err == nil, errors.As(err, new(console.Exit)):
		return nil
	case errors.As(err, &found):
		return found.List
	}
	return diag.Diagnostics{console.Finding(err)}
}

// compare returns the errors that a run does not expect, and the findings that it misses.
func (d outcome) compare(run *hclconfig.TestRun) (unexpected, missing diag.Diagnostics) {
	var titles []string
	for _, f := range d.findings {
		titles = append(titles, f.Summary)
		if f.Severity == diag.Error && !slices.Contains(run.Expected, f.Summary) {
			unexpected = append(unexpected, f)
		}
	}
	for _, title := range run.Expected {
		if slices.Contains(titles, title) {
			continue
		}
		instead := "It reported nothing."
		if len(titles) > 0 {
			instead = fmt.Sprintf("It reported: %s.", strings.Join(titles, "; "))
		}
		missing = append(missing, diag.Errorf("Expected finding is missing", "The %s of this run should report %q, and does not. %s", run.Command, title, instead).At(run.ExpectedAt))
	}
	return unexpected, missing
}
