package objects

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// BootstrapToken lets nodes join: RBAC and cluster-info stay. The token of a joining node is
// made and deleted by the steps of its join.
var BootstrapToken = topology.Phase{
	Name: topology.TokenPhase,
	ClusterItems: func(c *topology.Cluster) []state.Item {
		return append(ObjectItems(c, topology.TokenPhase), tokenItems(c)...)
	},
	ClusterStep: objectStep,
	ClusterNeeds: func(c *topology.Cluster) []state.Address {
		switch {
		case c.Up != nil && c.Report == nil:
			// An API that an upgrade has stopped answers when that is done.
			return kubelet.ControlPlanesProved(c)
		case c.Up != nil:
			return nil
		case staticpod.JoinsFirst(c):
			// Those who join have the CA from there.
			return []state.Address{topology.StepAddress(c.Primary, topology.CertsPhase)}
		}
		return []state.Address{topology.StepAddress(c.Primary, topology.WaitControlPlanePhase)}
	},
}

// TokenCleanup returns the address of the step that deletes the tokens for joining that are left.
func TokenCleanup(c *topology.Cluster) state.Address {
	id := topology.StepAddress(c.Target, topology.TokenPhase)
	id.Waypoint = tokenCleanup
	return id
}

// LeftTokens returns the IDs of tokens for joining that an earlier run has left.
func LeftTokens(c *topology.Cluster) []string {
	kept := KeptTokens(c)
	return slices.DeleteFunc(slices.Clone(c.Report.JoinTokens), func(id string) bool { _, keep := kept[id]; return keep })
}

// KubeletFinalize points a control plane's kubelet at its own API server, and
// the founder's at the certificate that its kubelet rotates, as on every node
// that bootstrapped.
var KubeletFinalize = topology.Phase{
	Name: topology.FinalizePhase,
	NodeItems: func(n *topology.Node) []state.Item {
		if !n.IsControlPlane() || n.Cluster.ExternalCA() {
			return nil
		}
		return []state.Item{kubelet.KubeletConfItem(n, topology.FinalizePhase)}
	},
	NodeStep: func(n *topology.Node, w topology.PhaseWork) planner.Step {
		if w.Empty() || pki.RenewsKubelet(w.Of(topology.KubeconfigPhase)) { // that writes it as it is to be
			return planner.Step{}
		}
		return kubelet.UpgradeKubelet(n)
	},
	NodeNeeds: func(n *topology.Node) []state.Address {
		return []state.Address{
			topology.StepAddress(n.Target, topology.MarkControlPlanePhase), topology.StepAddress(n.Target, topology.WaitControlPlanePhase), topology.StepAddress(n.Target, topology.WaitBootstrapPhase),
			// It brings the role binding by which the controller manager approves
			// what the founder's kubelet asks for: waiting before it is in vain.
			topology.StepAddress(n.Cluster.Target, topology.TokenPhase),
		}
	},
}
