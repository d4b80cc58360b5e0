package drift

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// A saved plan that was cut short goes on where it stopped: it is rebuilt from what
// is there, and has to be the rest of the one that was saved. The steps that were begun
// are known from the journal. What they may have changed is told apart here from what
// nobody but somebody else can have changed, and so is what was asked for once and must
// not be done once more.

// Touched tells of an item or a step whether steps of the same plan that were begun may
// have changed it. A step changes the items of its phase on its target, at whichever
// waypoint, and what follows from that by itself:
//
//   - a reset takes everything of its node away;
//   - packages bring units, and may start them, and a runtime shows its images;
//   - a kubelet that starts takes its kubeconfig by itself, which is the founder's that
//     is finished later, and makes its Node object, with labels and taints.
//
// Which other items a step writes or removes is seen from its operations; see
// planfile.Compare.
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

// causes are, for the items of a phase, other phases on the same target that change them.
var causes = map[string][]string{
	topology.ImagesPhase:           {topology.InstallPhase},
	topology.KubeletStartPhase:     {topology.InstallPhase},
	topology.WaitBootstrapPhase:    {topology.KubeletStartPhase},
	topology.FinalizePhase:         {topology.KubeconfigPhase, topology.KubeletStartPhase, topology.WaitBootstrapPhase},
	topology.MarkControlPlanePhase: {topology.KubeletStartPhase},
	topology.MarkWorkerPhase:       {topology.KubeletStartPhase},
}

// ownRotation takes out of the drift what a rotation that was cut short has changed.
func ownRotation(v *topology.Fleet, drift []planner.Change) []planner.Change {
	return slices.DeleteFunc(drift, func(ch planner.Change) bool {
		c := v.ClusterOf(ch.Address.Target)
		if c == nil || len(c.Rotating) == 0 || len(ch.Attributes) == 0 {
			return false
		}
		return !slices.ContainsFunc(ch.Attributes, func(a planner.AttributeChange) bool { return a.Path != "signed_by" && a.Path != "ca" })
	})
}
