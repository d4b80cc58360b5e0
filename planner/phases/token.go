package phases

import (
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// bootstrapToken lets nodes join: RBAC and cluster-info stay, the token is
// made just in time and deleted when all have joined.
var bootstrapToken = phase{
	name:         tokenPhase,
	clusterItems: func(c *cluster) []state.Item { return append(c.objectItems(tokenPhase), c.tokenItems()...) },
	clusterStep: func(c *cluster, w work) planner.Step {
		s := objectStep(c, w)
		if len(w.joiners) > 0 {
			s.Operations = append(s.Operations, planner.CreateToken{
				Description: "kubewright: for the nodes that join in one apply", TTL: joinTokenTTL,
				Usages: []string{"signing", "authentication"}, Groups: []string{kubeadm.DefaultTokenGroup},
			})
		}
		return s
	},
	clusterNeeds: func(c *cluster) []state.Address {
		switch {
		case c.up != nil && c.report == nil:
			// An API that an upgrade has stopped answers when that is done.
			return c.planesProved()
		case c.up != nil:
			return nil
		case c.joinsFirst():
			// Those who join have the CA from there.
			return []state.Address{step(c.seat, certsPhase)}
		}
		return []state.Address{step(c.seat, waitPlanePhase)}
	},
}

// joinTokenTTL bounds the life of a token whose deletion never came.
const joinTokenTTL = time.Hour

// tokenCleanupStep deletes the token once every node of this plan has joined.
func tokenCleanupStep(c *cluster, joiners []*node) (planner.Step, []state.Address) {
	id := step(c.target, tokenPhase)
	id.Waypoint = tokenCleanup
	var needs []state.Address
	for _, n := range joiners {
		needs = append(needs, step(n.target, waitBootstrapPhase))
	}
	return planner.Step{
		ID: id, Phase: tokenPhase, Target: c.target, Action: planner.Delete, Via: c.seat,
		Operations: planner.Operations{planner.DeleteToken{Token: state.Pending{Step: step(c.target, tokenPhase).String(), Output: "token"}}},
	}, needs
}

// kubeletFinalize points a control plane's kubelet at its own API server, and
// the founder's at the certificate that its kubelet rotates, as on every node
// that bootstrapped.
var kubeletFinalize = phase{
	name: finalizePhase,
	nodeItems: func(n *node) []state.Item {
		if !n.isControlPlane() || n.cluster.externalCA() {
			return nil
		}
		return []state.Item{n.kubeletConfItem(finalizePhase)}
	},
	nodeStep: func(n *node, w work) planner.Step {
		if w.empty() || w.of(kubeconfigPhase).hasEnded() { // that writes it as it is to be
			return planner.Step{}
		}
		return n.turnKubelet()
	},
	nodeNeeds: func(n *node) []state.Address {
		return []state.Address{
			step(n.target, markPlanePhase), step(n.target, waitPlanePhase), step(n.target, waitBootstrapPhase),
			// It brings the role binding by which the controller manager approves
			// what the founder's kubelet asks for: waiting before it is in vain.
			step(n.cluster.target, tokenPhase),
		}
	},
}
