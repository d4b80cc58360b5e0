package topology

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/state"
)

// RestartWindow is when a static pod of a running control plane is restarted, in a plan in which
// other control planes join or are removed. Otherwise all moments are equal.
type RestartWindow int

const (
	// AnyWindow: before or after, in any order. It is used for plans restricted to targets, which
	// do not include steps that would only precede them, and for the repair of a control plane.
	AnyWindow RestartWindow = iota
	// BeforeAll: before any control plane joins or is removed, except for dead members.
	BeforeAll
	// BeforeJoins: after the removals, before any join.
	BeforeJoins
	// AfterAll: after all joins and removals.
	AfterAll
)

// Newcomers returns the control planes that join in this plan.
func (c *Cluster) Newcomers() []*Node {
	return slices.DeleteFunc(c.ControlPlanes(), func(n *Node) bool { return !n.Joining() })
}

// Departing returns the control planes that are removed from the cluster in this plan.
func (c *Cluster) Departing() []Departure {
	return slices.DeleteFunc(c.Fleet.Departures(), func(l Departure) bool {
		return l.Cluster != c || l.Whole || !l.Acts() || l.Role != string(config.ControlPlane)
	})
}

// Voters returns the observed voters of etcd; none if etcd did not list its members.
func (c *Cluster) Voters() []state.EtcdMember {
	if c.Etcd.External != nil || c.Seen == nil {
		return nil
	}
	return quorum.Voters(c.Seen.Members)
}

// Unhealthy reports whether a control plane does not serve, one of its components is stopped or
// does not run as its file says, or its etcd member is not healthy. If the API does not answer,
// that is unknown.
func (n *Node) Unhealthy() bool {
	return n.Cluster.Report != nil && !n.Joins() && (!n.Serves() || n.Stopped() || n.Fails() || n.MemberCondition() == quorum.VoterDown)
}

// Serves reports whether the API showed the node's own API server as ready. A lost administrator's
// kubeconfig does not matter.
func (n *Node) Serves() bool {
	return n.IsControlPlane() && n.Report != nil && n.Report.Files[Manifest("kube-apiserver")].Exists && n.Cluster.ShowsReady(n.NodeName)
}

func (c *Cluster) ShowsReady(name string) bool {
	return c.Seen != nil && c.Seen.StaticPods["kube-apiserver-"+name].Ready
}

// Dead reports whether etcd lists a member on the departing node that does not answer.
func (l Departure) Dead() bool {
	at := l.Cluster.MemberCondition(l.PeerURL())
	return at == quorum.LearnerDown || at == quorum.VoterDown
}
