package staticpod

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// RestartWindow returns the place in the plan of a phase that restarts something here. Newcomers join first: they
// have the new settings from the start, and serve while the others restart. In an
// upgrade they cannot, since no kubelet may be newer than an API server. They do
// not either where the endpoint moves, since they join by the new one, and where
// one member of etcd would become two: it had quorum by itself when it restarts,
// and would not have it then. Nor does the host leave first from which the endpoint
// moves away.
func RestartWindow(n *topology.Node, phase string) topology.RestartWindow {
	c := n.Cluster
	raises := c.Up != nil && c.Up.Raises
	switch {
	case c.Report == nil || c.Founding || c.Fleet.Targeted:
		return topology.AnyWindow
	case !n.Unhealthy():
	case raises && phase != topology.KubeletStartPhase:
		return topology.BeforeJoins // all that leave do so before the first risk
	case !raises && phase != topology.ControlPlanePhase && !n.MemberDown() && slices.ContainsFunc(c.Departing(), topology.Departure.Dead):
		return topology.BeforeAll // beside a member that is dead no other one restarts
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

// becomesPair reports whether newcomers make two members of etcd of one.
func becomesPair(c *topology.Cluster) bool {
	return c.Etcd.External == nil && len(c.VotersAt(topology.AnyWindow)) == 1 && len(c.VotersAt(topology.AfterAll)) == 2
}

// Disruptions puts the steps that restart static pods of control planes in order
// with those by which others come and go.
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

// afterUnhealthy has a step on a control plane, be it one that joins, wait for what is done
// on those that are sick and whose turn comes before: it may mend them, and nobody can
// go down before.
func afterUnhealthy(b *topology.Builder, c *topology.Cluster, n *topology.Node, id state.Address) {
	for _, o := range c.MendedBefore(n) {
		b.After(id, topology.StepAddress(o.Target, topology.EtcdPhase))
		b.After(id, topology.StepAddress(o.Target, topology.ControlPlanePhase))
	}
}

// JoinsFirst reports whether newcomers join before what runs is restarted, so that
// nothing of their join waits for a restart of the primary.
func JoinsFirst(c *topology.Cluster) bool {
	primary := c.PrimaryNode()
	return len(c.Newcomers()) > 0 && primary != nil && RestartWindow(primary, topology.ControlPlanePhase) == topology.AfterAll
}

// ServesBeside reports whether a control plane is one to serve the API while a step
// restarts it elsewhere: it was seen to run, or has joined by then. Where there is
// none, the plan has said that the API is down meanwhile.
func ServesBeside(v *topology.Fleet, s *planner.Step, other state.Target) bool {
	c := v.ClusterOf(s.Target)
	if c == nil || c.Node(s.Target) == nil {
		return true
	}
	o := c.Node(other)
	return o != nil && o != c.Node(s.Target) && counts(c.Node(s.Target), o, s.Phase)
}

// counts reports whether another control plane runs when a phase restarts something here.
func counts(n *topology.Node, o *topology.Node, phase string) bool {
	if o.Joining() {
		return RestartWindow(n, phase) == topology.AfterAll
	}
	return o.Runs() || o.Serves()
}
