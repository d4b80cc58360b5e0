package quorum_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/state"
)

// TestQuorumGateForAllMemberships checks all memberships of up to seven voters, with and without a learner, against an
// independent wording of the rule: what stays healthy has to be a majority, a healthy member
// restarts only while all are healthy, and there is one learner at a time.
func TestQuorumGateForAllMemberships(t *testing.T) {
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
		// The added member may turn out dead: the others are then a majority of one more.
		adds := voters == 1 && healthy == 1 || voters > 1 && 2*healthy > voters+1
		for _, tt := range []struct {
			name string
			step *planner.Step
			// own is the member on the step's node: the first is healthy if any is, the last only
			// if all are.
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
			if err := quorum.Allows(tt.step, peer(tt.own), members); (err == nil) != tt.want {
				t.Errorf("%s with %d of %d healthy, a learner %v: allowed is %v, want %v (%v)", tt.name, healthy, voters, c.learner, err == nil, tt.want, err)
			}
		}
	}
}

// membership is the number of voters and of healthy ones.
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

// TestQuorumIdentifiesMemberByAddress checks that the member to be removed is identified by its address: an
// administrator may have changed names, and a member has none before it has started.
func TestQuorumIdentifiesMemberByAddress(t *testing.T) {
	t.Parallel()
	a, b, c, d := "https://10.0.0.1:2380", "https://10.0.0.2:2380", "https://10.0.0.3:2380", "https://10.0.0.4:2380"
	remove := func(url string) *planner.Step {
		return &planner.Step{Operations: planner.Operations{planner.RemoveEtcdMember{PeerURL: url}}}
	}
	restart := &planner.Step{Operations: planner.Operations{planner.Wait{For: planner.WaitStaticPod, Name: "etcd-a"}}}
	// The members of a and b have swapped names, and b is down.
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
		if err := quorum.Allows(tt.step, tt.own, tt.members); (err == nil) != tt.want {
			t.Errorf("%s: allowed is %v, want %v (%v)", tt.name, err == nil, tt.want, err)
		}
	}
	// The simulation of the plan uses the same rule.
	if sizes, err := quorum.Walk(unstarted, []quorum.Act{{PeerURL: c}}); err != nil || len(sizes) != 1 || sizes[0] != 2 {
		t.Errorf("removal of a member that never started: %v, %v", sizes, err)
	}
}

