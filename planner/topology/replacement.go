package topology

import (
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// Replacement is a node that is removed from its cluster and joins again in one plan.
type Replacement struct {
	Reason string
	// Report is the observation of the host; nil if it has nothing to remove, because it was
	// reinstalled or is another machine.
	Report *state.Report
}

// Replaces reports whether the node is replaced in this plan.
func (v *Fleet) Replaces(t state.Target) bool { return v.Replacements[t] != nil }

// Readdressed reports whether the node has another address than the recorded one.
func Readdressed(n *config.Node, was *state.RecordedNode) bool {
	return was.Address != "" && !SameAddress(was.Address, n.AdvertiseAddress())
}

// SameAddress reports whether two addresses are equal, in any notation.
func SameAddress(a, b string) bool { return state.CanonicalIP(a) == state.CanonicalIP(b) }

// ControlPlaneStays reports whether another control plane than the node stays at its address:
// without one the cluster is destroyed as a whole, so removing the block is no remedy.
func (v *Fleet) ControlPlaneStays(n *config.Node) bool {
	return slices.ContainsFunc(v.Config.NodesOf(n.Cluster, config.ControlPlane), func(p *config.Node) bool {
		was := v.Recorded.Nodes[p.Target]
		return p.Target != n.Target && was != nil && was.Role == string(config.ControlPlane) && !Readdressed(p, was)
	})
}

// AnotherNodeReason returns why the configured node is not the recorded one; "" if it is.
func AnotherNodeReason(n *config.Node, was *state.RecordedNode) string {
	switch {
	case was.Role != string(n.Role):
		return fmt.Sprintf("role %s -> %s", was.Role, n.Role)
	case n.Name != "" && was.Name != n.Name:
		return fmt.Sprintf("name %s -> %s", was.Name, n.Name)
	case n.Role == config.ControlPlane && Readdressed(n, was):
		return fmt.Sprintf("address %s -> %s", was.Address, n.AdvertiseAddress())
	}
	return ""
}

// KeptMarks returns the markers of a host while its node is replaced: that it is kubewright's, and
// its previous condition.
func (l Departure) KeptMarks() *state.Marks {
	if l.Report == nil {
		return nil
	}
	if l.Report.Marks == nil || l.Report.Marks.Cluster == "" {
		return l.adoptedMarks()
	}
	m := *l.Report.Marks
	m.Founder, m.ClusterCA, m.FormerCAs = false, "", nil
	return &m
}

// ReplacesWorker reports whether the node is removed as a worker and joins again in this plan.
func (n *Node) ReplacesWorker() bool {
	return n.Cluster.Fleet.Replaces(n.Target) && n.Cluster.Fleet.Recorded.Nodes[n.Target].Role == string(config.Worker)
}

// ComesBack reports whether a worker is away until it has joined: this plan removes it first, or an
// earlier apply did, as its host already has a marker.
func (n *Node) ComesBack() bool {
	if n.IsControlPlane() || !n.Joins() {
		return false
	}
	return n.ReplacesWorker() || !n.Cluster.Fleet.Replaces(n.Target) && n.Report.Marks != nil
}
