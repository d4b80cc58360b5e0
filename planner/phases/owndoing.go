package phases

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// What an apply has begun that did not come to its end is its own doing, also where the
// state does not say what came of it: the operator's machine stopped, or a host went off
// before the look at all hosts that ends an apply.

// ownDoing tells of an item whether applies that did not come to their end may have
// changed it. A step that changes etcd stops the API server by taking its manifest away.
func (v *View) ownDoing() func(state.Address) bool {
	var begun []state.Address
	if v.Recorded != nil {
		for _, text := range v.Recorded.Begun() {
			if a, err := state.ParseAddress(text); err == nil {
				begun = append(begun, a)
			}
		}
	}
	touched := Touched(begun)
	return func(a state.Address) bool {
		return touched(a) || a.Phase == controlPlanePhase && touched(step(a.Target, etcdPhase))
	}
}

// withoutOwn drops of what has changed since the last apply that came to its end what
// one may have done that did not. Of what is not as it is wanted the changes of the plan
// speak; a refresh-only plan has none, and names that still.
func (v *View) withoutOwn(drift []planner.Change, desired, observed *state.Snapshot) []planner.Change {
	own := v.ownDoing()
	if !slices.ContainsFunc(drift, func(c planner.Change) bool { return own(c.Address) }) {
		return drift
	}
	var open map[state.Address]bool
	if v.RefreshOnly {
		open = addressesOf(planner.Diff(desired, observed, v.asLeft(desired)))
	}
	return slices.DeleteFunc(drift, func(c planner.Change) bool { return own(c.Address) && !open[c.Address] })
}

// ofOwn gives changes of what such an apply has left in its midst their reason.
func (v *View) ofOwn(changes []planner.Change) []planner.Change {
	own := v.ownDoing()
	for i := range changes {
		if c := &changes[i]; c.Reason == planner.ReasonDrift && own(c.Address) {
			c.Reason = planner.ReasonIncomplete
		}
	}
	return changes
}
