package etcd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner/absence"
	"github.com/kubewright/kubewright/planner/availability"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// MembershipChanges returns the changes of the cluster's etcd membership in execution order. Dead
// members are removed first, because every other change needs a majority of the rest, and so are
// learners, because etcd has one at a time. Then a learner of an interrupted apply is promoted, and
// dead members are replaced. Then members are added and removed in turn, so that their number stays
// between the old and the new one. Then nodes are replaced, one by one. The remaining removals come
// last.
func MembershipChanges(c *topology.Cluster) []quorum.Act {
	if c.Etcd.External != nil || c.Founding || c.Fleet.Destroy || c.Seen == nil {
		return nil
	}
	var dead, begun, back, comes, goes, replaced []quorum.Act
	readd := map[state.Target]quorum.Act{}
	for _, n := range c.ControlPlanes() {
		at := n.MemberCondition()
		if n.Report == nil || at >= quorum.VoterDown && !c.Fleet.Replaces(n.Target) {
			continue
		}
		add := quorum.Act{Step: topology.StepAddress(n.Target, topology.EtcdPhase), Name: n.NodeName, PeerURL: n.PeerURL(), Add: true}
		switch {
		case c.Fleet.Replaces(n.Target) && c.Fleet.Recorded.Nodes[n.Target].Role == string(config.ControlPlane):
			readd[n.Target] = add
		case at == quorum.LearnerDown || at == quorum.Learner:
			begun = append(begun, add)
		default:
			comes = append(comes, add)
		}
	}
	for _, l := range c.Fleet.Departures() {
		if l.Cluster != c || l.Whole || !l.Acts() || l.Role != string(config.ControlPlane) {
			continue
		}
		remove := quorum.Act{Step: topology.StepAddress(l.Target, topology.ResetPhase), Name: l.Name, PeerURL: l.PeerURL()}
		again, returns := readd[l.Target]
		switch at := c.MemberCondition(remove.PeerURL); {
		case at > quorum.Unlisted && at < quorum.Voter:
			dead = append(dead, remove)
			if returns {
				back = append(back, again)
			}
		case returns:
			replaced = append(replaced, remove, again)
		default:
			goes = append(goes, remove)
		}
	}
	out := slices.Concat(dead, begun, back)
	turns := min(len(comes), len(goes))
	for i := range turns {
		out = append(out, comes[i], goes[i])
	}
	return slices.Concat(out, comes[turns:], replaced, goes[turns:])
}

// CheckMembership simulates the membership changes in order, and refuses a plan if any prefix of
// them would lose quorum.
func CheckMembership(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if absence.Vouched(c) {
			continue // the changes are withheld
		}
		acts := MembershipChanges(c)
		if c.Seen == nil {
			continue // package pipeline refuses removals, and JoinsWithoutAPI refuses additions
		}
		if quorum.Alarmed(c.Seen.Members) != "" {
			continue // Alarms refuses any change
		}
		if len(c.Seen.Members) == 0 {
			// If no member is removed, the gate checks before one is added.
			if membersLeave(c) {
				diags.Append(refuseUntold(c))
			}
			continue
		}
		if moved := movedMembers(c); len(moved) > 0 {
			diags = append(diags, moved...)
		} else if d := strayLearner(c, acts); d != nil {
			diags.Append(d)
		} else if _, err := quorum.Walk(c.Seen.Members, acts); err != nil {
			diags.Append(diag.Errorf(wouldLoseQuorum, "Cluster %q: one of the membership changes of this plan cannot be made:\n\n  %v.\n\nThe order would be: %s.", c.Label, err, DescribeChanges(c, acts)).At(c.Source).For(c.Target))
		}
	}
	return diags
}

// strayLearner refuses to add members beside a learner that belongs to no known node: etcd accepts
// one at a time.
func strayLearner(c *topology.Cluster, acts []quorum.Act) *diag.Diagnostic {
	if !slices.ContainsFunc(acts, func(a quorum.Act) bool { return a.Add }) {
		return nil
	}
	for _, m := range c.Seen.Members {
		ours := slices.ContainsFunc(acts, func(a quorum.Act) bool { return slices.Contains(m.PeerURLs, a.PeerURL) })
		if m.Learner && !ours {
			return diag.Errorf(otherLearner, "Etcd of cluster %q already has a learner, a member without a vote, %s (%s), which is no node of the configuration. "+
				"Etcd accepts one learner at a time, so that no other member can join (%s). If a control plane is joining now, wait until that is done. "+
				"If none is, remove the member, and plan again:\n\n  etcdctl member remove %s",
				c.Label, cmp.Or(m.Name, "not started yet"), strings.Join(m.PeerURLs, ", "), DescribeChanges(c, acts), m.ID).At(c.Source).For(c.Target)
		}
	}
	return nil
}

