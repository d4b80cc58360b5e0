package providers_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// three members, of which the second leads.
func three() []state.EtcdMember {
	var out []state.EtcdMember
	for _, id := range []string{"1", "2", "3"} {
		out = append(out, state.EtcdMember{ID: id, Name: "cp" + id, PeerURLs: []string{"https://cp" + id + ":2380"}, Healthy: true, Leader: id == "2"})
	}
	return out
}

func TestPerformerRetriesCompaction(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.etcdErr = []error{&providers.Error{Kind: providers.ErrTimeout, Do: "compact etcd"}}
	if _, err := s.perform(t, providers.Run{}, planner.CompactEtcd{}); err != nil {
		t.Error(err)
	}
	if got := s.did("compact"); len(got) != 2 {
		t.Errorf("etcd, which was too slow once, was asked %d times", len(got))
	}
}

func TestPerformerDefragmentMovesLeaderFirst(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"cp3": {"defragment 3"},
		"cp2": {"move leader to 1", "defragment 2"},
	} {
		s := newScene()
		s.members = three()
		if _, err := s.perform(t, providers.Run{}, planner.DefragmentEtcd{Name: name, PeerURL: "https://" + name + ":2380"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := strings.Join(s.did("move", "defragment"), ", "); got != strings.Join(want, ", ") {
			t.Errorf("%s: got %s", name, got)
		}
	}
	s := newScene()
	s.members = three()
	s.members[2].Healthy = false
	_, err := s.perform(t, providers.Run{}, planner.DefragmentEtcd{Name: "cp3", PeerURL: "https://cp3:2380"})
	if err == nil || !strings.Contains(err.Error(), "cp3 does not answer after it was defragmented") {
		t.Errorf("a member that stays away: %v", err)
	}
	_, err = s.perform(t, providers.Run{}, planner.DefragmentEtcd{Name: "x", PeerURL: "https://x:2380"})
	if err == nil || err.Error() != "cannot defragment etcd member x: etcd does not list it" {
		t.Errorf("an unknown member: %v", err)
	}
	// A member that keeps leading is defragmented all the same: the others elect a new
	// leader.
	s = newScene()
	s.members, s.moveErr = three(), errRefused
	if _, err := s.perform(t, providers.Run{}, planner.DefragmentEtcd{Name: "cp2", PeerURL: "https://cp2:2380"}); err != nil {
		t.Error(err)
	}
	if got := strings.Join(s.did("log"), "\n"); !strings.Contains(got, "leadership stays for now: refused") {
		t.Errorf("got %s", got)
	}
}

// TestPerformerMovesLeaderToFirstEligible checks that a member that is about to stop hands leadership to the first
// eligible of the given members, and that a step does not fail if none takes it.
func TestPerformerMovesLeaderToFirstEligible(t *testing.T) {
	t.Parallel()
	op := func(name string, to ...string) planner.MoveEtcdLeader {
		return planner.MoveEtcdLeader{Name: name, PeerURL: "https://" + name + ":2380", To: to}
	}
	for name, c := range map[string]struct {
		op   planner.MoveEtcdLeader
		with func(*scene)
		want string
	}{
		"the first":                {op("cp2", "https://cp3:2380", "https://cp1:2380"), nil, "move leader to 3, log 0: etcd's leader is cp3 now"},
		"the first is not healthy": {op("cp2", "https://cp3:2380", "https://cp1:2380"), func(s *scene) { s.members[2].Healthy = false }, "move leader to 1, log 0: etcd's leader is cp1 now"},
		"the first has no vote":    {op("cp2", "https://cp3:2380"), func(s *scene) { s.members[2].Learner = true }, "move leader to 1, log 0: etcd's leader is cp1 now"},
		"no healthy voter":         {op("cp2"), func(s *scene) { s.members[0].Healthy, s.members[2].Healthy = false, false }, ""},
		"it does not lead":         {op("cp1", "https://cp3:2380"), nil, ""},
		"it is no member":          {op("cp9", "https://cp3:2380"), nil, ""},
		"refused":                  {op("cp2", "https://cp3:2380"), func(s *scene) { s.moveErr = errRefused }, "move leader to 3, log 0: leadership stays for now: refused"},
		"etcd does not answer":     {op("cp2"), func(s *scene) { s.membersErr = errRefused }, "log 0: leadership stays for now: refused"},
	} {
		s := newScene()
		s.members = three()
		if c.with != nil {
			c.with(s)
		}
		if _, err := s.perform(t, providers.Run{}, c.op); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := strings.Join(s.did("move", "log"), ", "); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// did returns the lines of the log that begin with one of the words.
func (s *scene) did(words ...string) []string {
	var out []string
	for _, line := range s.log {
		for _, w := range words {
			if strings.HasPrefix(line, w+" ") {
				out = append(out, line)
			}
		}
	}
	return out
}

func TestPerformerDisarmsOnlyItsAlarm(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.members = three()
	s.members[0].Alarms, s.members[2].Alarms = []string{"NOSPACE"}, []string{"CORRUPT"}
	op := planner.DisarmEtcd{Alarm: quorum.AlarmNoSpace}
	if _, err := s.perform(t, providers.Run{}, op); err != nil {
		t.Error(err)
	}
	if got := strings.Join(s.did("disarm"), ", "); got != "disarm NOSPACE of 1" {
		t.Errorf("got %s", got)
	}
	s.full, s.members[0].Alarms = true, []string{"NOSPACE"}
	const want = "etcd raises alarm NOSPACE again for cp1: what fills its database is in use. Delete objects, or raise --quota-backend-bytes " +
		"in /etc/kubernetes/manifests/etcd.yaml on one control plane after the other; with the same value in etcd { arg } it stays"
	if _, err := s.perform(t, providers.Run{}, op); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
