package drain

import (
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// WantedTaints returns the taints that kubewright sets.
func WantedTaints(n *topology.Node) []state.Taint {
	if n.IsControlPlane() {
		return kubeadm.NodeMarks(n.Input()).Taints
	}
	return n.Taints
}

// MarkPhase returns the phase that sets the node's taints.
func MarkPhase(n *topology.Node) string {
	if n.IsControlPlane() {
		return topology.MarkControlPlanePhase
	}
	return topology.MarkWorkerPhase
}
