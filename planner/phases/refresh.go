package phases

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// refresh is the plan that changes no host: it says what was changed outside.
func (v *View) refresh(header planner.Plan, desired, observed *state.Snapshot) Result {
	header.RefreshOnly, header.Moved = true, v.Moved
	drift := planner.Drift(observed, v.recorded)
	header.Drift = slices.DeleteFunc(drift, func(c planner.Change) bool { return v.forgets(c.Address.Target) })
	v.scrub(header.Drift)
	for _, u := range v.Unobserved {
		header.Withheld = append(header.Withheld, u)
	}
	slices.SortFunc(header.Withheld, func(a, b state.Unobserved) int { return compareTargets(a.Target, b.Target) })
	return Result{Plan: &header, Desired: desired, Observed: observed}
}

// Refreshed is what the state learns of a refresh-only plan: what drifted, as it is.
func Refreshed(r Result) state.Learned {
	var l state.Learned
	for _, c := range r.Plan.Drift {
		if it := r.Observed.Find(c.Address); it != nil && c.Action != planner.Delete {
			l.Items = append(l.Items, *it)
		} else {
			l.Gone = append(l.Gone, c.Address)
		}
	}
	return l
}
