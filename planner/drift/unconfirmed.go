package drift

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// What an apply has begun, and nobody has seen to be done, is its own doing: the state
// does not say what came of it.

// unconfirmed tells of an item whether steps that nobody has seen to be done may have
// changed it. A step that changes etcd stops the API server by taking its manifest away.
func unconfirmed(v *topology.Fleet) func(state.Address) bool {
	var begun []state.Address
	if v.Recorded != nil {
		for _, text := range v.Recorded.Unseen {
			if a, err := state.ParseAddress(text); err == nil {
				begun = append(begun, a)
			}
		}
	}
	return unconfirmedBy(begun)
}

// unconfirmedBy tells of an item whether steps may have changed it.
func unconfirmedBy(begun []state.Address) func(state.Address) bool {
	touched := Touched(begun)
	return func(a state.Address) bool {
		return touched(a) || a.Phase == topology.ControlPlanePhase && touched(topology.StepAddress(a.Target, topology.EtcdPhase))
	}
}

// StepsSeenDone returns the steps that nobody had seen to be done and of which by now everything is
// as it is wanted. Of what could not be observed nobody knows. What skip_phases leaves out
// differs for as long as it does, and what is only forgotten does not: neither has to do
// with what was begun.
func StepsSeenDone(v *topology.Fleet, r topology.Result) []string {
	if v.Recorded == nil || len(v.Recorded.Unseen) == 0 {
		return nil
	}
	dark := map[state.Target]bool{}
	for _, u := range r.Observed.Unobserved {
		dark[u.Target] = true
	}
	due := map[state.Target][]state.Address{}
	for a := range r.Due {
		if !slices.Contains(r.Plan.Forgotten, a) {
			due[a.Target] = append(due[a.Target], a)
		}
	}
	var out []string
	for _, text := range v.Recorded.Unseen {
		a, err := state.ParseAddress(text)
		if err != nil || !dark[a.Target] && !slices.ContainsFunc(due[a.Target], unconfirmedBy([]state.Address{a})) {
			out = append(out, text)
		}
	}
	return out
}

// interruptedSteps returns the steps that an interrupted apply was executing and of which
// something is still open, and those of the nodes that the state knows by name alone,
// because the last write was lost.
func interruptedSteps(v *topology.Fleet, desired, observed *state.Snapshot, open map[state.Address]bool) []state.Address {
	if v.Recorded == nil {
		return nil
	}
	var out []state.Address
	own := unconfirmed(v)
	for _, c := range changed(v, desired, observed) {
		if own(c.Address) && open[c.Address] {
			out = append(out, c.Address.Step())
		}
	}
	written := map[state.Target]bool{}
	for i := range v.RecordedItems.Items {
		written[v.RecordedItems.Items[i].Address.Target] = true
	}
	for t := range v.Recorded.Nodes {
		if !written[t] {
			out = append(out, state.Address{Target: t})
		}
	}
	slices.SortFunc(out, state.Address.Compare)
	return slices.Compact(out)
}

// MarkUnconfirmed gives changes of what such steps have left in their midst their reason.
func MarkUnconfirmed(v *topology.Fleet, changes []planner.Change) []planner.Change {
	own := unconfirmed(v)
	for i := range changes {
		if c := &changes[i]; c.Reason == planner.ReasonDrift && own(c.Address) {
			c.Reason = planner.ReasonIncomplete
		}
	}
	return changes
}
