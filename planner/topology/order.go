package topology

import (
	"slices"

	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/state"
)

// Runs reports whether the node was a control plane before this plan.
func (n *Node) Runs() bool {
	return n.IsControlPlane() && n.Report != nil && n.Report.Files[Manifest("kube-apiserver")].Exists && n.Report.Files[AdminConf].Exists
}

// Running returns the control planes that already run, the primary first.
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

// InTurn returns the existing control planes in the order in which they are changed. Every wait of
// one for another follows this order, so that no two wait for each other: first those that have to
// be repaired before others may go down, then the healthy ones, in the order of their certificates.
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

// condition is why a control plane is not healthy, in the order of repair.
type condition int

const (
	// downAndStopped: its etcd member is down, and an apply has stopped static pods that do not
	// restart by themselves.
	downAndStopped condition = iota
	// down: its etcd member is down, and no other member is restarted meanwhile.
	down
	// stopped: the others do not go down before its static pods run again.
	stopped
	// failing: the others wait until it is proved to run.
	failing
	// notServing: it does not serve, for another reason.
	notServing
	// degraded: something of it is stopped or fails, but it serves. It goes down only after those
	// that do not serve are repaired, as it may be the last one that does.
	degraded
	// learning: it has begun to join. That is completed before another member is added, since etcd
	// has one learner at a time.
	learning
	// entering: its join continues.
	entering
	// none: it is healthy.
	none
)

func (n *Node) condition() condition {
	here, member := n.Runs() || n.belongs(), n.MemberCondition()
	switch {
	case n.Joins():
		return none
	case here && member == quorum.VoterDown && n.Stopped():
		return downAndStopped
	case here && member == quorum.VoterDown:
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
	case member > quorum.Unlisted:
		return learning
	}
	return entering
}

// belongs reports whether etcd lists a voter on the control plane, or the members are unknown: a
// component that does not run there has run before.
func (n *Node) belongs() bool {
	member := n.MemberCondition()
	return member == quorum.Unknown || member >= quorum.VoterDown
}

// Preceding returns the control planes that are changed before a node: all of them if it has no
// turn itself, because it joins or is removed.
func (c *Cluster) Preceding(n *Node) []*Node {
	order := c.InTurn()
	if i := slices.Index(order, n); i >= 0 {
		return order[:i]
	}
	return order
}

// MendedBefore returns the control planes that are repaired before a node is changed. A node that
// only continues to join needs no repair.
func (c *Cluster) MendedBefore(n *Node) []*Node {
	return slices.DeleteFunc(c.Preceding(n), func(o *Node) bool { return !o.Unhealthy() || !o.Runs() && !o.belongs() })
}

// Turn returns the steps that the certificate step of a running control plane waits for:
// certificates change on one control plane after the other, and the next one gets its own only when
// everything on the previous one is proved to be healthy. An unhealthy control plane waits for
// none, and all except the primary, from which the others get CAs, wait for it. While the API does
// not answer there is nothing to preserve, and none becomes healthy before all have their
// certificates.
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

// AfterAll makes control planes of a cluster that does not answer wait for each other's
// certificates: an API server needs a quorum of etcd members that trust each other. In an upgrade
// they are still changed one at a time.
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
