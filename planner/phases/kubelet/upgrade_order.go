package kubelet

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// AfterControlPlanes returns the steps after which every control plane has the new version. Where the
// endpoint moves in the same plan, the configuration in the cluster is written only after the kubelets
// have turned to it, so that its step is not among them.
func AfterControlPlanes(c *topology.Cluster) []state.Address {
	var needs []state.Address
	if len(pki.FormerHosts(c)) == 0 {
		needs = append(needs, topology.StepAddress(c.Target, topology.UploadConfigPhase))
	}
	return append(needs, ControlPlanesProved(c)...)
}

// ControlPlanesProved returns the steps that verify that control planes run the new version.
func ControlPlanesProved(c *topology.Cluster) []state.Address {
	var needs []state.Address
	for _, n := range c.ControlPlanes() {
		if n.Upgrades() {
			needs = append(needs, topology.StepAddress(n.Target, topology.WaitControlPlanePhase))
		}
	}
	return needs
}

// StepsBeforeJoins returns the steps that joins wait for: all control planes have to run the new
// version, since kubelets may not be newer.
func StepsBeforeJoins(c *topology.Cluster) []state.Address {
	if c.Up == nil || !c.Up.Raises {
		return nil
	}
	return AfterControlPlanes(c)
}

// JoinProved returns the step after which a node that joins serves: a worker is Ready, with its labels
// and taints, and the components of a control plane answer. It may have no work.
func JoinProved(n *topology.Node) state.Address {
	if n.IsControlPlane() {
		return topology.StepAddress(n.Target, topology.WaitControlPlanePhase)
	}
	return topology.StepAddress(n.Target, topology.MarkWorkerPhase)
}

// beforeKubelet returns the steps before a kubelet is restarted in a cluster that is being upgraded. A
// kubelet that keeps its version waits for the control planes as well.
func beforeKubelet(n *topology.Node) []state.Address {
	return append(AfterControlPlanes(n.Cluster), topology.StepAddress(n.Target, topology.DrainPhase), topology.StepAddress(n.Target, topology.InstallPhase))
}

// KubeletsToUpgrade returns the nodes of a role whose kubelets get another version or that are
// cordoned for it; those that are cordoned already come first.
func KubeletsToUpgrade(c *topology.Cluster, role config.Role) []*topology.Node {
	var held, rest []*topology.Node
	for _, n := range c.Nodes {
		switch {
		case n.Role != role || !n.Upgrades():
		case drain.Cordoned(n):
			held = append(held, n)
		case pki.KubeletChanges(n):
			rest = append(rest, n)
		}
	}
	return append(held, rest...)
}
