package staticpod

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// While something restarts, a plan reports as serving the API or holding etcd's quorum only control
// planes that were observed to be healthy, or that have joined by then. The gates check again, right
// before each operation.

// APIMeanwhile says where the API is served while a phase restarts this control plane's.
func APIMeanwhile(n *topology.Node, phase string) string {
	c := n.Cluster
	if others := servingBeside(n, phase); len(others) > 0 {
		return "; the API stays up on " + strings.Join(others, ", ")
	}
	runs := slices.ContainsFunc(c.ControlPlanes(), func(o *topology.Node) bool { return o != n && counts(n, o, phase) })
	switch {
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

// servingBeside returns the control planes that serve the API while a phase restarts this one's.
func servingBeside(n *topology.Node, phase string) []string {
	c := n.Cluster
	var out []string
	for _, o := range c.ControlPlanes() {
		if o != n && counts(n, o, phase) && (o.Joining() || o.Serves()) {
			out = append(out, o.Short())
		}
	}
	if RestartWindow(n, phase) != topology.BeforeAll {
		return out
	}
	for _, l := range c.Departing() {
		if c.Node(l.Target) == nil && c.ShowsReady(l.Name) {
			out = append(out, topology.ShortName(l.Target))
		}
	}
	return out
}

// HasTwoVoters reports whether etcd has two voters when a phase restarts this control plane's: it needs
// both for quorum, so that the API does not answer meanwhile.
func HasTwoVoters(n *topology.Node, phase string) bool {
	return len(n.Cluster.VotersAt(RestartWindow(n, phase))) == 2
}

// EtcdMeanwhile says which members hold quorum while a phase restarts this node's member.
func EtcdMeanwhile(n *topology.Node, phase string) string {
	voters := n.Cluster.VotersAt(RestartWindow(n, phase))
	healthy, sick := byHealth(n.Cluster, voters, n.PeerURL())
	switch {
	case n.Cluster.Etcd.External != nil || len(voters) == 1 || len(voters) == 0 && len(n.OtherControlPlanes()) == 0:
		return ""
	case len(voters) == 0:
		return "; whether the other members hold quorum is unknown"
	case len(voters) == 2:
		return "; etcd has no quorum meanwhile, and the API does not answer"
	case len(sick) == 0:
		return "; quorum is held by the other members"
	case len(healthy) > len(voters)/2:
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
	voters := c.VotersAt(topology.AnyWindow)
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

// are joins names and appends the matching form of the verb.
func are(names []string) string {
	verb := " is"
	if len(names) > 1 {
		verb = " are"
	}
	return strings.Join(names, ", ") + verb
}
