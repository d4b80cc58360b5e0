package topology

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/state"
)

// RestartWindow is when a static pod of a control plane that runs is restarted, in a plan
// in which other control planes come or go. Where nothing comes or goes all
// moments are alike.
type RestartWindow int

const (
	// AnyWindow: before or after, as it comes. So it is where targets alone are
	// planned, which what only goes before them does not belong to, and with what
	// mends a control plane.
	AnyWindow RestartWindow = iota
	// BeforeAll: before anybody joins or leaves, but for members that are dead.
	BeforeAll
	// BeforeJoins: when those that leave are gone, and nobody has joined yet.
	BeforeJoins
	// AfterAll: when those that come have joined, and those that leave are gone.
	AfterAll
)

// Newcomers returns the control planes that join in this plan.
func (c *Cluster) Newcomers() []*Node {
	return slices.DeleteFunc(c.ControlPlanes(), func(n *Node) bool { return !n.Joining() })
}

// Departing returns the control planes that leave the cluster in this plan.
func (c *Cluster) Departing() []Departure {
	return slices.DeleteFunc(c.Fleet.Departures(), func(l Departure) bool {
		return l.Cluster != c || l.Whole || !l.Acts() || l.Role != string(config.ControlPlane)
	})
}

// VotersAt are etcd's voters at a moment: as they were seen, but for those that
// come and go. Who has joined is well, since joining ends when it is. None where
// etcd did not say who they are.
func (c *Cluster) VotersAt(at RestartWindow) []state.EtcdMember {
	if c.Etcd.External != nil || c.Seen == nil || len(c.Seen.Members) == 0 {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(c.Seen.Members), func(m state.EtcdMember) bool { return m.Learner })
	without := func(peerURL string) {
		out = slices.DeleteFunc(out, func(m state.EtcdMember) bool { return slices.Contains(m.PeerURLs, peerURL) })
	}
	if at != AnyWindow {
		for _, l := range c.Departing() {
			if at != BeforeAll || l.Dead() {
				without(l.PeerURL())
			}
		}
	}
	if at == AfterAll {
		for _, n := range c.Newcomers() {
			without(n.PeerURL())
			out = append(out, state.EtcdMember{Name: n.NodeName, PeerURLs: []string{n.PeerURL()}, Healthy: true})
		}
	}
	return out
}

// Unhealthy reports whether a control plane of the cluster was seen not to serve, a component
// of it to be stopped or not to run as its file says, or its member of etcd not to be
// healthy. Where nobody answers for the cluster it is not known who is.
func (n *Node) Unhealthy() bool {
	return n.Cluster.Report != nil && !n.Joins() && (!n.Serves() || n.Stopped() || n.Fails() || n.MemberDown())
}

// MemberDown reports whether etcd counts a member on the control plane, and that it was not
// seen to be healthy.
func (n *Node) MemberDown() bool {
	return slices.ContainsFunc(n.Cluster.VotersAt(AnyWindow), func(m state.EtcdMember) bool {
		return !m.Healthy && slices.Contains(m.PeerURLs, n.PeerURL())
	})
}

// Serves reports whether the API showed the node's own API server to be ready. An
// administrator's kubeconfig that is lost takes nothing from it.
func (n *Node) Serves() bool {
	return n.IsControlPlane() && n.Report != nil && n.Report.Files[Manifest("kube-apiserver")].Exists && n.Cluster.ShowsReady(n.NodeName)
}

func (c *Cluster) ShowsReady(name string) bool {
	return c.Seen != nil && c.Seen.StaticPods["kube-apiserver-"+name].Ready
}

// Dead reports whether etcd counts a voter on the departing node, which does not answer.
func (l Departure) Dead() bool {
	return l.Cluster.Seen != nil && quorum.IsDown(l.Cluster.Seen.Members, l.PeerURL())
}
