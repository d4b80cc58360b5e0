package console

import (
	"errors"
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/engine"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
)

// Exit codes. 2 to 6 are used only with -detailed-exitcode, and 3 also by fmt -check, as in
// Terraform; 7 only by certificates, 8 only by status; 9 by plan only with -detailed-exitcode.
const (
	ExitOK      = 0
	ExitError   = 1
	ExitChanges = 2
	// ExitDrift: the plan changes only what was changed outside.
	ExitDrift = 3
	// exitRefused: a policy or a gate refused the plan or a step, or something has changed
	// since the plan was made.
	exitRefused = 4
	// exitLocked: another run holds the state or the cluster.
	exitLocked = 5
	// ExitUnreachable: a host does not answer.
	ExitUnreachable = 6
	// ExitRenewal: a certificate has to be renewed.
	ExitRenewal = 7
	// ExitProblem: a status shows something that does not work.
	ExitProblem = 8
	// ExitWithheld: all is done except for what waits for hosts that do not answer.
	ExitWithheld    = 9
	ExitUnformatted = 3
	ExitInterrupted = 130
)

// finerCode returns the exit code of an error that needs another reaction: wait, check a host,
// or think.
func finerCode(err error) int {
	var diags *FindingsError
	switch {
	case errors.As(err, &diags):
		return findingsCode(diags.List.Errors())
	case errors.Is(err, statefile.ErrLocked), errors.Is(err, backend.ErrLost), errors.Is(err, providers.ErrHeld), errors.Is(err, providers.ErrSuperseded):
		return exitLocked
	case errors.As(err, new(*engine.GateError)), errors.Is(err, providers.ErrMoved):
		return exitRefused
	case errors.Is(err, providers.ErrUnreachable):
		return ExitUnreachable
	}
	return ExitError
}

// findingsCode returns the exit code of a plan that was not made: the code for an unreachable
// host counts if nothing else has to be corrected.
func findingsCode(list diag.Diagnostics) int {
	not := func(is func(*diag.Diagnostic) bool) func(*diag.Diagnostic) bool {
		return func(d *diag.Diagnostic) bool { return !is(d) }
	}
	switch {
	case len(list) == 0:
		return ExitError
	case !slices.ContainsFunc(list, not(pipeline.Unreachable)):
		return ExitUnreachable
	case !slices.ContainsFunc(list, not(refused)):
		return exitRefused
	}
	return ExitError
}

// refused reports whether a gate or a policy refuses a plan, or whether it is not the one that
// was approved or saved, because something has changed since.
func refused(d *diag.Diagnostic) bool {
	return etcd.Refused(d) || slices.Contains([]string{PolicyRefuses, PlanIsStale, AnotherPlan, NotAuthentic, NotApproved}, d.Summary)
}

// OutcomeCode returns the exit code of an incomplete run: the code of the first failure that
// has one of its own.
func (c *Console) OutcomeCode(outcome *executor.Outcome) int {
	if !c.Finer {
		return ExitError
	}
	for _, s := range outcome.Steps {
		if s.Err != nil && finerCode(s.Err) != ExitError {
			return finerCode(s.Err)
		}
	}
	return ExitError
}
