package etcd

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// QuorumHeld refuses a plan with a step that its gate would refuse, by what is known
// before anything has changed: it restarts a member of etcd while another one is down
// that nothing in the plan brings back before. Acts of membership are walked through
// (walk), and checkPairs refers to two members.
func QuorumHeld(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if c.Report == nil || v.Destroy || InRestore(c) {
			continue
		}
		for i := range p.Steps {
			s := &p.Steps[i]
			n := c.Node(s.Target)
			if n == nil || planner.ChangesMembers(s) || staticpod.StopsPair(n, s) || StartsMember(s, nil) && MemberDown(v, n.Target, n.Report) {
				continue // what does not run cannot be lost
			}
			if d := RefuseDown(n, s, votersBefore(n, p, s)); d != nil {
				diags.Append(d)
				break
			}
		}
	}
	return diags
}

// RefuseDown refuses a step on a control plane whose gate about etcd would refuse it
// with these voters; nil where it would not, or where nobody knows. Of alarms
// something else speaks.
func RefuseDown(n *topology.Node, s *planner.Step, voters []state.EtcdMember) *diag.Diagnostic {
	gated := slices.Contains(s.Gates, planner.QuorumGate) || slices.Contains(s.Gates, planner.DowntimeGate)
	if !gated || len(voters) == 0 || quorum.AlarmsAllow(s, voters) != nil {
		return nil
	}
	err := quorum.Allows(s, n.PeerURL(), voters)
	if err == nil {
		return nil
	}
	c := n.Cluster
	return diag.Errorf(membersDown, "Members of the etcd of cluster %q are down, and nothing in this plan brings them back before this step:\n\n  %s: %v.",
		c.Label, s.ID, err).At(c.Source).For(c.Target)
}

// votersBefore are etcd's voters when it is a step's turn. Another one that is down
// counts as well where something is done about it that does not wait for the step.
func votersBefore(n *topology.Node, p *planner.Plan, s *planner.Step) []state.EtcdMember {
	voters := n.Cluster.VotersAt(staticpod.RestartWindow(n, s.Phase))
	for i, m := range voters {
		voters[i].Healthy = m.Healthy || !slices.Contains(m.PeerURLs, n.PeerURL()) && broughtBack(n.Cluster, m, p, s)
	}
	return voters
}

// broughtBack reports whether a plan takes a member out, or does anything on its host, which
// may be what etcd needs to run there, and does not wait for a step before.
func broughtBack(c *topology.Cluster, m state.EtcdMember, p *planner.Plan, s *planner.Step) bool {
	behind := map[state.Address]bool{s.ID: true}
	for _, o := range p.Steps { // in an order in which what is needed comes first
		if slices.ContainsFunc(o.Needs, func(need state.Address) bool { return behind[need] }) {
			behind[o.ID] = true
			continue
		}
		at := c.Node(o.Target)
		mends := at != nil && slices.Contains(m.PeerURLs, at.PeerURL())
		leaves := o.Phase == topology.ResetPhase && slices.ContainsFunc(c.Departing(), func(l topology.Departure) bool {
			return l.Target == o.Target && slices.Contains(m.PeerURLs, l.PeerURL())
		})
		if mends || leaves {
			return true
		}
	}
	return false
}
