package etcd

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/availability"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// CheckRestarts refuses a plan with a step whose etcd gate would refuse it, given what is known before
// anything has changed: it restarts one of two members, and the configuration does not accept that the
// API does not answer meanwhile; or it restarts a member while another one is down that nothing in the
// plan brings back before. CheckMembership covers membership changes.
func CheckRestarts(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if c.Report == nil || v.Destroy {
			continue
		}
		var pair []string
		var down *diag.Diagnostic
		for i := range p.Steps {
			s := &p.Steps[i]
			n := c.Node(s.Target)
			if n == nil || !gated(s) || planner.ChangesMembers(s) {
				continue
			}
			switch f := availability.At(c, p.Steps, s.ID); {
			case len(f.Voters) == 2 && slices.Contains(s.Gates, planner.QuorumGate) && planner.RestartsMember(s):
				pair = append(pair, s.ID.String())
			case down != nil || InRestore(c) || StartsMember(s, nil) && MemberDown(v, n.Target, n.Report): // a member that is down cannot be lost
			default:
				down = RefuseDown(n, s, f.Repaired(n.PeerURL()))
			}
		}
		if len(pair) > 0 {
			diags.Append(stopsPair(c, pair))
		}
		if down != nil {
			diags.Append(down)
		}
	}
	return diags
}

func gated(s *planner.Step) bool {
	return slices.Contains(s.Gates, planner.QuorumGate) || slices.Contains(s.Gates, planner.DowntimeGate)
}

// RefuseDown refuses a step on a control plane whose etcd gate would refuse it with these voters;
// nil if the gate would pass, or if the voters are unknown. Alarms reports alarms.
func RefuseDown(n *topology.Node, s *planner.Step, voters []state.EtcdMember) *diag.Diagnostic {
	if !gated(s) || len(voters) == 0 || quorum.AlarmsAllow(s, voters) != nil {
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
