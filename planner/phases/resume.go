package phases

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// A saved plan that was cut short goes on where it stopped: it is made anew of what
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
		phases[step(b.Target, b.Phase)] = true
	}
	return func(a state.Address) bool {
		if phases[step(a.Target, a.Phase)] || phases[step(a.Target, resetPhase)] {
			return true
		}
		return slices.ContainsFunc(causes[a.Phase], func(p string) bool { return phases[step(a.Target, p)] })
	}
}

// causes are, for the items of a phase, other phases on the same target that change them.
var causes = map[string][]string{
	imagesPhase:        {installPhase},
	kubeletStartPhase:  {installPhase},
	waitBootstrapPhase: {kubeletStartPhase},
	finalizePhase:      {kubeconfigPhase, kubeletStartPhase, waitBootstrapPhase},
	markPlanePhase:     {kubeletStartPhase},
	markWorkerPhase:    {kubeletStartPhase},
}

// Unreplaced leaves of what -replace was given for a plan what is still to be replaced
// once some of its steps were begun: a node that has left has only to join, and a CA
// that has taken its place, of which the second copy is being taken away, stays there.
func Unreplaced(cfg *config.Config, addresses []string, begun []state.Address) []string {
	ended := func(r Rotation) bool {
		return slices.ContainsFunc(begun, func(b state.Address) bool {
			return b.Phase == certsPhase && b.Waypoint == rotated && slices.ContainsFunc(cfg.Nodes, func(n *config.Node) bool {
				return n.Target == b.Target && state.ClusterTarget(n.Cluster) == r.Cluster
			})
		})
	}
	joins := func(node string) bool { // what makes a node join again waits for its reset
		return slices.ContainsFunc(begun, func(b state.Address) bool {
			return b.Target.String() == node && b.Phase != drainPhase && b.Phase != resetPhase
		})
	}
	return slices.DeleteFunc(slices.Clone(addresses), func(a string) bool {
		r, ok := ParseRotation(a)
		return ok && ended(r) || !ok && joins(a)
	})
}
