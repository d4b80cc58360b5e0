package absence

import (
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
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
//     which they would read it: one that restarts meanwhile would read it out of turn.
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
		n := a.cluster.Node(id.Target)
		if n == nil || !n.IsControlPlane() || out[id] != "" {
			continue
		}
		for _, phase := range readIn(n, &steps[i]) {
			reader := id
			if reader.Phase = phase; out[reader] != "" {
				out[id] = fmt.Sprintf("is read by a component only in %s here, which is withheld", phase)
				break
			}
		}
	}
	return out
}

// readIn returns the phases in which the components of a control plane read what a step writes.
func readIn(n *topology.Node, s *planner.Step) []string {
	switch s.Phase {
	case topology.CertsPhase, topology.KubeconfigPhase:
		return []string{topology.EtcdPhase, topology.ControlPlanePhase, topology.KubeletStartPhase}
	case topology.HostFilesPhase:
		var out []string
		for _, op := range s.Operations {
			for _, path := range planner.Overwrites(op) {
				if n.Report == nil || !n.Report.Files[path].Exists {
					continue // which nothing reads yet
				}
				for _, component := range topology.ReadersOfFile(n, path) {
					if component == "etcd" || slices.Contains(topology.ControlPlaneVersions, component) {
						out = append(out, staticpod.PodPhase(component))
					}
				}
			}
		}
		return out
	}
	return nil
}

// reason returns why a step is withheld by itself; empty if it is not, or is of another cluster. It
// does not name the step's own target, so that the steps of several nodes have the same reason.
func (a *Absence) reason(s *planner.Step) string {
	c := a.cluster
	n := c.Node(s.Target)
	plane := n != nil && n.IsControlPlane()
	meanwhile := fmt.Sprintf("while %s %s missing", a.Names(), a.verb())
	switch {
	case a.leaves(s.Target), plane && c.Fleet.Replaces(n.Target):
		return fmt.Sprintf("removes a control plane, and with it a member of etcd, %s: %s", meanwhile, a.Quorum())
	case plane && n.Joins():
		return fmt.Sprintf("adds a control plane, and with it a member of etcd, %s: %s", meanwhile, a.Quorum())
	case planner.ChangesMembers(s) && (n != nil || slices.Contains(s.Limits, c.Limit("etcd-membership"))):
		return fmt.Sprintf("adds or removes a member of etcd %s: %s", meanwhile, a.Quorum())
	case plane && planner.RestartsMember(s):
		return fmt.Sprintf("restarts a member of etcd %s: %s", meanwhile, a.after(s, n))
	case plane && slices.Contains(s.Gates, planner.APIGate):
		return fmt.Sprintf("restarts a component of a control plane %s: %d of %d serve the API", meanwhile, a.serving(), len(c.ControlPlanes()))
	case slices.Contains(s.Limits, c.Limit("control-plane-disruption")), slices.Contains(s.Limits, c.Limit("etcd-membership")):
		return "disrupts another control plane " + meanwhile
	case !a.owns(s.Target) || a.independent(s):
		return ""
	case c.Up != nil:
		return fmt.Sprintf("belongs to an upgrade, which takes all control planes; %s %s missing", a.Names(), a.verb())
	case len(pki.FormerHosts(c)) > 0:
		return fmt.Sprintf("belongs to the move of the endpoint, which takes all control planes; %s %s missing", a.Names(), a.verb())
	case s.ID.Waypoint != "" && !accompanies(s):
		return fmt.Sprintf("belongs to a sequence that takes all control planes; %s %s missing", a.Names(), a.verb())
	}
	return ""
}

// accompanies reports whether a step exists for others, and goes with them: the pause between two batches
// of workers, the removal of the tokens with which they join, and that of files which a step ceases to use.
func accompanies(s *planner.Step) bool {
	return s.Phase == topology.PausePhase || s.Phase == topology.TokenPhase || s.Phase == topology.HostFilesPhase
}

// after returns a clause about etcd while the member on a node restarts.
func (a *Absence) after(s *planner.Step, n *topology.Node) string {
	left := a.healthy
	if n.MemberCondition() != quorum.Voter {
		return a.Quorum() // it takes none away, but is not known to return
	}
	if left--; left < a.quorum() {
		return fmt.Sprintf("%d of %d would be left, quorum is %d", left, a.voters, a.quorum())
	}
	return fmt.Sprintf("%d of %d would be left, quorum is %d, and one more failure would be one too many", left, a.voters, a.quorum())
}

// serving counts the control planes that serve the API.
func (a *Absence) serving() int {
	count := 0
	for _, o := range a.cluster.ControlPlanes() {
		if o.Report != nil && a.cluster.ShowsReady(o.NodeName) {
			count++
		}
	}
	return count
}

// leaves reports whether a target is a control plane that departs from the cluster.
func (a *Absence) leaves(t state.Target) bool {
	return slices.ContainsFunc(a.cluster.Departing(), func(l topology.Departure) bool { return l.Target == t })
}

// Apart returns the steps of a draft that label and taint nodes which are in the cluster already: they
// come after the steps in which a node joins, and do not depend on them any more.
func (a *Absence) Apart(steps []planner.Step) map[state.Address]bool {
	out := map[state.Address]bool{}
	for i := range steps {
		s := &steps[i]
		if n := a.cluster.Node(s.Target); n != nil && n.Report != nil && !n.Joins() && !a.cluster.Fleet.Replaces(n.Target) &&
			(s.Phase == topology.MarkWorkerPhase || s.Phase == topology.MarkControlPlanePhase) {
			out[s.ID] = true
		}
	}
	return out
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
func (a *Absence) independent(s *planner.Step) bool {
	switch s.Phase {
	case topology.DrainPhase:
		return a.cluster.Node(s.Target) == nil // a worker that leaves, and has to be drained before
	case topology.MarkControlPlanePhase, topology.MarkWorkerPhase, topology.ResetPhase:
		return s.ID.Waypoint == ""
	case topology.AddonPhase:
		return s.Target.Type == state.TypeAddon
	}
	return false
}
