package staticpod

import (
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// afterKubelets makes API servers that begin to verify the certificates of kubelets wait until every
// kubelet that runs has its own.
func afterKubelets(n *topology.Node) []state.Address {
	if !n.IsControlPlane() || !n.Cluster.StartsVerifying() {
		return nil
	}
	var out []state.Address
	for _, o := range n.Cluster.Nodes {
		if o.Report != nil && !o.Joins() {
			out = append(out, topology.StepAddress(o.Target, topology.KubeletStartPhase))
		}
	}
	return out
}

// BeforeUnsigned returns the steps after which no API server verifies the certificates of kubelets any
// more: kubelets then sign their own.
func BeforeUnsigned(c *topology.Cluster) []state.Address {
	if !c.StopsVerifying() {
		return nil
	}
	var out []state.Address
	for _, n := range c.ControlPlanes() {
		if n.Report != nil && !n.Joins() {
			out = append(out, topology.StepAddress(n.Target, topology.ControlPlanePhase))
		}
	}
	return out
}
