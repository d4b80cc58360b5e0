package phases

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// moment is when a static pod of a control plane that runs is restarted, in a plan
// in which other control planes come or go. Where nothing comes or goes all
// moments are alike.
type moment int

const (
	// anyMoment: before or after, as it comes. So it is where targets alone are
	// planned, which what only goes before them does not belong to, and with what
	// mends a control plane.
	anyMoment moment = iota
	// beforeAll: before anybody joins or leaves, but for members that are dead.
	beforeAll
	// beforeJoins: when those that leave are gone, and nobody has joined yet.
	beforeJoins
	// afterAll: when those that come have joined, and those that leave are gone.
	afterAll
)

// moment is when a phase restarts something here. Newcomers join first: they
// have the new settings from the start, and serve while the others restart. In an
// upgrade they cannot, since no kubelet may be newer than an API server. They do
// not either where the endpoint moves, since they join by the new one, and where
// one member of etcd would become two: it had quorum by itself when it restarts,
// and would not have it then. Nor does the host leave first from which the endpoint
// moves away.
func (n *node) moment(phase string) moment {
	c := n.cluster
	raises := c.up != nil && c.up.raises
	switch {
	case c.report == nil || c.founding || c.view.targeted:
		return anyMoment
	case !n.sick():
	case raises && phase != kubeletStartPhase:
		return beforeJoins // all that leave do so before the first risk
	case !raises && phase != controlPlanePhase && !n.memberDown() && slices.ContainsFunc(c.parting(), leaver.dead):
		return beforeAll // beside a member that is dead no other one restarts
	default:
		return anyMoment
	}
	joinsLater := len(c.newcomers()) > 0 && (len(c.formerHosts()) > 0 || c.becomesPair())
	switch {
	case raises && (phase != kubeletStartPhase || joinsLater):
		return beforeJoins
	case joinsLater || len(c.calledLeavers()) > 0:
		return beforeAll
	}
	return afterAll
}

// newcomers are the control planes that join in this plan.
func (c *cluster) newcomers() []*node {
	return slices.DeleteFunc(c.controlPlanes(), func(n *node) bool { return !n.joining() })
}

// parting are the control planes that leave the cluster in this plan.
func (c *cluster) parting() []leaver {
	return slices.DeleteFunc(c.view.leavers(), func(l leaver) bool {
		return l.cluster != c || l.whole || !l.acts() || l.Role != string(config.ControlPlane)
	})
}

// becomesPair tells that newcomers make two members of etcd of one.
func (c *cluster) becomesPair() bool {
	return c.Etcd.External == nil && len(c.votersAt(anyMoment)) == 1 && len(c.votersAt(afterAll)) == 2
}

// votersAt are etcd's voters at a moment: as they were seen, but for those that
// come and go. Who has joined is well, since joining ends when it is. None where
// etcd did not say who they are.
func (c *cluster) votersAt(at moment) []state.EtcdMember {
	if c.Etcd.External != nil || c.seen == nil || len(c.seen.Members) == 0 {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(c.seen.Members), func(m state.EtcdMember) bool { return m.Learner })
	without := func(peerURL string) {
		out = slices.DeleteFunc(out, func(m state.EtcdMember) bool { return slices.Contains(m.PeerURLs, peerURL) })
	}
	if at != anyMoment {
		for _, l := range c.parting() {
			if at != beforeAll || l.dead() {
				without(l.peerURL())
			}
		}
	}
	if at == afterAll {
		for _, n := range c.newcomers() {
			without(n.peerURL())
			out = append(out, state.EtcdMember{Name: n.name, PeerURLs: []string{n.peerURL()}, Healthy: true})
		}
	}
	return out
}

// sick tells that a control plane of the cluster was seen not to serve, a component
// of it to be stopped or not to run as its file says, or its member of etcd not to be
// healthy. Where nobody answers for the cluster it is not known who is.
func (n *node) sick() bool {
	return n.cluster.report != nil && !n.joins() && (!n.serves() || n.stopped() || n.fails() || n.memberDown())
}

// memberDown tells that etcd counts a member on the control plane, and that it was not
// seen to be healthy.
func (n *node) memberDown() bool {
	return slices.ContainsFunc(n.cluster.votersAt(anyMoment), func(m state.EtcdMember) bool {
		return !m.Healthy && slices.Contains(m.PeerURLs, n.peerURL())
	})
}

// serves tells that the API showed the node's own API server to be ready. An
// administrator's kubeconfig that is lost takes nothing from it.
func (n *node) serves() bool {
	return n.isControlPlane() && n.report != nil && n.report.Files[manifest("kube-apiserver")].Exists && n.cluster.showsReady(n.name)
}

func (c *cluster) showsReady(name string) bool {
	return c.seen != nil && c.seen.StaticPods["kube-apiserver-"+name].Ready
}

// disruptions puts the steps that restart static pods of control planes in order
// with those by which others come and go.
func (b *builder) disruptions(c *cluster) {
	if c.report == nil || c.founding || c.view.targeted {
		return
	}
	newcomers, parting := c.newcomers(), c.parting()
	for _, n := range newcomers {
		b.afterSick(c, n, step(n.target, kubeletStartPhase))
	}
	for _, s := range b.draft.Steps {
		n := c.node(s.Target)
		if n == nil || n.joins() || s.ID.Waypoint != "" || !slices.Contains(s.Gates, planner.APIGate) {
			continue
		}
		b.afterSick(c, n, s.ID)
		at := n.moment(s.Phase)
		for _, o := range newcomers {
			switch at {
			case afterAll:
				b.after(s.ID, step(o.target, waitPlanePhase))
			case beforeAll, beforeJoins:
				b.after(step(o.target, kubeletStartPhase), s.ID)
			}
		}
		for _, l := range parting {
			switch {
			case at == anyMoment:
			case at == beforeAll && !l.dead():
				b.after(step(l.target, resetPhase), s.ID)
			default:
				b.after(s.ID, step(l.target, resetPhase))
			}
		}
	}
}

// dead tells that etcd counts a voter on the leaver, which does not answer.
func (l leaver) dead() bool {
	return l.cluster.seen != nil && planner.Dead(l.cluster.seen.Members, l.peerURL())
}

// afterSick has a step on a control plane, be it one that joins, wait for what is done
// on those that are sick and whose turn comes before: it may mend them, and nobody can
// go down before.
func (b *builder) afterSick(c *cluster, n *node, id state.Address) {
	for _, o := range c.mendedBefore(n) {
		b.after(id, step(o.target, etcdPhase))
		b.after(id, step(o.target, controlPlanePhase))
	}
}

// joinsFirst tells that newcomers join before what runs is restarted, so that
// nothing of their join waits for a restart of the seat.
func (c *cluster) joinsFirst() bool {
	seat := c.seatNode()
	return len(c.newcomers()) > 0 && seat != nil && seat.moment(controlPlanePhase) == afterAll
}

// ServesBeside tells that a control plane is one to serve the API while a step
// restarts it elsewhere: it was seen to run, or has joined by then. Where there is
// none, the plan has said that the API is down meanwhile.
func (v *View) ServesBeside(s *planner.Step, other state.Target) bool {
	c := v.clusterOf(s.Target)
	if c == nil || c.node(s.Target) == nil {
		return true
	}
	o := c.node(other)
	return o != nil && o != c.node(s.Target) && c.node(s.Target).counts(o, s.Phase)
}

// counts tells that another control plane runs when a phase restarts something here.
func (n *node) counts(o *node, phase string) bool {
	if o.joining() {
		return n.moment(phase) == afterAll
	}
	return o.runs() || o.serves()
}
