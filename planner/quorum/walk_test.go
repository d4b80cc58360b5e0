package quorum_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/state"
)

// TestQuorumWalkKeepsMajority checks, for any members and acts, that an allowed walk never has fewer healthy voters
// than a majority, and that a refused one ends at an act after which it would: an added member
// counts as dead until its act is done.
func TestQuorumWalkKeepsMajority(t *testing.T) {
	t.Parallel()
	peer := func(i int) string { return fmt.Sprintf("https://10.0.0.%d:2380", i) }
	rapid.Check(t, func(t *rapid.T) {
		voters, healthy := map[int]bool{}, map[int]bool{}
		var members []state.EtcdMember
		for i := range rapid.IntRange(1, 7).Draw(t, "members") {
			voters[i], healthy[i] = true, rapid.IntRange(0, 3).Draw(t, "health") > 0
			members = append(members, state.EtcdMember{ID: fmt.Sprint(i), Name: fmt.Sprint(i), PeerURLs: []string{peer(i)}, Healthy: healthy[i]})
		}
		var acts []quorum.Act
		for range rapid.IntRange(1, 6).Draw(t, "acts") {
			i := rapid.IntRange(0, 8).Draw(t, "member")
			acts = append(acts, quorum.Act{
				Step: state.Address{Target: state.NodeKeyTarget("cp", fmt.Sprint(i)), Phase: "p"},
				Name: fmt.Sprint(i), PeerURL: peer(i), Add: rapid.Bool().Draw(t, "add"),
			})
		}
		sizes, err := quorum.Walk(members, acts)
		for n, a := range acts {
			var i int
			_, _ = fmt.Sscan(a.Name, &i)
			if a.Add == voters[i] {
				if a.Add {
					healthy[i] = true // an act on an existing member ends when it is healthy
				}
			} else {
				alive, all := 0, 0
				for m := range voters {
					if m != i || a.Add {
						all++
						if healthy[m] {
							alive++
						}
					}
				}
				if a.Add && len(voters) > 1 {
					all++ // the added member may be dead
				}
				possible := all > 0 && 2*alive > all
				if n >= len(sizes) {
					if possible {
						t.Fatalf("act %d was refused and leaves %d of %d: %v", n, alive, all, err)
					}
					return
				}
				if !possible {
					t.Fatalf("act %d was allowed and leaves %d of %d", n, alive, all)
				}
				if a.Add {
					voters[i], healthy[i] = true, true
				} else {
					delete(voters, i)
					delete(healthy, i)
				}
			}
			if n < len(sizes) && sizes[n] != len(voters) {
				t.Fatalf("after act %d there are %d voters, want %d", n, sizes[n], len(voters))
			}
		}
		if err != nil {
			t.Fatalf("refused although every act was possible: %v", err)
		}
	})
}
