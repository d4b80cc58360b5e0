package drain

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// TurnGates returns the gates of a step that drains a node for a new kubelet. Control planes are
// upgraded one at a time, with their own gates.
func TurnGates(n *topology.Node) []string {
	if n.IsControlPlane() {
		return nil
	}
	return []string{planner.WorkersGate}
}

// CheckMaxUnavailable evaluates WorkersGate: it refuses to drain a worker while so many others of
// its pool are unavailable, according to a fresh observation, that one more would exceed the limit.
// Hours may pass between the plan and the last worker. Workers that other steps have drained count
// as well, and so do those in turn: they have passed this gate, and may not be cordoned yet. Of the
// workers that join in this plan only returning ones count: no workload relies on new ones yet. A
// worker that is itself down or drained always passes: its upgrade may be what repairs it.
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

// unavailable reports whether a Node exists and is not Ready, or is cordoned for an upgrade.
func unavailable(n *topology.Node, nodes map[string]state.NodeReport) bool {
	seen, there := nodes[n.NodeName]
	return there && (!seen.Ready || seen.Unschedulable && seen.Annotations[planner.CordonAnnotation] == ForUpgrade)
}
