package cli

import (
	"slices"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/rotation"
)

// changesCode returns what -detailed-exitcode says of a plan. That there is nothing to do
// nobody knows who could not look at all of it.
func changesCode(s *session.Session) int {
	p := s.Result.Plan
	switch {
	case s.OutputsChange(), !p.RefreshOnly && len(ownership.Unremembered(s.Observed)) > 0:
		return console.ExitChanges
	case p.Empty() && len(p.Withheld) > 0:
		return console.ExitUnreachable
	case p.Empty():
		return console.ExitOK
	case onlyDrift(p):
		return console.ExitDrift
	}
	return console.ExitChanges
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
