package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestQuorumAllows walks all memberships of up to seven voters, with and without a
// learner, against the rule said another way: what stays healthy has to be a majority,
// one that is well restarts only while all are, and there is one learner at a time.
func TestQuorumAllows(t *testing.T) {
	t.Parallel()
	peer := func(i int) string { return fmt.Sprintf("https://10.0.0.%d:2380", i) }
	add := func(i int) *planner.Step {
		return &planner.Step{Operations: planner.Operations{planner.AddEtcdMember{PeerURL: peer(i)}}}
	}
	remove := func(i int) *planner.Step {
		return &planner.Step{Operations: planner.Operations{planner.RemoveEtcdMember{PeerURL: peer(i)}}}
	}
	restart := &planner.Step{Operations: planner.Operations{planner.Wait{For: planner.WaitStaticPod, Name: "etcd-x"}}}
	kill := &planner.Step{Operations: planner.Operations{planner.RestartProcess{Process: state.Process{Name: "etcd"}}}}
	other := &planner.Step{Operations: planner.Operations{planner.Wait{For: planner.WaitStaticPod, Name: "kube-apiserver-x"}}}
	for _, c := range everyMembership() {
		voters, healthy := c.voters, c.healthy
		var members []state.EtcdMember
		if c.learner {
			members = append(members, state.EtcdMember{Name: "learner", PeerURLs: []string{peer(8)}, Learner: true, Healthy: true})
		}
		for i := range voters {
			members = append(members, state.EtcdMember{Name: fmt.Sprint(i), PeerURLs: []string{peer(i)}, Healthy: i < healthy})
		}
		// The newcomer may turn out dead: the others alone are then a majority of one more.
		adds := voters == 1 && healthy == 1 || voters > 1 && 2*healthy > voters+1
		for _, tt := range []struct {
			name string
			step *planner.Step
			// own is the member on the step's node: the first is healthy when any is,
			// the last only when all are.
			own  int
			want bool
		}{
			{"add", add(9), 9, adds && !c.learner},
			{"add the learner", add(8), 8, adds},
			{"remove", remove(0), 0, voters > 1 && healthy > 0 && 2*(healthy-1) > voters-1},
			{"restart", restart, 0, voters == 1 || healthy == voters && voters > 2},
			{"restart its process", kill, 0, voters == 1 || healthy == voters && voters > 2},
			{"remove a learner", remove(8), 8, voters > 0},
			{"remove who is no member", remove(9), 9, voters > 0},
			{"remove the last", remove(voters - 1), voters - 1, voters > 1 && (healthy == voters && 2*(healthy-1) > voters-1 || healthy < voters && 2*healthy > voters-1)},
			{"restart the last", restart, voters - 1, voters == 1 || healthy == voters && voters > 2 || healthy < voters && 2*healthy > voters},
			{"restart something else", other, 0, voters == 1 || 2*healthy > voters},
		} {
			if err := planner.QuorumAllows(tt.step, peer(tt.own), members); (err == nil) != tt.want {
				t.Errorf("%s with %d of %d healthy, a learner %v: allowed is %v, want %v (%v)", tt.name, healthy, voters, c.learner, err == nil, tt.want, err)
			}
		}
	}
}

// membership is how many voters there are, and how many of them are healthy.
type membership struct {
	voters, healthy int
	learner         bool
}

func everyMembership() []membership {
	var out []membership
	for voters := 0; voters <= 7; voters++ {
		for healthy := 0; healthy <= voters; healthy++ {
			out = append(out, membership{voters, healthy, false}, membership{voters, healthy, true})
		}
	}
	return out
}

// Who a step takes out is told by the address, which is the member's own: names are
// what somebody has given, or none before a member has started.
func TestQuorumGoesByAddress(t *testing.T) {
	t.Parallel()
	a, b, c, d := "https://10.0.0.1:2380", "https://10.0.0.2:2380", "https://10.0.0.3:2380", "https://10.0.0.4:2380"
	remove := func(url string) *planner.Step {
		return &planner.Step{Operations: planner.Operations{planner.RemoveEtcdMember{PeerURL: url}}}
	}
	restart := &planner.Step{Operations: planner.Operations{planner.Wait{For: planner.WaitStaticPod, Name: "etcd-a"}}}
	// The members of a and b have each other's names, and b is down.
	exchanged := []state.EtcdMember{
		{Name: "b", PeerURLs: []string{a}, Healthy: true}, {Name: "a", PeerURLs: []string{b}}, {Name: "c", PeerURLs: []string{c}, Healthy: true},
	}
	// One was added by hand as a voter and has never started: it has no name.
	unstarted := []state.EtcdMember{{Name: "a", PeerURLs: []string{a}, Healthy: true}, {Name: "b", PeerURLs: []string{b}, Healthy: true}, {PeerURLs: []string{c}}}
	for _, tt := range []struct {
		name    string
		step    *planner.Step
		own     string
		members []state.EtcdMember
		want    bool
	}{
		{"remove the one that is well", remove(a), a, exchanged, false},
		{"remove the one that is down", remove(b), b, exchanged, true},
		{"restart the one that is well", restart, a, exchanged, false},
		{"restart the one that is down", restart, b, exchanged, true},
		{"remove one that never started", remove(c), c, unstarted, true},
		{"remove one of the others", remove(a), a, unstarted, false},
		{"remove, at another address than the node has now", remove(c), d, unstarted, true},
	} {
		if err := planner.QuorumAllows(tt.step, tt.own, tt.members); (err == nil) != tt.want {
			t.Errorf("%s: allowed is %v, want %v (%v)", tt.name, err == nil, tt.want, err)
		}
	}
	// The plan's walk goes by the same.
	if sizes, err := planner.Walk(unstarted, []planner.Act{{PeerURL: c}}); err != nil || len(sizes) != 1 || sizes[0] != 2 {
		t.Errorf("one that never started leaves: %v, %v", sizes, err)
	}
}

