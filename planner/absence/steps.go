package absence

import (
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Withhold returns the steps of a draft that wait until the missing control planes are back, with a
// clause each that says why. What is left neither changes the membership of etcd nor takes another
// member or API server away, and leaves nothing half done:
//
//   - A step that changes etcd's members, or disrupts a control plane, is withheld. Steps say so
//     themselves, by the limits and gates that they run under. That holds also where a majority would
//     remain: the next failure would take it.
//   - While the version changes or the endpoint moves, only labels, taints, addons and the removal of
//     workers are left: everything else belongs to a sequence that includes the missing ones.
//   - A file that the components of a control plane read is not written while the step is withheld in
//     which they would read it.
//
// Steps that need a withheld one are left out when the plan is assembled.
func (a *Absence) Withhold(steps []planner.Step) map[state.Address]string {
	out := map[state.Address]string{}
	for i := range steps {
		if why := a.reason(&steps[i]); why != "" {
			out[steps[i].ID] = why
		}
	}
	for i := range steps {
		id := steps[i].ID
		if id.Phase != topology.CertsPhase && id.Phase != topology.KubeconfigPhase || out[id] != "" {
			continue
		}
		n := a.cluster.Node(id.Target)
		if n == nil || !n.IsControlPlane() {
			continue
		}
		for _, phase := range []string{topology.EtcdPhase, topology.ControlPlanePhase, topology.KubeletStartPhase} {
			reader := id
			if reader.Phase = phase; out[reader] != "" {
				out[id] = fmt.Sprintf("would be read only in %s, which is withheld", reader)
				break
			}
		}
	}
	return out
}

// reason returns why a step is withheld by itself; empty if it is not, or is of another cluster.
func (a *Absence) reason(s *planner.Step) string {
	c := a.cluster
	n := c.Node(s.Target)
	switch {
	case planner.ChangesMembers(s), slices.Contains(s.Limits, c.Limit("etcd-membership")) && !planner.RestartsMember(s):
		return fmt.Sprintf("changes the members of etcd while %s %s missing: %s", a.Names(), a.verb(), a.Quorum())
	case n != nil && planner.RestartsMember(s):
		return a.restart(s, n)
	case slices.Contains(s.Limits, c.Limit("control-plane-disruption")), n != nil && n.IsControlPlane() && slices.Contains(s.Gates, planner.APIGate):
		return fmt.Sprintf("disrupts another control plane while %s %s missing", a.Names(), a.verb())
	case a.leaves(s.Target):
		return fmt.Sprintf("belongs to the removal of a control plane, which changes the members of etcd while %s %s missing", a.Names(), a.verb())
	case n != nil && n.IsControlPlane() && (n.Joins() || c.Fleet.Replaces(n.Target)):
		return fmt.Sprintf("belongs to the join of a control plane, which changes the members of etcd while %s %s missing", a.Names(), a.verb())
	case !a.owns(s.Target) || independent(s):
		return ""
	case c.Up != nil:
		return fmt.Sprintf("belongs to the change of versions, which begins or continues with all control planes; %s %s missing", a.Names(), a.verb())
	case len(pki.FormerHosts(c)) > 0:
		return fmt.Sprintf("belongs to the move of the endpoint, which begins or continues with all control planes; %s %s missing", a.Names(), a.verb())
	case s.ID.Waypoint != "":
		return fmt.Sprintf("belongs to a sequence of steps on all control planes; %s %s missing", a.Names(), a.verb())
	}
	return ""
}

// restart returns why a restart of an etcd member is withheld, by the rule of the gate that the step
// would meet.
func (a *Absence) restart(s *planner.Step, n *topology.Node) string {
	left := a.healthy
	for _, m := range n.Cluster.VotersAt(topology.AnyWindow) {
		if m.Healthy && slices.Contains(m.PeerURLs, n.PeerURL()) {
			left--
		}
	}
	clause := fmt.Sprintf("restarts the member of etcd on %s while %s %s missing", n.Short(), a.Names(), a.verb())
	if err := quorum.Allows(s, n.PeerURL(), n.Cluster.Seen.Members); err != nil && left < a.quorum() {
		return fmt.Sprintf("%s: %d of %d members would be left, quorum is %d", clause, left, a.voters, a.quorum())
	}
	return clause + ": one more failure meanwhile would be one too many"
}

// leaves reports whether a target is a control plane that departs from the cluster.
func (a *Absence) leaves(t state.Target) bool {
	return slices.ContainsFunc(a.cluster.Departing(), func(l topology.Departure) bool { return l.Target == t })
}

// owns reports whether a target is the cluster, an addon of it, or a node that is in it or leaves it.
func (a *Absence) owns(t state.Target) bool {
	c := a.cluster
	if t.Type != state.TypeNode {
		return t.Name == c.Label
	}
	return c.Node(t) != nil || slices.ContainsFunc(c.Fleet.Departures(), func(l topology.Departure) bool { return l.Target == t && l.Cluster == c })
}

// independent reports whether a step depends neither on the version nor on the endpoint of its cluster.
func independent(s *planner.Step) bool {
	switch s.Phase {
	case topology.MarkControlPlanePhase, topology.MarkWorkerPhase, topology.ResetPhase:
		return s.ID.Waypoint == ""
	case topology.AddonPhase:
		return s.Target.Type == state.TypeAddon
	}
	return false
}
