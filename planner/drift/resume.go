package drift

import (
	"slices"

	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// An interrupted saved plan continues where it stopped: it is rebuilt from the observation, and has
// to be the rest of the saved plan. The journal records the steps that were begun. This file
// distinguishes changes that these steps may have made from changes by others, and finds requests
// that were already carried out and must not be repeated.

// Touched returns a function that reports whether an item or step may have been changed by the
// begun steps of the same plan. A step changes the items of its phase on its target, at any
// waypoint, and also indirectly:
//
//   - a reset removes everything of its node;
//   - packages bring units and may start them, and a runtime lists its images;
//   - a starting kubelet writes its kubeconfig itself (on the first control plane it is
//     finished later) and creates its Node object, with labels and taints.
//
// The operations of a step show which other items it writes or removes; see planfile.Compare.
func Touched(begun []state.Address) func(state.Address) bool {
	phases := map[state.Address]bool{}
	for _, b := range begun {
		phases[topology.StepAddress(b.Target, b.Phase)] = true
	}
	return func(a state.Address) bool {
		if phases[topology.StepAddress(a.Target, a.Phase)] || phases[topology.StepAddress(a.Target, topology.ResetPhase)] {
			return true
		}
		return slices.ContainsFunc(causes[a.Phase], func(p string) bool { return phases[topology.StepAddress(a.Target, p)] })
	}
}

// causes are, for the items of a phase, the other phases on the same target that change them.
var causes = map[string][]string{
	topology.ImagesPhase:           {topology.InstallPhase},
	topology.KubeletStartPhase:     {topology.InstallPhase},
	topology.WaitBootstrapPhase:    {topology.KubeletStartPhase},
	topology.FinalizePhase:         {topology.KubeconfigPhase, topology.KubeletStartPhase, topology.WaitBootstrapPhase},
	topology.MarkControlPlanePhase: {topology.KubeletStartPhase},
	topology.MarkWorkerPhase:       {topology.KubeletStartPhase},
}