// A refusal says who stands in the way, and what to do.
func TestQuorumRefusals(t *testing.T) {
	t.Parallel()
	five := []state.EtcdMember{{Name: "a", Healthy: true}, {Name: "b", Healthy: true}, {Name: "c", Healthy: true}, {Name: "d", Healthy: true}, {Name: "e"}}
	for i := range five {
		five[i].PeerURLs = []string{"https://" + five[i].Name + ":2380"}
	}
	restart := &planner.Step{Operations: planner.Operations{planner.Wait{For: planner.WaitStaticPod, Name: "etcd-a"}}}
	if err := planner.QuorumAllows(restart, "https://a:2380", five); err == nil || !strings.Contains(err.Error(), "restarted only while all others answer, and e does not. Bring it back first") {
		t.Errorf("a restarts with e down: %v", err)
	}
	if err := planner.QuorumAllows(restart, "https://e:2380", five); err != nil {
		t.Errorf("e, which is down, restarts: %v", err)
	}
	learner := append(five[:4:4], state.EtcdMember{ID: "8e9e05c52164694d", PeerURLs: []string{"https://10.0.0.8:2380"}, Learner: true})
	add := &planner.Step{Operations: planner.Operations{planner.AddEtcdMember{PeerURL: "https://10.0.0.9:2380"}}}
	if err := planner.QuorumAllows(add, "https://10.0.0.9:2380", learner); err == nil || !strings.Contains(err.Error(), "a learner already, which has not started (https://10.0.0.8:2380)") ||
		!strings.Contains(err.Error(), "etcdctl member remove 8e9e05c52164694d") {
		t.Errorf("another one joins beside a learner: %v", err)
	}
}

// A member that is defragmented has to be the only one that does not answer.
func TestDefragmentationWantsAllOthers(t *testing.T) {
	t.Parallel()
	step := &planner.Step{Operations: planner.Operations{planner.DefragmentEtcd{}}}
	for voters := 1; voters <= 5; voters++ {
		for healthy := 0; healthy <= voters; healthy++ {
			var members []state.EtcdMember
			for i := range voters {
				members = append(members, state.EtcdMember{Name: fmt.Sprint(i), PeerURLs: []string{fmt.Sprintf("https://%d:2380", i)}, Healthy: i < healthy})
			}
			if err := planner.QuorumAllows(step, "https://0:2380", members); (err == nil) != (healthy == voters) {
				t.Errorf("%d of %d healthy: %v", healthy, voters, err)
			}
		}
	}
}

// With an alarm nothing is done to etcd but what helps against it.
func TestAlarmsAllow(t *testing.T) {
	t.Parallel()
	helps := map[string]planner.Operation{"compact": planner.CompactEtcd{}, "defragment": planner.DefragmentEtcd{}, "disarm": planner.DisarmEtcd{}}
	other := map[string]planner.Operation{"add": planner.AddEtcdMember{}, "remove": planner.RemoveEtcdMember{PeerURL: "https://10.0.0.1:2380"}}
	for _, alarm := range []string{planner.AlarmNoSpace, planner.AlarmCorrupt} {
		members := []state.EtcdMember{{Name: "a", Healthy: true}, {Name: "b", Healthy: true, Alarms: []string{alarm}}, {Name: "c", Healthy: true}}
		for name, op := range helps {
			if err := planner.QuorumAllows(&planner.Step{Operations: planner.Operations{op}}, "https://a:2380", members); err != nil {
				t.Errorf("%s with %s: %v", name, alarm, err)
			}
		}
		for name, op := range other {
			err := planner.QuorumAllows(&planner.Step{Operations: planner.Operations{op}}, "https://a:2380", members)
			if err == nil || !strings.Contains(err.Error(), "b "+alarm) {
				t.Errorf("%s with %s: %v", name, alarm, err)
			}
		}
	}
}
