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

// BootstrapToken creates RBAC and cluster-info with which nodes join; both stay. The steps of a node's
// join create and delete its token.
var BootstrapToken = topology.Phase{
	Name: topology.TokenPhase,
	ClusterItems: func(c *topology.Cluster) []state.Item {
		return append(ObjectItems(c, topology.TokenPhase), tokenItems(c)...)
	},
	ClusterStep: objectStep,
	ClusterNeeds: func(c *topology.Cluster) []state.Address {
		switch {
		case c.Up != nil && c.Report == nil:
			// The API server that an upgrade has stopped answers after the upgrade.
			return kubelet.ControlPlanesProved(c)
		case c.Up != nil:
			return nil
		case staticpod.JoinsFirst(c):
			// Joining nodes get the CA from the primary.
			return []state.Address{topology.StepAddress(c.Primary, topology.CertsPhase)}
		}
		return []state.Address{topology.StepAddress(c.Primary, topology.WaitControlPlanePhase)}
	},
}

// TokenCleanup returns the address of the step that deletes leftover join tokens.
func TokenCleanup(c *topology.Cluster) state.Address {
	id := topology.StepAddress(c.Target, topology.TokenPhase)
	id.Waypoint = tokenCleanup
	return id
}

// LeftTokens returns the IDs of join tokens that an earlier run has left.
func LeftTokens(c *topology.Cluster) []string {
	kept := KeptTokens(c)
	return slices.DeleteFunc(slices.Clone(c.Report.JoinTokens), func(id string) bool { _, keep := kept[id]; return keep })
}

// KubeletFinalize points a control plane's kubelet at its own API server, and the founder's kubelet at
// the certificate that it rotates, as on every node that bootstrapped.
var KubeletFinalize = topology.Phase{
	Name: topology.FinalizePhase,
	NodeItems: func(n *topology.Node) []state.Item {
		if !n.IsControlPlane() || n.Cluster.ExternalCA() {
			return nil
		}
		return []state.Item{kubelet.KubeletConfItem(n, topology.FinalizePhase)}
	},
	NodeStep: func(n *topology.Node, w topology.PhaseWork) planner.Step {
		if w.Empty() || pki.RenewsKubelet(w.Of(topology.KubeconfigPhase)) { // which rewrites it
			return planner.Step{}
		}
		return kubelet.UpgradeKubelet(n)
	},
	NodeNeeds: func(n *topology.Node) []state.Address {
		return []state.Address{
			topology.StepAddress(n.Target, topology.MarkControlPlanePhase), topology.StepAddress(n.Target, topology.WaitControlPlanePhase), topology.StepAddress(n.Target, topology.WaitBootstrapPhase),
			// It creates the role binding by which the controller manager approves the certificate
			// request of the founder's kubelet: waiting before it is in vain.
			topology.StepAddress(n.Cluster.Target, topology.TokenPhase),
		}
	},
}
