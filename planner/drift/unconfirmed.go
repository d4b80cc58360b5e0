package drift

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Changes by a step that an apply has begun without confirming it are kubewright's own: the state
// does not record their result.

// unconfirmed returns a function that reports whether unconfirmed steps may have changed an item. A
// step that changes etcd stops the API server by removing its manifest.
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

// unconfirmedBy returns a function that reports whether the begun steps may have changed an item.
func unconfirmedBy(begun []state.Address) func(state.Address) bool {
	touched := Touched(begun)
	return func(a state.Address) bool {
		return touched(a) || a.Phase == topology.ControlPlanePhase && touched(topology.StepAddress(a.Target, topology.EtcdPhase))
	}
}

// StepsSeenDone returns the unconfirmed steps for which everything is now as desired. Targets that
// could not be observed do not count. Items that skip_phases leaves out keep the step unconfirmed,
// as they still differ; items that are only forgotten do not. The start of a kubelet is unconfirmed
// while the plan waits until its node is Ready.
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
		if err != nil || !dark[a.Target] && !awaited(r.Plan, a) && !slices.ContainsFunc(due[a.Target], unconfirmedBy([]state.Address{a})) {
			out = append(out, text)
		}
	}
	return out
}

// awaited reports whether a step has started a kubelet whose node a plan awaits to be Ready.
func awaited(p *planner.Plan, a state.Address) bool {
	return a.Phase == topology.KubeletStartPhase && slices.ContainsFunc(p.Steps, func(s planner.Step) bool {
		return s.Target == a.Target && slices.ContainsFunc(s.Operations, func(op planner.Operation) bool {
			w, ok := op.(planner.Wait)
			return ok && w.For == planner.WaitNodeReady
		})
	})
}

// interruptedSteps returns the steps of an interrupted apply that still have differences, and the
// nodes of which the state has only the name, because the last write was lost.
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
