package planner_test

import (
	"fmt"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestQuorumAllows walks all memberships of up to seven voters against the
// rule said another way: what stays healthy has to be a majority.
func TestQuorumAllows(t *testing.T) {
	t.Parallel()
	add := &planner.Step{Operations: planner.Operations{planner.AddEtcdMember{}}}
	remove := &planner.Step{Operations: planner.Operations{planner.RemoveEtcdMember{}}}
	restart := &planner.Step{Operations: planner.Operations{planner.WriteFile{}}}
	for voters := 0; voters <= 7; voters++ {
		for healthy := 0; healthy <= voters; healthy++ {
			members := []state.EtcdMember{{Name: "learner", Learner: true, Healthy: true}}
			for i := range voters {
				members = append(members, state.EtcdMember{Name: fmt.Sprint(i), Healthy: i < healthy})
			}
			for _, tt := range []struct {
				name string
				step *planner.Step
				want bool
			}{
				// The newcomer may turn out dead: the others alone are then a majority of one more.
				{"add", add, voters == 1 && healthy == 1 || voters > 1 && 2*healthy > voters+1},
				{"remove", remove, voters > 1 && 2*(healthy-1) > voters-1},
				{"restart", restart, voters == 1 || voters > 1 && 2*(healthy-1) > voters},
			} {
				if err := planner.QuorumAllows(tt.step, members); (err == nil) != tt.want {
					t.Errorf("%s with %d of %d healthy: allowed is %v, want %v (%v)", tt.name, healthy, voters, err == nil, tt.want, err)
				}
			}
		}
	}
}
