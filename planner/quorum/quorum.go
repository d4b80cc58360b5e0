package quorum

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Allows evaluates both etcd gates: it refuses a step that would leave fewer healthy voters than a
// majority, according to a fresh observation. Unknown counts as unhealthy. own is the peer URL of
// the member on the step's own node: a step that repairs or removes a member that is already down
// does not lose it. Members are not identified by name: a member has none before it has started,
// and an administrator may have given it another node's name. A step that removes no voter, because
// etcd does not list its node as one, is allowed: it does not change etcd. A list without voters
// does not prove that.
//
// Beyond the majority it is as strict as possible without preventing a repair:
//
//   - A healthy member restarts, or is defragmented, only while all others are healthy: with one of
//     five down a majority would hold, but a member that does not return, or another failure in
//     these seconds, would be one too many, and nothing requires the step to begin now. A member
//     that is already down restarts as long as there is a majority without it, however many others
//     are down: the restart repairs it.
//   - A member is added only where there is no learner but its own, left by an interrupted apply:
//     etcd accepts one at a time, and a second one fails after minutes of retries. A majority of
//     one voter more has to be healthy, with the added member counted as dead. etcd 3.6 accepts no
//     member either while one is down; newer versions do.
//   - A voter may be removed beside a learner. A learner has no vote, so a majority neither gains
//     nor loses by it, and a dead learner, left by an interrupted join, must not prevent the removal
//     of a dead voter. A learner itself may always be removed.
//   - One of two voters may be removed while both are healthy: the configuration then asks for a
//     single control plane, and the plan says what quorum is afterwards.
func Allows(step *planner.Step, own string, members []state.EtcdMember) error {
	if err := AlarmsAllow(step, members); err != nil {
		return err
	}
	voting := Voters(members)
	voters, healthy := len(voting), 0
	if url := planner.RemovedMember(step); url != "" {
		if own = url; ConditionOf(voting, own) == Unlisted {
			return nil
		}
	}
	lost, well := 1, false // the member on the step's own node restarts or is removed; whether it is healthy
	var sick []state.EtcdMember
	for _, m := range voting {
		its := slices.Contains(m.PeerURLs, own)
		if m.Healthy {
			healthy++
			well = well || its
			continue
		}
		sick = append(sick, m)
		if its {
			lost = 0
		}
	}
	switch {
	case voters == 0:
		return errors.New("refused: etcd lists no member with a vote, so that it is unknown who holds quorum. Bring etcd back first")
	case voters == 1 && healthy == 0 && removesMember(step):
		return errors.New("refused: etcd has one voter, which does not answer, and the last one is never removed. Bring it back first, or destroy the whole cluster")
	case voters == 1 && removesMember(step):
		return errors.New("refused: etcd has one voter, and the last one is never removed. Add another control plane first, or destroy the whole cluster")
	}
	need := voters/2 + 1
	left := healthy
	switch {
	case defragments(step):
		return allWell(sick, "defragmented", voters)
	case planner.AddsMember(step):
		if err := oneLearner(step, members); err != nil {
			return err
		}
		need = (voters+1)/2 + 1
		if voters == 1 {
			need = 1
		}
	case voters == 2 && planner.RestartsMember(step) && slices.Contains(step.Gates, planner.DowntimeGate):
		need = 1 // the other one has to be healthy, so that quorum returns with this one
		left -= lost
	case voters == 1:
		return nil // a single member: the plan has announced the downtime
	case removesMember(step):
		need = (voters-1)/2 + 1
		left -= lost
	case planner.RestartsMember(step):
		left -= lost
	}
	if left < need {
		return quorumLost(voters, healthy, left, need, sick)
	}
	if well && planner.RestartsMember(step) && !planner.ChangesMembers(step) {
		return allWell(sick, "restarted", voters)
	}
	return nil
}

// quorumLost returns the refusal of a step that would leave fewer members than needed.
func quorumLost(voters, healthy, left, need int, sick []state.EtcdMember) error {
	down, are := "", "are"
	if healthy == 1 {
		are = "is"
	}
	if len(sick) > 0 {
		down = fmt.Sprintf(" (not %s)", namesOf(sick))
	}
	return remedy.Textf("refused: etcd has %d voters of which %d %s healthy%s; this step would leave %d, quorum is %d. %s",
		voters, healthy, are, down, left, need, backToQuorum(sick, voters))
}

// allWell refuses a step that takes a member down temporarily while others do not answer.
func allWell(sick []state.EtcdMember, what string, voters int) error {
	if len(sick) == 0 {
		return nil
	}
	verb := "does"
	if len(sick) > 1 {
		verb = "do"
	}
	return remedy.Textf("refused: a member is %s only while all others answer, and %s %s not. %s", what, namesOf(sick), verb, backToQuorum(sick, voters))
}

// namesOf lists members by name, or by address if they have never started.
func namesOf(members []state.EtcdMember) string {
	var out []string
	for _, m := range members {
		out = append(out, cmp.Or(m.Name, "the one at "+strings.Join(m.PeerURLs, ", ")))
	}
	return strings.Join(out, ", ")
}

// backToQuorum returns the remedy for a refused step. While a member is down none can be added, but
// a lost one can be removed as long as there is a majority without it: with its node, or by hand if
// it is on none.
func backToQuorum(sick []state.EtcdMember, voters int) remedy.Text {
	switch names := namesOf(sick); {
	case len(sick) == 0:
		return "Add another control plane first, or accept that nothing is served meanwhile: upgrade { allow_downtime = true }"
	case voters-len(sick) < voters/2+1:
		return remedy.Textf("Bring %s back first; if so many are lost for good, %s recreates etcd from a snapshot", names, remedy.Restore)
	default:
		return remedy.Textf("Bring %s back first; a control plane whose host is gone for good is removed with %s, "+
			"and a member that is on no node with etcdctl member remove ID (%s shows it)", names, remedy.GoneHost, remedy.Members)
	}
}

// oneLearner refuses to add a member beside another learner.
func oneLearner(step *planner.Step, members []state.EtcdMember) error {
	for _, m := range members {
		own := slices.ContainsFunc(step.Operations, func(op planner.Operation) bool {
			add, ok := op.(planner.AddEtcdMember)
			return ok && slices.Contains(m.PeerURLs, add.PeerURL)
		})
		if m.Learner && !own {
			return fmt.Errorf("refused: etcd already has a learner, %s (%s), and accepts one at a time. "+
				"Wait until the run that added it has promoted it; if no run does, remove it (etcdctl member remove %s)", cmp.Or(m.Name, "which has not started"), strings.Join(m.PeerURLs, ", "), m.ID)
		}
	}
	return nil
}

func defragments(step *planner.Step) bool {
	return slices.ContainsFunc(step.Operations, func(op planner.Operation) bool {
		_, is := op.(planner.DefragmentEtcd)
		return is
	})
}

func removesMember(step *planner.Step) bool { return planner.RemovedMember(step) != "" }
