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

// QuorumHeld refuses a plan with a step that its gate would refuse, given what is known before
// anything has changed: the step restarts an etcd member while another one is down that nothing in
// the plan brings back before. CheckMembership covers membership changes, and staticpod.CheckPairs
// clusters of two members.
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
				continue // a member that is down cannot be lost
			}
			if d := RefuseDown(n, s, votersBefore(n, p, s)); d != nil {
				diags.Append(d)
				break
			}
		}
	}
	return diags
}

// RefuseDown refuses a step on a control plane whose etcd gate would refuse it with these voters;
// nil if the gate would pass, or if the voters are unknown. Alarms reports alarms.
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

// votersBefore returns etcd's voters at the time of a step. Another voter that is down counts as
// healthy if the plan repairs it without waiting for this step.
func votersBefore(n *topology.Node, p *planner.Plan, s *planner.Step) []state.EtcdMember {
	voters := n.Cluster.VotersAt(staticpod.RestartWindow(n, s.Phase))
	for i, m := range voters {
		voters[i].Healthy = m.Healthy || !slices.Contains(m.PeerURLs, n.PeerURL()) && broughtBack(n.Cluster, m, p, s)
	}
	return voters
}

// broughtBack reports whether a plan removes a member, or changes anything on its host, which may
// be what etcd needs to run there, without waiting for the step s.
func broughtBack(c *topology.Cluster, m state.EtcdMember, p *planner.Plan, s *planner.Step) bool {
	behind := map[state.Address]bool{s.ID: true}
	for _, o := range p.Steps { // in an order in which needs come first
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
