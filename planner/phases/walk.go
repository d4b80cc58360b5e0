package phases

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// acts are the changes of the cluster's etcd membership in the order in which
// they are made. Dead members go first, because every other act needs a majority
// of those that are left, and learners, because etcd has one at a time; then one is
// promoted that an apply has left as a learner, and the dead are replaced. Then
// members come and go by turns, so that neither more hosts than necessary are members
// nor fewer than there will be; then nodes are replaced, each by itself; what only
// goes, goes last.
func (c *cluster) acts() []planner.Act {
	if c.Etcd.External != nil || c.founding || c.view.Destroy || c.seen == nil {
		return nil
	}
	var dead, begun, back, comes, goes, replaced []planner.Act
	readd := map[state.Target]planner.Act{}
	for _, n := range c.controlPlanes() {
		if n.report == nil || c.votes(n.peerURL()) && !c.view.replaces(n.target) {
			continue
		}
		add := planner.Act{Step: step(n.target, etcdPhase), Name: n.name, PeerURL: n.peerURL(), Add: true}
		switch {
		case c.view.replaces(n.target) && c.view.Recorded.Nodes[n.target].Role == string(config.ControlPlane):
			readd[n.target] = add
		case planner.IsLearner(c.seen.Members, add.PeerURL):
			begun = append(begun, add)
		default:
			comes = append(comes, add)
		}
	}
	for _, l := range c.view.leavers() {
		if l.cluster != c || l.whole || !l.acts() || l.Role != string(config.ControlPlane) {
			continue
		}
		remove := planner.Act{Step: step(l.target, resetPhase), Name: l.Name, PeerURL: l.peerURL()}
		again, returns := readd[l.target]
		switch {
		case planner.Dead(c.seen.Members, remove.PeerURL) || planner.IsLearner(c.seen.Members, remove.PeerURL):
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

// votes tells that etcd counts the member as a voter.
func (c *cluster) votes(peerURL string) bool {
	return slices.ContainsFunc(c.seen.Members, func(m state.EtcdMember) bool {
		return !m.Learner && slices.Contains(m.PeerURLs, peerURL)
	})
}

// lists tells that etcd counts the member, as a voter or as a learner.
func (c *cluster) lists(peerURL string) bool {
	return slices.ContainsFunc(c.seen.Members, func(m state.EtcdMember) bool { return slices.Contains(m.PeerURLs, peerURL) })
}

// walk goes through the acts as they would be made, and refuses a plan of which
// any prefix would lose quorum.
func (v *View) walk() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		acts := c.acts()
		if c.seen == nil {
			continue // unseenLeavers refuses that anybody leaves, and darkJoins that anybody is added
		}
		if planner.Alarmed(c.seen.Members) != "" {
			continue // alarms refuses whatever is done
		}
		if len(c.seen.Members) == 0 {
			// Where nothing is taken away, the gate looks before anything is added.
			if c.membersLeave() {
				diags.Append(c.refuseUntold())
			}
			continue
		}
		if moved := c.movedMembers(); len(moved) > 0 {
			diags = append(diags, moved...)
		} else if d := c.strayLearner(acts); d != nil {
			diags.Append(d)
		} else if _, err := planner.Walk(c.seen.Members, acts); err != nil {
			diags.Append(diag.Errorf(wouldLoseQuorum, "Walking through the changes of membership of cluster %q, one step cannot be made:\n\n  %v.\n\n"+
				"The order would be: %s. Nothing is changed.", c.Label, err, c.story(acts)).At(c.Source).For(c.target))
		}
	}
	return diags
}

// strayLearner refuses to add members beside a learner of which no node is known: etcd
// takes one at a time.
func (c *cluster) strayLearner(acts []planner.Act) *diag.Diagnostic {
	if !slices.ContainsFunc(acts, func(a planner.Act) bool { return a.Add }) {
		return nil
	}
	for _, m := range c.seen.Members {
		ours := slices.ContainsFunc(acts, func(a planner.Act) bool { return slices.Contains(m.PeerURLs, a.PeerURL) })
		if m.Learner && !ours {
			return diag.Errorf(otherLearner, "Etcd of cluster %q has a member without a vote already, %s (%s), which is no node of the configuration, and takes one at a time, so that nobody else can join (%s). Nothing is changed. "+
				"If somebody has a control plane join now, wait until that is done. If nobody does, take the member out, and plan again:\n\n  etcdctl member remove %s",
				c.Label, cmp.Or(m.Name, "not started yet"), strings.Join(m.PeerURLs, ", "), c.story(acts), m.ID).At(c.Source).For(c.target)
		}
	}
	return nil
}

// membersLeave tells that nodes with members of the cluster's etcd are to leave a
// cluster that stays.
func (c *cluster) membersLeave() bool {
	return c.Etcd.External == nil && !c.founding && len(c.parting()) > 0
}

// refuseUntold refuses to take a member away from an etcd of which nobody knows
// who the others are, and how they do.
func (c *cluster) refuseUntold() *diag.Diagnostic {
	return diag.Errorf("Membership of etcd cannot be told", "A control plane of cluster %q is to leave, and etcd did not say who its members are: %s. Nothing is changed. "+
		"Bring API and etcd to answer first; where etcd has lost its quorum for good, kubewright etcd restore makes it anew of a snapshot.", c.Label, c.etcdUnobserved()).At(c.Source).For(c.target)
}

// story lists acts for a sentence: cp4 joins, cp1 leaves.
func (c *cluster) story(acts []planner.Act) string {
	var out []string
	for _, a := range acts {
		verb := " leaves"
		if a.Add {
			verb = " joins"
		}
		out = append(out, shortName(a.Step.Target)+verb)
	}
	return strings.Join(out, ", ")
}

// walked is the sentence about acts: how many members there are after each.
func (c *cluster) walked(acts []planner.Act) string {
	sizes, err := planner.Walk(c.seen.Members, acts)
	if err != nil || len(sizes) != len(acts) {
		return "membership changes: " + c.story(acts) + "."
	}
	before := len(slices.DeleteFunc(slices.Clone(c.seen.Members), func(m state.EtcdMember) bool { return m.Learner }))
	out := fmt.Sprintf("%s, quorum %d", members(before), before/2+1)
	for i, a := range acts {
		if !a.Add && !c.lists(a.PeerURL) {
			continue // etcd does not count who leaves
		}
		out += fmt.Sprintf(" → %s: %d, quorum %d", c.story([]planner.Act{a}), sizes[i], sizes[i]/2+1)
	}
	return out + "; held at every step."
}

func members(n int) string {
	if n == 1 {
		return "1 member"
	}
	return fmt.Sprintf("%d members", n)
}

// sequence has the acts come one after another as they were walked through: who
// leaves waits until all before have come and gone, and who comes after a leave
// for that leave. Pods find new workers before old ones are drained.
func (b *builder) sequence(c *cluster) {
	acts := c.acts()
	for i, a := range acts {
		for _, before := range acts[:i] {
			done := before.Step
			if before.Add {
				done.Phase = waitPlanePhase
			}
			switch {
			case a.Add && !before.Add:
				b.after(a.Step, done)
			case a.Add && planner.IsLearner(c.seen.Members, before.PeerURL):
				b.after(a.Step, before.Step)
			case !a.Add:
				b.after(a.Step, done)
				b.after(step(a.Step.Target, drainPhase), done)
			}
		}
	}
	for _, l := range c.view.leavers() {
		if l.cluster != c || l.Role != string(config.Worker) || l.replaced {
			continue
		}
		for _, n := range c.nodes {
			if n.joining() && !c.view.replaces(n.target) && !n.isControlPlane() {
				b.after(step(l.target, drainPhase), step(n.target, waitBootstrapPhase))
			}
		}
	}
}

// after adds an edge: a step comes after another.
func (b *builder) after(id, need state.Address) {
	b.draft.Edges[id] = append(slices.Clone(b.draft.Edges[id]), need)
}

// Findings that a gate would refuse a step of the plan.
const (
	wouldLoseQuorum = "Plan would lose quorum of etcd"
	pairStops       = "Etcd would lose quorum"
	otherLearner    = "Etcd has another learner"
	joinsInTheDark  = "Control plane cannot join now"
	membersDown     = "Etcd has members that are down"
	alarmed         = "Etcd has an alarm" // a warning where nothing is to be done
)

// Refused tells a finding that a gate would refuse a step of the plan.
func Refused(d *diag.Diagnostic) bool {
	return slices.Contains([]string{wouldLoseQuorum, pairStops, otherLearner, joinsInTheDark, membersDown, alarmed}, d.Summary)
}
