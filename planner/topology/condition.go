package topology

import (
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/state"
)

// NodeCondition returns what the API shows of the node. Its report lacks the nodes that are replaced.
func (n *Node) NodeCondition() state.NodeCondition { return n.Cluster.Report.NodeCondition(n.NodeName) }

// MemberCondition returns the condition of the etcd member at a peer URL.
func (c *Cluster) MemberCondition(peerURL string) quorum.MemberCondition {
	if c.Etcd.External != nil || c.Seen == nil {
		return quorum.Unknown
	}
	return quorum.ConditionOf(c.Seen.Members, peerURL)
}

// MemberCondition returns the condition of the etcd member of a control plane.
func (n *Node) MemberCondition() quorum.MemberCondition {
	return n.Cluster.MemberCondition(n.PeerURL())
}
