package state

// NodeCondition is what the API shows of a node.
type NodeCondition string

// The conditions of a node.
const (
	// NodeUnknown: the API did not answer, or its answer does not count.
	NodeUnknown NodeCondition = "unknown"
	// NodeMissing: the API has no Node of the name: the node has not joined, or a user has deleted its
	// Node.
	NodeMissing NodeCondition = "missing"
	// NodeReady: the condition Ready of the Node is True.
	NodeReady NodeCondition = "ready"
	// NodeNotReady: the condition Ready is False, as the kubelet reports, or not set yet.
	NodeNotReady NodeCondition = "not-ready"
	// NodeSilent: the condition Ready is Unknown, because the kubelet has not reported for a while.
	// What the API shows of its pods may be outdated.
	NodeSilent NodeCondition = "silent"
)

// NodeCondition returns the condition of the node of a name. A report that is nil is of an API that did
// not answer.
func (r *ClusterReport) NodeCondition(name string) NodeCondition {
	if r == nil {
		return NodeUnknown
	}
	switch n, there := r.Nodes[name]; {
	case !there:
		return NodeMissing
	case n.Silent:
		return NodeSilent
	case n.Ready:
		return NodeReady
	}
	return NodeNotReady
}

// IsDown reports whether the Node exists and is not Ready.
func (c NodeCondition) IsDown() bool { return c == NodeNotReady || c == NodeSilent }
