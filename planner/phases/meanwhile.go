package phases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// What a plan says of the API and of etcd's quorum while it restarts something
// names those only that were seen to be well, or have joined by then. The gates
// look again, right before each act.

// apiMeanwhile says where the API is while a phase restarts this control plane's.
func (n *node) apiMeanwhile(phase string) string {
	c := n.cluster
	if others := n.servingBeside(phase); len(others) > 0 {
		return "; the API stays up on " + strings.Join(others, ", ")
	}
	runs := slices.ContainsFunc(c.controlPlanes(), func(o *node) bool { return o != n && n.counts(o, phase) })
	switch {
	case c.report == nil:
		return "; whether the API is served elsewhere is not known"
	case runs && n.serves():
		return "; no other control plane was seen to serve the API, and without one this is refused"
	case runs:
		return "; no control plane was seen to serve the API"
	case len(n.otherPlanes()) > 0:
		return "; the API is down while it restarts, since no other control plane runs yet"
	}
	return "; the API is down while it restarts, since this is the only control plane"
}

// servingBeside are the control planes that serve the API while a phase restarts
// this one's.
func (n *node) servingBeside(phase string) []string {
	c := n.cluster
	var out []string
	for _, o := range c.controlPlanes() {
		if o != n && n.counts(o, phase) && (o.joining() || o.serves()) {
			out = append(out, o.short())
		}
	}
	if n.moment(phase) != beforeAll {
		return out
	}
	for _, l := range c.parting() {
		if c.node(l.target) == nil && c.showsReady(l.Name) {
			out = append(out, shortName(l.target))
		}
	}
	return out
}

// pair tells that etcd has two voters when a phase restarts this control plane's:
// it needs both, so that nothing is served while one does.
func (n *node) pair(phase string) bool { return len(n.cluster.votersAt(n.moment(phase))) == 2 }

// etcdMeanwhile says who holds quorum while a phase restarts this node's member.
func (n *node) etcdMeanwhile(phase string) string {
	voters := n.cluster.votersAt(n.moment(phase))
	var healthy, sick []string
	for _, m := range voters {
		switch {
		case slices.Contains(m.PeerURLs, n.peerURL()):
		case m.Healthy:
			healthy = append(healthy, n.cluster.memberName(m))
		default:
			sick = append(sick, n.cluster.memberName(m))
		}
	}
	switch {
	case n.cluster.Etcd.External != nil || len(voters) == 1 || len(voters) == 0 && len(n.otherPlanes()) == 0:
		return ""
	case len(voters) == 0:
		return "; whether the other members hold quorum is not known"
	case len(voters) == 2:
		return "; etcd has no quorum meanwhile, and the API does not answer"
	case len(sick) == 0:
		return "; quorum is held by the other members"
	case len(healthy) > len(voters)/2:
		return "; quorum is held by " + strings.Join(healthy, ", ")
	}
	return "; quorum is held when " + are(sick) + " back, and before that this is refused"
}

// memberName is how a member of etcd is called in a sentence: as its node is.
func (c *cluster) memberName(m state.EtcdMember) string {
	for _, n := range c.controlPlanes() {
		if slices.Contains(m.PeerURLs, n.peerURL()) {
			return n.short()
		}
	}
	for _, l := range c.parting() {
		if slices.Contains(m.PeerURLs, l.peerURL()) {
			return shortName(l.target)
		}
	}
	if m.Name == "" {
		return m.ID
	}
	return m.Name
}

// throughout is the sentence about members of etcd of which none comes or goes.
func (c *cluster) throughout(steps []planner.Step) string {
	voters := c.votersAt(anyMoment)
	if len(voters) == 0 {
		planes := len(c.controlPlanes())
		if c.seen == nil {
			return fmt.Sprintf("%s by the configuration; the API does not answer, so that it is not known whether they hold quorum.", members(planes))
		}
		return fmt.Sprintf("%s by the configuration; etcd did not say who they are, so that it is not known whether they hold quorum.", members(planes))
	}
	need := len(voters)/2 + 1
	var healthy, sick []string
	for _, m := range voters {
		if m.Healthy {
			healthy = append(healthy, c.memberName(m))
		} else {
			sick = append(sick, c.memberName(m))
		}
	}
	text := fmt.Sprintf("%s throughout, quorum %d", members(len(voters)), need)
	switch {
	case len(healthy) < need:
		return fmt.Sprintf("%s, which is not there now: %s not healthy.", text, are(sick))
	case len(sick) > 0:
		return fmt.Sprintf("%s; %s not healthy, and what would leave fewer than %d that are is refused.", text, are(sick), need)
	case len(voters) == 1:
		return "1 member throughout."
	case len(voters) == 2 && slices.ContainsFunc(steps, func(s planner.Step) bool { return c.node(s.Target) != nil && planner.RestartsMember(&s) }):
		return text + ", which is not there while one of them restarts."
	}
	return text + " held at every step."
}

// are lists names with their verb.
func are(names []string) string {
	verb := " is"
	if len(names) > 1 {
		verb = " are"
	}
	return strings.Join(names, ", ") + verb
}
