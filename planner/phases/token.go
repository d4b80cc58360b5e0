package phases

import (
	"maps"
	"slices"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// bootstrapToken lets nodes join: RBAC and cluster-info stay. The token of a joining node is
// made and deleted by the steps of its join.
var bootstrapToken = phase{
	name:         tokenPhase,
	clusterItems: func(c *cluster) []state.Item { return append(c.objectItems(tokenPhase), c.tokenItems()...) },
	clusterStep:  objectStep,
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

// joinTokenTTL is how long the token of a joining node is valid, unless the cluster's timeouts let
// the join take longer.
const joinTokenTTL = 15 * time.Minute

// joinToken makes a token for the join of one node, right before its kubelet is started. It is valid
// until the kubelet has its certificate or its join has failed by its timeouts.
func (n *node) joinToken() planner.Operation {
	const spare = time.Minute // for the kubelet's files and its start
	t := n.cluster.Timeouts
	return planner.CreateToken{
		Description: planner.JoinTokenDescription(n.name), TTL: max(joinTokenTTL, t.KubeletHealthCheck+t.Discovery+t.TLSBootstrap+spare),
		Usages: []string{"signing", "authentication"}, Groups: []string{kubeadm.DefaultTokenGroup},
	}
}

// madeToken refers to the token of the node's join.
func (n *node) madeToken() state.Pending {
	return state.Pending{Step: step(n.target, kubeletStartPhase).String(), Output: "token"}
}

// joinTokens adds the step that deletes the tokens for joining that are left: those of joins that
// fail in this plan, and those of earlier runs.
func (b *builder) joinTokens(c *cluster) {
	joiners := c.joiners()
	left := c.report != nil && len(c.leftTokens()) > 0
	if len(joiners) == 0 && !left {
		return
	}
	id := c.cleanup()
	s := planner.Step{
		ID: id, Phase: tokenPhase, Target: c.target, Action: planner.Delete, Via: c.seat, Finally: len(joiners) > 0,
		Operations: planner.Operations{planner.DeleteJoinTokens{Keep: slices.Sorted(maps.Keys(c.keptTokens()))}},
	}
	for _, n := range joiners {
		start := step(n.target, kubeletStartPhase)
		b.draft.Closes[id] = append(b.draft.Closes[id], start)
		b.draft.Edges[id] = append(b.draft.Edges[id], start, step(n.target, waitBootstrapPhase))
	}
	b.draft.Steps = append(b.draft.Steps, s)
}

// cleanup is the address of the step that deletes the tokens for joining that are left.
func (c *cluster) cleanup() state.Address {
	id := step(c.target, tokenPhase)
	id.Waypoint = tokenCleanup
	return id
}

// leftTokens are the IDs of tokens for joining that an earlier run has left.
func (c *cluster) leftTokens() []string {
	kept := c.keptTokens()
	return slices.DeleteFunc(slices.Clone(c.report.JoinTokens), func(id string) bool { _, keep := kept[id]; return keep })
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
