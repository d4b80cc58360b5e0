package staticpod

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// RestartWindow returns the position in the plan of a phase that restarts something here. New control
// planes join first: they have the new settings from the start, and serve while the others restart.
// They cannot in an upgrade, since no kubelet may be newer than an API server. Nor can they where the
// endpoint moves, since they join through the new one, and where one etcd member would become two: a
// single member has quorum again after its restart, while one of two takes it away. The departing host
// that the endpoint moves away from does not leave first either.
func RestartWindow(n *topology.Node, phase string) topology.RestartWindow {
	c := n.Cluster
	raises := c.Up != nil && c.Up.Raises
	switch {
	case c.Report == nil || c.Founding || c.Fleet.Targeted:
		return topology.AnyWindow
	case !n.Unhealthy():
	case raises && phase != topology.KubeletStartPhase:
		return topology.BeforeJoins // all departures come before the first risk
	case !raises && phase != topology.ControlPlanePhase && n.MemberCondition() != quorum.VoterDown && slices.ContainsFunc(c.Departing(), topology.Departure.Dead):
		return topology.BeforeAll // beside a dead member no other one restarts
	default:
		return topology.AnyWindow
	}
	joinsLater := len(c.Newcomers()) > 0 && (len(pki.FormerHosts(c)) > 0 || becomesPair(c))
	switch {
	case raises && (phase != topology.KubeletStartPhase || joinsLater):
		return topology.BeforeJoins
	case joinsLater || len(calledDepartures(c)) > 0:
		return topology.BeforeAll
	}
	return topology.AfterAll
}

// RestartGates returns the gates of a step that restarts etcd or an API server.
func RestartGates() []string { return []string{planner.APIGate, planner.QuorumGate} }

// becomesPair reports whether joins make a single etcd member two.
func becomesPair(c *topology.Cluster) bool {
	before := c.Voters()
	after := before
	for _, l := range c.Departing() {
		after = quorum.Act{PeerURL: l.PeerURL()}.After(after)
	}
	for _, n := range c.Newcomers() {
		after = quorum.Act{PeerURL: n.PeerURL(), Add: true}.After(after)
	}
	return len(before) == 1 && len(after) == 2
}

// Disruptions orders the steps that restart static pods of control planes relative to joins and
// departures.
func Disruptions(b *topology.Builder, c *topology.Cluster) {
	if c.Report == nil || c.Founding || c.Fleet.Targeted {
		return
	}
	newcomers, parting := c.Newcomers(), c.Departing()
	for _, n := range newcomers {
		afterUnhealthy(b, c, n, topology.StepAddress(n.Target, topology.KubeletStartPhase))
	}
	for _, s := range b.Draft.Steps {
		n := c.Node(s.Target)
		if n == nil || n.Joins() || s.ID.Waypoint != "" || !slices.Contains(s.Gates, planner.APIGate) {
			continue
		}
		afterUnhealthy(b, c, n, s.ID)
		at := RestartWindow(n, s.Phase)
		for _, o := range newcomers {
			switch at {
			case topology.AfterAll:
				b.After(s.ID, topology.StepAddress(o.Target, topology.WaitControlPlanePhase))
			case topology.BeforeAll, topology.BeforeJoins:
				b.After(topology.StepAddress(o.Target, topology.KubeletStartPhase), s.ID)
			}
		}
		for _, l := range parting {
			switch {
			case at == topology.AnyWindow:
			case at == topology.BeforeAll && !l.Dead():
				b.After(topology.StepAddress(l.Target, topology.ResetPhase), s.ID)
			default:
				b.After(s.ID, topology.StepAddress(l.Target, topology.ResetPhase))
			}
		}
	}
}

// afterUnhealthy makes a step on a control plane, including one that joins, wait for the steps on
// unhealthy control planes whose turn comes before: these may repair them, and no other one may go down
// before that.
func afterUnhealthy(b *topology.Builder, c *topology.Cluster, n *topology.Node, id state.Address) {
	for _, o := range c.MendedBefore(n) {
		b.After(id, topology.StepAddress(o.Target, topology.EtcdPhase))
		b.After(id, topology.StepAddress(o.Target, topology.ControlPlanePhase))
	}
}

// JoinsFirst reports whether new control planes join before running ones restart, so that no part of
// their join waits for a restart of the primary.
func JoinsFirst(c *topology.Cluster) bool {
	primary := c.PrimaryNode()
	return len(c.Newcomers()) > 0 && primary != nil && RestartWindow(primary, topology.ControlPlanePhase) == topology.AfterAll
}
