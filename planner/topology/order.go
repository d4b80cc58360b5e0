package topology

import (
	"slices"

	"github.com/kubewright/kubewright/state"
)

// Runs reports whether the node is a control plane that was one before this plan.
func (n *Node) Runs() bool {
	return n.IsControlPlane() && n.Report != nil && n.Report.Files[Manifest("kube-apiserver")].Exists && n.Report.Files[AdminConf].Exists
}

// Running returns the control planes that run already, the primary first.
func (c *Cluster) Running() []*Node {
	var out []*Node
	for _, n := range c.ControlPlanes() {
		switch {
		case !n.Runs():
		case n.Target == c.Primary:
			out = append([]*Node{n}, out...)
		default:
			out = append(out, n)
		}
	}
	return out
}

// InTurn returns the control planes that are there, in the order in which they take their
// turns. Whatever has one wait for another goes by it, so that no two wait for each
// other: first those that the others cannot go down beside, then those that are well,
// in the order of their certificates.
func (c *Cluster) InTurn() []*Node {
	out := c.Running()
	for _, n := range c.ControlPlanes() {
		if !n.Runs() && n.Report != nil && !n.Joins() {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b *Node) int { return int(a.condition() - b.condition()) })
	return out
}

// condition is what keeps a control plane from being well, in the order in which that is
// put right.
type condition int

const (
	// downAndStopped: its member of etcd is down, and an apply has stopped static pods
	// that do not come back by themselves.
	downAndStopped condition = iota
	// down: its member of etcd is, and beside it no other member is restarted.
	down
	// stopped: the others do not go down before its static pods are back.
	stopped
	// failing: the others wait until it is proved to run.
	failing
	// notServing: it does not serve, for another reason.
	notServing
	// degraded: something of it is stopped or fails, and it serves. It goes down when
	// those are back that do not, as it may be the last one that does.
	degraded
	// learning: it has begun to join, which ends before another one is added, since
	// etcd has one learner at a time.
	learning
	// entering: it goes on to join.
	entering
	// none: it is well.
	none
)

func (n *Node) condition() condition {
	here := n.Runs() || n.belongs()
	switch {
	case n.Joins():
		return none
	case here && n.MemberDown() && n.Stopped():
		return downAndStopped
	case here && n.MemberDown():
		return down
	case here && n.Serves() && n.Unhealthy():
		return degraded
	case here && n.Stopped():
		return stopped
	case n.Fails():
		return failing
	case here && n.Unhealthy():
		return notServing
	case here:
		return none
	case n.Cluster.Lists(n.PeerURL()):
		return learning
	}
	return entering
}

// belongs reports whether etcd counts a member on the control plane as a voter, or that it
// does not tell: what does not run there has run.
func (n *Node) belongs() bool {
	c := n.Cluster
	return c.Etcd.External != nil || c.Seen == nil || len(c.Seen.Members) == 0 || c.Votes(n.PeerURL())
}

// Preceding returns the control planes whose turn comes before that of a node: all of them
// where it has none itself, as it joins or leaves.
func (c *Cluster) Preceding(n *Node) []*Node {
	order := c.InTurn()
	if i := slices.Index(order, n); i >= 0 {
		return order[:i]
	}
	return order
}

// MendedBefore returns the control planes that are mended before it is a node's turn. Who
// only goes on to join has nothing to mend.
func (c *Cluster) MendedBefore(n *Node) []*Node {
	return slices.DeleteFunc(c.Preceding(n), func(o *Node) bool { return !o.Unhealthy() || !o.Runs() && !o.belongs() })
}

// Turn lets certificates of control planes that run change one control plane
// after the other: only when everything on one is proved to be well with its new
// ones does the next get its own. One that is sick waits for nobody, and all but
// the primary, which the others get CAs from, wait for it. Where nobody answers for
// the cluster there is nothing to keep, and none gets well before all have theirs.
func (n *Node) Turn() []state.Address {
	c := n.Cluster
	if c.Report == nil || c.Fleet.Targeted || !n.Runs() || n.Target == c.Primary || n.Unhealthy() {
		return nil
	}
	var out []state.Address
	for _, o := range c.MendedBefore(n) {
		out = append(out, StepAddress(o.Target, ControlPlanePhase))
		if o.Fails() {
			out = append(out, StepAddress(o.Target, WaitControlPlanePhase))
		}
	}
	well := slices.DeleteFunc(c.Preceding(n), (*Node).Unhealthy)
	if len(well) > 0 {
		out = append(out, StepAddress(well[len(well)-1].Target, ControlPlanePhase))
	}
	return out
}

// AfterAll lets control planes of a cluster that does not answer wait for one
// another's certificates: an API server needs a quorum of etcd members that
// trust each other. In an upgrade they take their turns there as well.
func (n *Node) AfterAll() []state.Address {
	c := n.Cluster
	if c.Report != nil || !n.Runs() || n.Upgrades() {
		return nil
	}
	var out []state.Address
	for _, o := range c.Running() {
		out = append(out, StepAddress(o.Target, KubeconfigPhase), StepAddress(o.Target, EtcdPhase))
	}
	return out
}
