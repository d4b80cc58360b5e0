package phases

import (
	"slices"

	"github.com/kubewright/kubewright/state"
)

// runs tells that the node is a control plane that was one before this plan.
func (n *node) runs() bool {
	return n.isControlPlane() && n.report != nil && n.report.Files[manifest("kube-apiserver")].Exists && n.report.Files[adminConf].Exists
}

// running are the control planes that run already, the seat first.
func (c *cluster) running() []*node {
	var out []*node
	for _, n := range c.controlPlanes() {
		switch {
		case !n.runs():
		case n.target == c.seat:
			out = append([]*node{n}, out...)
		default:
			out = append(out, n)
		}
	}
	return out
}

// inTurn are the control planes that are there, in the order in which they take their
// turns. Whatever has one wait for another goes by it, so that no two wait for each
// other: first those that the others cannot go down beside, then those that are well,
// in the order of their certificates.
func (c *cluster) inTurn() []*node {
	out := c.running()
	for _, n := range c.controlPlanes() {
		if !n.runs() && n.report != nil && !n.joins() {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b *node) int { return int(a.plight() - b.plight()) })
	return out
}

// plight is what keeps a control plane from being well, in the order in which that is
// put right.
type plight int

const (
	// downAndStopped: its member of etcd is down, and an apply has stopped static pods
	// that do not come back by themselves.
	downAndStopped plight = iota
	// down: its member of etcd is, and beside it no other member is restarted.
	down
	// stopped: the others do not go down before its static pods are back.
	stopped
	// failing: the others wait until it is proved to run.
	failing
	// ailing: it does not serve, for another reason.
	ailing
	// limping: something of it is stopped or fails, and it serves. It goes down when
	// those are back that do not, as it may be the last one that does.
	limping
	// learning: it has begun to join, which ends before another one is added, since
	// etcd has one learner at a time.
	learning
	// entering: it goes on to join.
	entering
	// none: it is well.
	none
)

func (n *node) plight() plight {
	here := n.runs() || n.belongs()
	switch {
	case n.joins():
		return none
	case here && n.memberDown() && n.stopped():
		return downAndStopped
	case here && n.memberDown():
		return down
	case here && n.serves() && n.sick():
		return limping
	case here && n.stopped():
		return stopped
	case n.fails():
		return failing
	case here && n.sick():
		return ailing
	case here:
		return none
	case n.cluster.lists(n.peerURL()):
		return learning
	}
	return entering
}

// belongs tells that etcd counts a member on the control plane as a voter, or that it
// does not tell: what does not run there has run.
func (n *node) belongs() bool {
	c := n.cluster
	return c.Etcd.External != nil || c.seen == nil || len(c.seen.Members) == 0 || c.votes(n.peerURL())
}

// preceding are the control planes whose turn comes before that of a node: all of them
// where it has none itself, as it joins or leaves.
func (c *cluster) preceding(n *node) []*node {
	order := c.inTurn()
	if i := slices.Index(order, n); i >= 0 {
		return order[:i]
	}
	return order
}

// mendedBefore are the control planes that are mended before it is a node's turn. Who
// only goes on to join has nothing to mend.
func (c *cluster) mendedBefore(n *node) []*node {
	return slices.DeleteFunc(c.preceding(n), func(o *node) bool { return !o.sick() || !o.runs() && !o.belongs() })
}

// turn lets certificates of control planes that run change one control plane
// after the other: only when everything on one is proved to be well with its new
// ones does the next get its own. One that is sick waits for nobody, and all but
// the seat, which the others get CAs from, wait for it. Where nobody answers for
// the cluster there is nothing to keep, and none gets well before all have theirs.
func (n *node) turn() []state.Address {
	c := n.cluster
	if c.report == nil || c.view.targeted || !n.runs() || n.target == c.seat || n.sick() {
		return nil
	}
	var out []state.Address
	for _, o := range c.mendedBefore(n) {
		out = append(out, step(o.target, controlPlanePhase))
		if o.fails() {
			out = append(out, step(o.target, waitPlanePhase))
		}
	}
	well := slices.DeleteFunc(c.preceding(n), (*node).sick)
	if len(well) > 0 {
		out = append(out, step(well[len(well)-1].target, controlPlanePhase))
	}
	return out
}

// afterAll lets control planes of a cluster that does not answer wait for one
// another's certificates: an API server needs a quorum of etcd members that
// trust each other. In an upgrade they take their turns there as well.
func (n *node) afterAll() []state.Address {
	c := n.cluster
	if c.report != nil || !n.runs() || n.upgrades() {
		return nil
	}
	var out []state.Address
	for _, o := range c.running() {
		out = append(out, step(o.target, kubeconfigPhase), step(o.target, etcdPhase))
	}
	return out
}
