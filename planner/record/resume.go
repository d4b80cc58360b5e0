package record

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Unreplaced returns the addresses given to -replace that still have to be replaced after some
// steps of the plan were begun: a node that was removed only has to join, and a CA that has
// replaced the old one, whose second copy is being removed, is done.
func Unreplaced(cfg *config.Config, addresses []string, begun []state.Address) []string {
	ended := func(r topology.Rotation) bool {
		return slices.ContainsFunc(begun, func(b state.Address) bool {
			return b.Phase == topology.CertsPhase && b.Waypoint == rotation.Rotated && slices.ContainsFunc(cfg.Nodes, func(n *config.Node) bool {
				return n.Target == b.Target && state.ClusterTarget(n.Cluster) == r.Cluster
			})
		})
	}
	joins := func(node string) bool { // the steps that rejoin a node wait for its reset
		return slices.ContainsFunc(begun, func(b state.Address) bool {
			return b.Target.String() == node && b.Phase != topology.DrainPhase && b.Phase != topology.ResetPhase
		})
	}
	return slices.DeleteFunc(slices.Clone(addresses), func(a string) bool {
		r, ok := rotation.ParseRotation(a)
		return ok && ended(r) || !ok && joins(a)
	})
}
