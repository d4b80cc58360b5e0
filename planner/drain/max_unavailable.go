package drain

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// TurnGates returns the conditions of a step that empties a node for a new kubelet. Control
// planes turn one at a time, and prove themselves by gates of their own.
func TurnGates(n *topology.Node) []string {
	if n.IsControlPlane() {
		return nil
	}
	return []string{planner.WorkersGate}
}

// CheckMaxUnavailable is that gate: it refuses to empty a worker while so many others of its pool
// are unavailable, as a fresh look at the nodes shows them, that one more would be too
// many. Hours may lie between the plan and the last worker's turn. Those that others of
// our steps have emptied count as well, and those whose turn it is: they have passed this
// gate, and may not be cordoned yet. Of those that join in this plan only those count that
// come back: on others nobody has relied so far. A worker that is down, or emptied, itself
// loses nothing by its turn, which may be what brings it back.
func CheckMaxUnavailable(v *topology.Fleet, s *planner.Step, nodes map[string]state.NodeReport, turn map[state.Target]bool) error {
	c := v.ClusterOf(s.Target)
	if c == nil || c.Node(s.Target) == nil {
		return errors.New("internal error: the worker is unknown")
	}
	own, pools := c.Node(s.Target), Pools(c)
	if unavailable(own, nodes) {
		return nil
	}
	p := poolOf(pools, own)
	members := Members(c, pools)[p]
	without := slices.DeleteFunc(slices.Clone(members), func(n *topology.Node) bool {
		return n == own || n.Joins() && !n.ComesBack() || !unavailable(n, nodes) && !turn[n.Target]
	})
	most := MaxUnavailable(p.MaxUnavailable, len(members))
	if len(without) < most {
		return nil
	}
	return fmt.Errorf("refused: max_unavailable = %q allows %d of the workers to be unavailable at once, and there are already, "+
		"not Ready or drained for the upgrade: %s. Bring back what is not Ready (kubectl describe node), remove it from the configuration, or raise max_unavailable", p.MaxUnavailable, most, Names(without))
}

// unavailable reports whether a node is there and not Ready, or is cordoned for an upgrade.
func unavailable(n *topology.Node, nodes map[string]state.NodeReport) bool {
	seen, there := nodes[n.NodeName]
	return there && (!seen.Ready || seen.Unschedulable && seen.Annotations[planner.CordonAnnotation] == ForUpgrade)
}