// membersLeave reports whether nodes with etcd members are removed from a cluster that stays.
func membersLeave(c *topology.Cluster) bool {
	return c.Etcd.External == nil && !c.Founding && len(c.Departing()) > 0
}

// refuseUntold refuses to remove a member from an etcd whose other members, and their health, are
// unknown.
func refuseUntold(c *topology.Cluster) *diag.Diagnostic {
	return diag.Errorf("Etcd members are unknown", "A control plane of cluster %q is being removed, but etcd did not list its members: %s. "+
		"Bring API and etcd back first; if etcd has lost its quorum for good, %s recreates it from a snapshot.", c.Label, EtcdUnobserved(c), remedy.Restore).At(c.Source).For(c.Target)
}

// DescribeChanges lists changes for a sentence: cp4 joins, cp1 leaves.
func DescribeChanges(c *topology.Cluster, acts []quorum.Act) string {
	var out []string
	for _, a := range acts {
		verb := " leaves"
		if a.Add {
			verb = " joins"
		}
		out = append(out, topology.ShortName(a.Step.Target)+verb)
	}
	return strings.Join(out, ", ")
}

// DescribeWalk returns the sentence about changes: the number of members after each.
func DescribeWalk(c *topology.Cluster, acts []quorum.Act) string {
	sizes, err := quorum.Walk(c.Seen.Members, acts)
	if err != nil || len(sizes) != len(acts) {
		return "membership changes: " + DescribeChanges(c, acts) + "."
	}
	before := len(c.Voters())
	out := fmt.Sprintf("%s, quorum %d", availability.Members(before), before/2+1)
	for i, a := range acts {
		if !a.Add && c.MemberCondition(a.PeerURL) <= quorum.Unlisted {
			continue // etcd does not list the departing member
		}
		out += fmt.Sprintf(" → %s: %d, quorum %d", DescribeChanges(c, []quorum.Act{a}), sizes[i], sizes[i]/2+1)
	}
	return out + "; held at every step."
}

// OrderMembershipChanges makes the changes run one after another in the simulated order: a removal
// waits for all changes before it, and an addition for the removals before it. OrderJoins orders
// additions.
func OrderMembershipChanges(b *topology.Builder, c *topology.Cluster) {
	acts := MembershipChanges(c)
	for i, a := range acts {
		for _, before := range acts[:i] {
			done := before.Step
			if before.Add {
				done.Phase = topology.WaitControlPlanePhase
			}
			switch at := c.MemberCondition(before.PeerURL); {
			case a.Add && !before.Add:
				b.After(a.Step, done)
			case a.Add && (at == quorum.LearnerDown || at == quorum.Learner):
				b.After(a.Step, before.Step)
			case !a.Add:
				b.After(a.Step, done)
				b.After(topology.StepAddress(a.Step.Target, topology.DrainPhase), done)
			}
		}
	}
}

// The findings that a gate would refuse a step of the plan.
const (
	wouldLoseQuorum = "Plan would lose etcd quorum"
	pairStops       = "Etcd would lose quorum"
	otherLearner    = "Etcd has another learner"
	joinsInTheDark  = "Control plane cannot join now"
	membersDown     = "Etcd members are down"
	Alarmed         = "Etcd has an alarm" // a warning if the plan has no steps for the cluster
)

// Refused reports whether a finding means that a gate would refuse a step of the plan.
func Refused(d *diag.Diagnostic) bool {
	return slices.Contains([]string{wouldLoseQuorum, pairStops, otherLearner, joinsInTheDark, membersDown, Alarmed}, d.Summary)
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// PrimaryFirst returns the control planes, the primary first.
func PrimaryFirst(c *topology.Cluster) []*topology.Node {
	out := slices.Clone(c.ControlPlanes())
	slices.SortStableFunc(out, func(a, b *topology.Node) int {
		return boolOrder(b.Target == c.Primary) - boolOrder(a.Target == c.Primary)
	})
	return out
}
