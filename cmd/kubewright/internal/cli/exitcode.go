package cli

import (
	"errors"
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
)

// Exit codes. Those from 2 to 6 are used with -detailed-exitcode alone, and 3 by
// fmt -check as well, as Terraform has it.
const (
	exitOK      = 0
	exitError   = 1
	exitChanges = 2
	// exitDrift: all that the plan changes was changed outside.
	exitDrift = 3
	// exitRefused: a plan or a step was refused, by a policy, by a gate, or because
	// something has changed since the plan was made.
	exitRefused = 4
	// exitLocked: another run holds the state or the cluster.
	exitLocked = 5
	// exitUnreachable: a host does not answer.
	exitUnreachable = 6
	exitUnformatted = 3
	exitInterrupted = 130
)

// gateError is a step that a gate has refused: before anything of it was done or, where
// it was looked at again within the step, before what it guards was.
type gateError struct{ err error }

func (e *gateError) Error() string { return e.err.Error() }
func (e *gateError) Unwrap() error { return e.err }

// finerCode tells the errors apart that somebody may want to deal with in
// different ways: to wait, to look at a host, or to think.
func finerCode(err error) int {
	var diags *diagError
	switch {
	case errors.As(err, &diags):
		return findingsCode(diags.list.Errors())
	case errors.Is(err, statefile.ErrLocked), errors.Is(err, backend.ErrLost), errors.Is(err, providers.ErrHeld), errors.Is(err, providers.ErrSuperseded):
		return exitLocked
	case errors.As(err, new(*gateError)), errors.Is(err, providers.ErrMoved):
		return exitRefused
	case errors.Is(err, providers.ErrUnreachable):
		return exitUnreachable
	}
	return exitError
}

// findingsCode returns that of a plan which was not made: a host that does not answer
// counts when there is nothing else to be put right.
func findingsCode(list diag.Diagnostics) int {
	not := func(is func(*diag.Diagnostic) bool) func(*diag.Diagnostic) bool {
		return func(d *diag.Diagnostic) bool { return !is(d) }
	}
	switch {
	case len(list) == 0:
		return exitError
	case !slices.ContainsFunc(list, not(pipeline.Unreachable)):
		return exitUnreachable
	case !slices.ContainsFunc(list, not(refused)):
		return exitRefused
	}
	return exitError
}

// refused reports whether a gate or a policy refuses a plan, or that it is not the one
// which was approved or saved, because something has changed since.
func refused(d *diag.Diagnostic) bool {
	return etcd.Refused(d) || slices.Contains([]string{policyRefuses, planIsStale, anotherPlan, notAuthentic, notApproved}, d.Summary)
}

// outcomeCode returns the exit code of a run of which something is left to do: that
// of the first failure which has one of its own.
func (c *console) outcomeCode(outcome *executor.Outcome) int {
	if !c.finer {
		return exitError
	}
	for _, s := range outcome.Steps {
		if s.Err != nil && finerCode(s.Err) != exitError {
			return finerCode(s.Err)
		}
	}
	return exitError
}

// cutShort reports whether the run was stopped before a step, or within one.
func cutShort(outcome *executor.Outcome) bool {
	return outcome.Stopped || slices.ContainsFunc(outcome.Steps, func(s executor.StepOutcome) bool { return executor.IsCutShort(s.Err) })
}

// whole is the end of an apply that went well. With -detailed-exitcode it tells where
// something was left alone because nobody could look at it.
func (s *applying) whole(err error) error {
	if err == nil && s.finer && len(s.result.Plan.Withheld) > 0 {
		return exit(exitUnreachable)
	}
	return err
}

// changesCode returns what -detailed-exitcode says of a plan. That there is nothing to do
// nobody knows who could not look at all of it.
func (s *session) changesCode() int {
	p := s.result.Plan
	switch {
	case s.outputsChange(), !p.RefreshOnly && len(ownership.Unremembered(s.view)) > 0:
		return exitChanges
	case p.Empty() && len(p.Withheld) > 0:
		return exitUnreachable
	case p.Empty():
		return exitOK
	case onlyDrift(p):
		return exitDrift
	}
	return exitChanges
}

// onlyDrift reports whether a plan does nothing but deal with what was changed outside.
func onlyDrift(p *planner.Plan) bool {
	if p.RefreshOnly {
		return len(p.Moved) == 0
	}
	if _, _, destroy := p.Counts(); destroy > 0 {
		return false // who leaves has steps and no changes
	}
	if slices.ContainsFunc(p.Steps, rotation.OfRotation) {
		return false // what brings files that are no items has steps and no changes either
	}
	return len(p.Changes) > 0 && len(p.Moved) == 0 &&
		!slices.ContainsFunc(p.Changes, func(c planner.Change) bool { return c.Reason != planner.ReasonDrift })
}
