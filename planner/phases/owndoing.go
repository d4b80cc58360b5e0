package phases

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// What an apply has begun, and nobody has seen to be done, is its own doing: the state
// does not say what came of it.

// ownDoing tells of an item whether steps that nobody has seen to be done may have
// changed it. A step that changes etcd stops the API server by taking its manifest away.
func (v *View) ownDoing() func(state.Address) bool {
	var begun []state.Address
	if v.Recorded != nil {
		for _, text := range v.Recorded.Unseen {
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

// withoutOwn drops of what has changed since the last look that ended an apply what such
// steps may have done. Of what is not as it is wanted the changes of the plan
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

// ofOwn gives changes of what such steps have left in their midst their reason.
func (v *View) ofOwn(changes []planner.Change) []planner.Change {
	own := v.ownDoing()
	for i := range changes {
		if c := &changes[i]; c.Reason == planner.ReasonDrift && own(c.Address) {
			c.Reason = planner.ReasonIncomplete
		}
	}
	return changes
}
