package record

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Unreplaced leaves of what -replace was given for a plan what is still to be replaced
// once some of its steps were begun: a node that has left has only to join, and a CA
// that has taken its place, of which the second copy is being taken away, stays there.
func Unreplaced(cfg *config.Config, addresses []string, begun []state.Address) []string {
	ended := func(r topology.Rotation) bool {
		return slices.ContainsFunc(begun, func(b state.Address) bool {
			return b.Phase == topology.CertsPhase && b.Waypoint == rotation.Rotated && slices.ContainsFunc(cfg.Nodes, func(n *config.Node) bool {
				return n.Target == b.Target && state.ClusterTarget(n.Cluster) == r.Cluster
			})
		})
	}
	joins := func(node string) bool { // what makes a node join again waits for its reset
		return slices.ContainsFunc(begun, func(b state.Address) bool {
			return b.Target.String() == node && b.Phase != topology.DrainPhase && b.Phase != topology.ResetPhase
		})
	}
	return slices.DeleteFunc(slices.Clone(addresses), func(a string) bool {
		r, ok := rotation.ParseRotation(a)
		return ok && ended(r) || !ok && joins(a)
	})
}
