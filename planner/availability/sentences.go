package availability

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Announce returns the plan in which each step that restarts etcd or an API server says in its impact
// what holds quorum and serves meanwhile, and has the gate for a downtime that the configuration
// accepts. Only members and API servers that were observed to be healthy, or have joined by then, are
// promised. The gates check again, right before each operation.
func Announce(v *topology.Fleet, p *planner.Plan) *planner.Plan {
	return p.WithSteps(func(s planner.Step) planner.Step {
		n := v.Find(s.Target)
		if n == nil || s.Phase == topology.ResetPhase || !slices.Contains(s.Gates, planner.APIGate) {
			return s
		}
		f := At(n.Cluster, p.Steps, s.ID)
		if len(f.Voters) == 2 && n.Cluster.Upgrade.AllowDowntime {
			s.Gates = []string{planner.APIGate, planner.DowntimeGate}
		}
		if what, then, more := strings.Cut(s.Impact, ";"); what != "" {
			s.Impact = what + f.meanwhile(n, &s)
			if more {
				s.Impact += ";" + then
			}
		}
		return s
	})
}

// meanwhile says what holds quorum and serves while a step restarts components of a control plane.
// Without the API none is known to serve, and only a step that stops several components says so.
func (f Frame) meanwhile(n *topology.Node, s *planner.Step) string {
	member, stops := planner.RestartsMember(s), slices.ContainsFunc(s.Operations, func(op planner.Operation) bool {
		gone, is := op.(planner.RemovePath)
		return is && planner.Serves(gone.Path)
	})
	server := planner.RestartsServer(s) && (stops || n.Cluster.Report != nil)
	switch {
	case member && server && len(f.Voters) != 2:
		return f.quorumHeld(n) + f.served(n)
	case member && len(f.Voters) != 1:
		return f.quorumHeld(n)
	case member || server:
		return f.served(n)
	}
	return ""
}

// served says where the API is served while that of a control plane restarts.
func (f Frame) served(n *topology.Node) string {
	c := n.Cluster
	var others []string
	runs := false
	for _, o := range f.Servers {
		runs = runs || o.Runs && o.Target != n.Target
		if o.Serves && o.Target != n.Target {
			others = append(others, topology.ShortName(o.Target))
		}
	}
	switch {
	case len(others) > 0:
		return "; the API stays up on " + strings.Join(others, ", ")
	case c.Report == nil:
		return "; whether the API is served elsewhere is unknown"
	case runs && n.Serves():
		return "; no other control plane was observed to serve the API, and without one this is refused"
	case runs:
		return "; no control plane was observed to serve the API"
	case len(n.OtherControlPlanes()) > 0:
		return "; the API is down while it restarts, because no other control plane runs yet"
	}
	return "; the API is down while it restarts, because this is the only control plane"
}

// quorumHeld says which members hold quorum while that of a control plane restarts.
func (f Frame) quorumHeld(n *topology.Node) string {
	healthy, sick := byHealth(n.Cluster, f.Voters, n.PeerURL())
	switch {
	case n.Cluster.Etcd.External != nil || len(f.Voters) == 1 || len(f.Voters) == 0 && len(n.OtherControlPlanes()) == 0:
		return ""
	case len(f.Voters) == 0:
		return "; whether the other members hold quorum is unknown"
	case len(f.Voters) == 2:
		return "; etcd has no quorum meanwhile, and the API does not answer"
	case len(sick) == 0:
		return "; quorum is held by the other members"
	case len(healthy) > len(f.Voters)/2:
		return "; quorum is held by " + strings.Join(healthy, ", ")
	}
	return "; quorum is held when " + are(sick) + " back, and before that this is refused"
}

// byHealth returns the names of the members other than the one at a peer URL.
func byHealth(c *topology.Cluster, members []state.EtcdMember, but string) (healthy, sick []string) {
	for _, m := range members {
		switch {
		case slices.Contains(m.PeerURLs, but):
		case m.Healthy:
			healthy = append(healthy, memberName(c, m))
		default:
			sick = append(sick, memberName(c, m))
		}
	}
	return healthy, sick
}

// memberName returns the name of an etcd member for a sentence: that of its node where it has one.
func memberName(c *topology.Cluster, m state.EtcdMember) string {
	for _, n := range c.ControlPlanes() {
		if slices.Contains(m.PeerURLs, n.PeerURL()) {
			return n.Short()
		}
	}
	for _, l := range c.Departing() {
		if slices.Contains(m.PeerURLs, l.PeerURL()) {
			return topology.ShortName(l.Target)
		}
	}
	if m.Name == "" {
		return m.ID
	}
	return m.Name
}

// SteadyMembership describes an etcd whose membership does not change.
func SteadyMembership(c *topology.Cluster, steps []planner.Step) string {
	voters := c.Voters()
	if len(voters) == 0 {
		planes := len(c.ControlPlanes())
		if c.Seen == nil {
			return fmt.Sprintf("%s by the configuration; the API does not answer, so that it is unknown whether they hold quorum.", Members(planes))
		}
		return fmt.Sprintf("%s by the configuration; etcd did not list them, so that it is unknown whether they hold quorum.", Members(planes))
	}
	need := len(voters)/2 + 1
	healthy, sick := byHealth(c, voters, "")
	text := fmt.Sprintf("%s throughout, quorum %d", Members(len(voters)), need)
	switch {
	case len(healthy) < need:
		return fmt.Sprintf("%s, which is not held now: %s not healthy.", text, are(sick))
	case len(sick) > 0:
		return fmt.Sprintf("%s; %s not healthy, and a step that would leave fewer than %d healthy is refused.", text, are(sick), need)
	case len(voters) == 1:
		return "1 member throughout."
	case len(voters) == 2 && slices.ContainsFunc(steps, func(s planner.Step) bool { return c.Node(s.Target) != nil && planner.RestartsMember(&s) }):
		return text + ", which is not held while one of them restarts."
	}
	return text + " held at every step."
}

// Members counts members of etcd in words.
func Members(n int) string {
	if n == 1 {
		return "1 member"
	}
	return fmt.Sprintf("%d members", n)
}

// are joins names and appends the matching form of the verb.
func are(names []string) string {
	verb := " is"
	if len(names) > 1 {
		verb = " are"
	}
	return strings.Join(names, ", ") + verb
}