// TestQuorumRefusals checks that a refusal names the members that block the step, and a remedy that
// is not refused itself.
func TestQuorumRefusals(t *testing.T) {
	t.Parallel()
	etcd := func(healthy string, dead ...string) (members []state.EtcdMember) {
		for _, name := range healthy {
			members = append(members, state.EtcdMember{Name: string(name), PeerURLs: []string{"https://" + string(name) + ":2380"}, Healthy: true})
		}
		for _, name := range dead {
			members = append(members, state.EtcdMember{Name: name, PeerURLs: []string{"https://" + name + ":2380"}})
		}
		return members
	}
	url := func(name string) string { return "https://" + name + ":2380" }
	unstarted := etcd("ab", "c")
	unstarted[2].Name = ""
	learner := append(etcd("abcd"), state.EtcdMember{ID: "8e9e05c52164694d", PeerURLs: []string{"https://10.0.0.8:2380"}, Learner: true})
	named := slices.Clone(learner)
	named[4].Name = "f"
	step := func(op planner.Operation) *planner.Step { return &planner.Step{Operations: planner.Operations{op}} }
	restart := step(planner.Wait{For: planner.WaitStaticPod, Name: "etcd-a"})
	add := step(planner.AddEtcdMember{PeerURL: "https://g:2380"})
	remove := step(planner.RemoveEtcdMember{PeerURL: "https://a:2380"})
	const (
		takeOut = " back first; a control plane whose host is gone for good is removed with ⟨+gone-host⟩, " +
			"and a member that is on no node with etcdctl member remove ID (⟨members⟩ shows it)"
		restore = " back first; if so many are lost for good, ⟨restore⟩ recreates etcd from a snapshot"
	)
	for _, c := range []struct {
		step    *planner.Step
		own     string
		members []state.EtcdMember
		want    string
	}{
		{restart, url("a"), etcd("abcd", "e"), "refused: a member is restarted only while all others answer, and e does not. Bring e" + takeOut},
		{restart, url("a"), etcd("abcde", "f", "g"), "refused: a member is restarted only while all others answer, and f, g do not. Bring f, g" + takeOut},
		{restart, url("e"), etcd("abcd", "e"), ""},
		{step(planner.DefragmentEtcd{}), url("a"), etcd("a", "b", "c"), "refused: a member is defragmented only while all others answer, and b, c do not. Bring b, c" + restore},
		{restart, url("a"), etcd("ab"), "refused: etcd has 2 voters of which 2 are healthy; this step would leave 1, quorum is 2. Add another control plane first, or accept that nothing is served meanwhile: upgrade { allow_downtime = true }"},
		{restart, url("a"), etcd("ab", "c"), "refused: etcd has 3 voters of which 2 are healthy (not c); this step would leave 1, quorum is 2. Bring c" + takeOut},
		{restart, url("a"), unstarted, "refused: etcd has 3 voters of which 2 are healthy (not the one at https://c:2380); this step would leave 1, quorum is 2. Bring the one at https://c:2380" + takeOut},
		{remove, url("a"), etcd("a", "b", "c"), "refused: etcd has 3 voters of which 1 is healthy (not b, c); this step would leave 0, quorum is 2. Bring b, c" + restore},
		{remove, url("a"), etcd("a"), "refused: etcd has one voter, and the last one is never removed. Add another control plane first, or destroy the whole cluster"},
		{remove, url("a"), etcd("", "a"), "refused: etcd has one voter, which does not answer, and the last one is never removed. Bring it back first, or destroy the whole cluster"},
		{add, url("g"), nil, "refused: etcd lists no member with a vote, so that it is unknown who holds quorum. Bring etcd back first"},
		{add, url("g"), learner, "refused: etcd already has a learner, which has not started (https://10.0.0.8:2380), and accepts one at a time. " +
			"Wait until the run that added it has promoted it; if no run does, remove it (etcdctl member remove 8e9e05c52164694d)"},
		{add, url("g"), named, "refused: etcd already has a learner, f (https://10.0.0.8:2380), and accepts one at a time. " +
			"Wait until the run that added it has promoted it; if no run does, remove it (etcdctl member remove 8e9e05c52164694d)"},
	} {
		if got := fmt.Sprint(quorum.Allows(c.step, c.own, c.members)); got != cmp.Or(c.want, "<nil>") {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	// A lost member can be removed where the refusal says so, and no member be added before.
	if err := quorum.Allows(step(planner.RemoveEtcdMember{PeerURL: "https://c:2380"}), url("c"), etcd("ab", "c")); err != nil {
		t.Error(err)
	}
	if err := quorum.Allows(add, url("g"), etcd("ab", "c")); err == nil {
		t.Error("a member is added beside one that is down")
	}
}

// TestQuorumAllowsNamedRemedy checks that the same gate allows the remedy that a refusal names.
func TestQuorumAllowsNamedRemedy(t *testing.T) {
	t.Parallel()
	peer := func(i int) string { return fmt.Sprintf("https://10.0.0.%d:2380", i) }
	add := &planner.Step{Operations: planner.Operations{planner.AddEtcdMember{PeerURL: peer(9)}}}
	remove := func(i int) *planner.Step {
		return &planner.Step{Operations: planner.Operations{planner.RemoveEtcdMember{PeerURL: peer(i)}}}
	}
	restart := &planner.Step{Operations: planner.Operations{planner.Wait{For: planner.WaitStaticPod, Name: "etcd-0"}}}
	offers := map[string]int{}
	for _, c := range everyMembership() {
		var members []state.EtcdMember
		for i := range c.voters {
			members = append(members, state.EtcdMember{Name: fmt.Sprint(i), PeerURLs: []string{peer(i)}, Healthy: i < c.healthy})
		}
		last := c.voters - 1 // down if any member is
		for _, step := range []*planner.Step{add, remove(0), restart} {
			own := peer(0)
			if step == add {
				own = peer(9)
			}
			refusal := quorum.Allows(step, own, members)
			switch {
			case c.learner || refusal == nil:
			case strings.Contains(refusal.Error(), "Add another control plane first"):
				offers["add"]++
				if err := quorum.Allows(add, peer(9), members); err != nil {
					t.Errorf("%d of %d: a member has to be added: %v", c.healthy, c.voters, err)
				}
			case strings.Contains(refusal.Error(), "is removed with ⟨+gone-host⟩"):
				offers["take out"]++
				if err := quorum.Allows(remove(last), peer(last), members); err != nil {
					t.Errorf("%d of %d: the member that is down has to be removed: %v", c.healthy, c.voters, err)
				}
			case strings.Contains(refusal.Error(), " back first; if so many are lost for good"):
				offers["bring back"]++
			}
		}
	}
	if len(offers) != 3 {
		t.Errorf("only these were offered: %v", offers)
	}
}

// TestDefragmentationRequiresAllOtherMembers checks that a member is defragmented only while all others
// answer.
func TestDefragmentationRequiresAllOtherMembers(t *testing.T) {
	t.Parallel()
	step := &planner.Step{Operations: planner.Operations{planner.DefragmentEtcd{}}}
	for voters := 1; voters <= 5; voters++ {
		for healthy := 0; healthy <= voters; healthy++ {
			var members []state.EtcdMember
			for i := range voters {
				members = append(members, state.EtcdMember{Name: fmt.Sprint(i), PeerURLs: []string{fmt.Sprintf("https://%d:2380", i)}, Healthy: i < healthy})
			}
			if err := quorum.Allows(step, "https://0:2380", members); (err == nil) != (healthy == voters) {
				t.Errorf("%d of %d healthy: %v", healthy, voters, err)
			}
		}
	}
}

// helpAgainst maps an alarm to its remedy.
var helpAgainst = map[string]string{
	quorum.AlarmNoSpace: "A database has reached its quota, and etcd accepts no writes. Delete what filled it, such as events, then run ⟨defragment⟩, " +
		"which frees the space and disarms the alarm. If all of it is needed, raise --quota-backend-bytes in /etc/kubernetes/manifests/etcd.yaml " +
		"on one control plane after the other and disarm the alarm (etcdctl alarm disarm); the value stays if etcd { arg } sets the same one.",
	quorum.AlarmCorrupt: "The data of a member differs from that of the others, and etcd serves nothing until that is resolved. " +
		"Find out which members agree (etcdctl endpoint hashkv), remove the one that does not (etcdctl member remove), " +
		"disarm the alarm (etcdctl alarm disarm), and have its node removed and joined again (⟨apply +replace=NODE⟩).",
}

// TestAlarmAllowsOnlyRemedies checks that during an alarm only operations that help against it are allowed,
// which for CORRUPT is none.
func TestAlarmAllowsOnlyRemedies(t *testing.T) {
	t.Parallel()
	helps := map[string]planner.Operation{"compact": planner.CompactEtcd{}, "defragment": planner.DefragmentEtcd{}, "disarm": planner.DisarmEtcd{}}
	other := map[string]planner.Operation{"add": planner.AddEtcdMember{}, "remove": planner.RemoveEtcdMember{PeerURL: "https://10.0.0.1:2380"}}
	for _, alarm := range []string{quorum.AlarmNoSpace, quorum.AlarmCorrupt} {
		members := []state.EtcdMember{{Name: "a", Healthy: true}, {Name: "b", Healthy: true, Alarms: []string{alarm}}, {Name: "c", Healthy: true}}
		for name, op := range helps {
			if err := quorum.Allows(&planner.Step{Operations: planner.Operations{op}}, "https://a:2380", members); (err == nil) != (alarm == quorum.AlarmNoSpace) {
				t.Errorf("%s with %s: %v", name, alarm, err)
			}
		}
		for name, op := range other {
			err := quorum.Allows(&planner.Step{Operations: planner.Operations{op}}, "https://a:2380", members)
			if err == nil || !strings.HasPrefix(err.Error(), "refused: etcd has raised alarms: b "+alarm+". "+helpAgainst[alarm]) {
				t.Errorf("%s with %s: %v", name, alarm, err)
			}
		}
	}
}
