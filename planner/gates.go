package planner

import (
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// QuorumAllows is the gate etcd-quorum: it refuses a step that would leave
// fewer healthy voters than a majority, as a fresh observation shows them.
// Unknown counts as unhealthy.
func QuorumAllows(step *Step, members []state.EtcdMember) error {
	voters, healthy := 0, 0
	var sick []string
	for _, m := range members {
		if m.Learner {
			continue
		}
		voters++
		if m.Healthy {
			healthy++
		} else {
			sick = append(sick, m.Name)
		}
	}
	if voters == 0 || voters == 1 && removesMember(step) {
		return fmt.Errorf("refused: etcd shows %d voters, and the last one is never removed", voters)
	}
	need := voters/2 + 1
	left := healthy
	switch {
	case addsMember(step):
		need = (voters+1)/2 + 1
		if voters == 1 {
			need = 1
		}
	case voters > 1:
		left-- // the member on the step's own node restarts or goes
		if removesMember(step) {
			need = (voters-1)/2 + 1
		}
	default:
		return nil // a single member: the plan said that it is down meanwhile
	}
	if left < need {
		return fmt.Errorf("refused: etcd has %d voters of which %d are healthy (not: %s); this step would leave %d, quorum is %d. "+
			"Bring the other members back first", voters, healthy, strings.Join(sick, ", "), left, need)
	}
	return nil
}

func addsMember(step *Step) bool {
	for _, op := range step.Operations {
		if _, ok := op.(AddEtcdMember); ok {
			return true
		}
	}
	return false
}

func removesMember(step *Step) bool {
	for _, op := range step.Operations {
		if _, ok := op.(RemoveEtcdMember); ok {
			return true
		}
	}
	return false
}
