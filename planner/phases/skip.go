package phases

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// unskipped drops the changes, or the drift, of phases that the configuration
// leaves out by skip_phases: for a node, for all nodes of a cluster, or for the
// cluster itself. A step of theirs has nothing to do then. What an earlier plan
// made of such a phase stays as it is, as it does with -skip-phase.
func (v *View) unskipped(changes []planner.Change) []planner.Change {
	skipped := map[*cluster]map[state.ObjectRef]bool{}
	return slices.DeleteFunc(changes, func(ch planner.Change) bool {
		c := v.clusterOf(ch.Address.Target)
		switch {
		case c == nil || len(c.SkipPhases) == 0 && ch.Address.Target == c.target:
			return false
		case ch.Address.Target != c.target:
			n := c.node(ch.Address.Target)
			return n != nil && n.leavesOut(ch.Address.Phase)
		case ch.Address.Phase != addonPhase || ch.Kind != state.KindObject:
			return false
		}
		if skipped[c] == nil {
			skipped[c] = c.skippedAddons()
		}
		return skipped[c][parseRef(ch.Address.ID())]
	})
}

// leavesOut tells that skip_phases of the node, or of its cluster, has a phase.
func (n *node) leavesOut(phase string) bool { return n.Skips(phase) || n.cluster.Skips(phase) }

// skippedAddons are the objects of kubeadm's addons that are left out, which may be
// there all the same: made before, or by somebody else. The user's own addons are
// not among them, as their blocks say that they are wanted.
func (c *cluster) skippedAddons() map[state.ObjectRef]bool {
	out := map[state.ObjectRef]bool{}
	seat := c.seatNode()
	if seat == nil || seat.report == nil {
		return out
	}
	for _, part := range []string{coreDNSPart, kubeProxyPart} {
		if !c.Skips(part) {
			continue
		}
		alone := *c.shared
		alone.SkipPhases, alone.DNS.Disabled, alone.KubeProxy.Disabled = nil, part != coreDNSPart, part != kubeProxyPart
		in := seat.input()
		in.Cluster = &alone
		for _, o := range kubeadm.Objects(in) {
			if o.Phase == addonPhase {
				out[o.Ref] = true
			}
		}
	}
	return out
}
