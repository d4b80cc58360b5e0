package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/kubewright/kubewright/providers"
)

// cluster is a model of etcd: a membership, and which members answer.
type cluster struct {
	mu      sync.Mutex
	members []*pb.Member
	leader  uint64
	down    map[string]bool
	// busy is how many further reads each member answers too late.
	busy  map[string]int
	alarm map[uint64][]string
	// alarmErr makes the list of alarms fail; foreign are members of another etcd.
	alarmErr error
	foreign  map[string]bool
	// takes are the members that answer at an endpoint instead of its own, and reads those
	// that answer its reads.
	takes, reads map[string]uint64
	// revision is the present one; history up to compacted has been dropped.
	revision, compacted int64
	// split is etcd without a quorum: a member that answers reports only its own data.
	// behind is by how many revisions some members lag.
	split  bool
	behind map[string]int64
	// fail makes the next change fail; with late the change takes effect first.
	fail error
	late bool
	// calls are the changes, as ENDPOINT CHANGE.
	calls []string
}

const clusterID = 0xabc

// three returns a cluster of three members, led by the first.
func three() *cluster {
	c := &cluster{leader: 1, down: map[string]bool{}, alarm: map[uint64][]string{}}
	for i, name := range []string{"a", "b", "c"} {
		c.members = append(c.members, &pb.Member{ID: uint64(i + 1), Name: name, PeerURLs: []string{peer(name)}, ClientURLs: []string{url(name)}})
	}
	return c
}

func url(name string) string  { return "https://" + name + ":2379" }
func peer(name string) string { return "https://" + name + ":2380" }

// becomes changes the model while earlier requests, already given up, may still be
// answered.
func (c *cluster) becomes(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// client returns a client whose only given endpoint is that of member a.
func (c *cluster) client() *Client {
	return newClient([]string{url("a")}, func(endpoint string) (member, error) { return &fake{c, endpoint}, nil })
}

type fake struct {
	*cluster
	endpoint string
}

var errDown = &providers.Error{Kind: providers.ErrUnreachable, Do: "connect"}

func (f *fake) self() *pb.Member {
	for _, m := range f.members {
		if slices.Contains(m.ClientURLs, f.endpoint) {
			return m
		}
	}
	return nil
}

// answer runs do as the member's answer: locked, and only if the member is up.
func (f *fake) answer(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down[f.endpoint] || f.self() == nil {
		return errDown
	}
	return do()
}

func (f *fake) list(ctx context.Context) (l list, err error) {
	if f.split {
		return l, context.DeadlineExceeded
	}
	return f.listed(ctx)
}

func (f *fake) listed(context.Context) (l list, err error) {
	err = f.answer(func() error {
		l = list{f.cluster.id(f.endpoint), slices.Clone(f.members)}
		return f.votes()
	})
	return l, err
}

// id returns the ID of the cluster at an endpoint.
func (c *cluster) id(endpoint string) uint64 {
	if c.foreign[endpoint] {
		return clusterID + 1
	}
	return clusterID
}

// votes returns the refusal of a learner, which serves only its status and its own data.
func (f *fake) votes() error {
	if f.self().IsLearner {
		return rpctypes.ErrGRPCNotSupportedForLearner
	}
	return nil
}

func (f *fake) status(context.Context) (s status, err error) {
	err = f.answer(func() error {
		s = status{clusterID: f.cluster.id(f.endpoint), id: cmp.Or(f.takes[f.endpoint], f.self().ID), leader: f.leader}
		if !f.split {
			return nil
		}
		s.leader = 0
		for _, id := range slices.Sorted(maps.Keys(f.alarm)) {
			s.problems = append(s.problems, fmt.Sprintf("memberID:%d alarm:%s ", id, f.alarm[id][0]))
		}
		return nil
	})
	return s, err
}

func (f *fake) read(context.Context) (s status, err error) {
	err = f.answer(func() error {
		if err := f.votes(); err != nil {
			return err
		}
		if f.split {
			return context.DeadlineExceeded
		}
		if f.busy[f.endpoint] > 0 {
			f.busy[f.endpoint]--
			return context.DeadlineExceeded
		}
		s = status{clusterID: f.cluster.id(f.endpoint), id: cmp.Or(f.reads[f.endpoint], f.self().ID), revision: f.revision}
		return nil
	})
	return s, err
}

func (f *fake) holds(context.Context) (s status, err error) {
	err = f.answer(func() error {
		s = status{clusterID: f.cluster.id(f.endpoint), id: f.self().ID, revision: f.revision - f.behind[f.endpoint]}
		return nil
	})
	return s, err
}

func (f *fake) alarms(context.Context) (map[uint64][]string, error) { return f.alarm, f.alarmErr }

// change makes a change unless etcd refuses it.
func (f *fake) change(what string, refused error, do func()) error {
	return f.answer(func() error {
		f.calls = append(f.calls, f.self().Name+" "+what)
		err := f.fail
		f.fail = nil
		if err != nil && !f.late {
			return err
		}
		if refused = cmp.Or(f.votes(), refused); refused != nil {
			return refused
		}
		do()
		return err
	})
}

// refused returns etcd's current reason to refuse a change of a member.
func (f *fake) refused(why func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return why()
}

func (f *fake) addLearner(_ context.Context, peerURL string) error {
	refused := f.refused(func() error {
		switch {
		case slices.ContainsFunc(f.members, func(m *pb.Member) bool { return slices.Contains(m.PeerURLs, peerURL) }):
			return rpctypes.ErrPeerURLExist
		case slices.ContainsFunc(f.members, func(m *pb.Member) bool { return m.IsLearner }):
			return rpctypes.ErrTooManyLearners
		}
		return nil
	})
	return f.change("add", refused, func() { f.members = append(f.members, &pb.Member{ID: 4, PeerURLs: []string{peerURL}, IsLearner: true}) })
}

func (f *fake) promote(_ context.Context, id uint64) error {
	refused := f.refused(func() error {
		switch m := (list{members: f.members}).find(id); {
		case m == nil:
			return rpctypes.ErrMemberNotFound
		case !m.IsLearner:
			return rpctypes.ErrMemberNotLearner
		}
		return nil
	})
	return f.change("promote", refused, func() { list{members: f.members}.find(id).IsLearner = false })
}

func (f *fake) remove(_ context.Context, id uint64) error {
	refused := f.refused(func() error {
		if (list{members: f.members}).find(id) == nil {
			return rpctypes.ErrMemberNotFound
		}
		return nil
	})
	return f.change("remove", refused, func() {
		f.members = slices.DeleteFunc(f.members, func(m *pb.Member) bool { return m.ID == id })
	})
}

func (f *fake) moveLeader(_ context.Context, to uint64) error {
	refused := f.refused(func() error {
		self, m := f.self(), (list{members: f.members}).find(to)
		switch {
		case self == nil || self.ID != f.leader:
			return rpctypes.ErrNotLeader
		case m == nil || m.IsLearner:
			return rpctypes.ErrBadLeaderTransferee
		}
		return nil
	})
	return f.change("move", refused, func() { f.leader = to })
}

func (f *fake) compact(_ context.Context, revision int64) error {
	err := f.change(fmt.Sprint("compact ", revision), nil, func() {})
	if err == nil && revision <= f.compacted {
		return fmt.Errorf("%s: %w", f.endpoint, rpctypes.ErrCompacted)
	}
	f.compacted = max(f.compacted, revision)
	return err
}

func (f *fake) defragment(context.Context) error { return f.change("defragment", nil, func() {}) }

func (f *fake) disarm(_ context.Context, id uint64, alarm pb.AlarmType) error {
	return f.change("disarm "+alarm.String(), nil, func() { delete(f.alarm, id) })
}

func (f *fake) snapshot(context.Context) (r io.ReadCloser, err error) {
	err = f.answer(func() error {
		r = io.NopCloser(strings.NewReader("data of " + f.self().Name))
		return nil
	})
	return r, err
}

func (f *fake) close() error { return nil }

// TestMemberLoopbackAddressIsNotUsed checks that a loopback address listed by a member, which belongs to
// the calling machine, is used only if it was given to Open.
func TestMemberLoopbackAddressIsNotUsed(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"https://127.0.0.1:22", "https://localhost:2379", "https://[::1]:2379", "https://0.0.0.0:2379", "https://[::ffff:127.0.0.1]:80", "nonsense"} {
		c := three()
		c.members[2].ClientURLs = []string{address}
		var called []string
		client := newClient([]string{url("a")}, func(endpoint string) (member, error) {
			called = append(called, endpoint)
			return &fake{c, endpoint}, nil
		})
		for range 2 { // the second time from the list
			members, _, err := client.Members(t.Context())
			if err != nil || len(members) != 3 || members[2].Healthy || !members[1].Healthy {
				t.Errorf("%s: %+v, %v", address, members, err)
			}
		}
		if slices.Contains(called, address) {
			t.Errorf("called %v", called)
		}
	}
}

func TestMembersReport(t *testing.T) {
	t.Parallel()
	c := three()
	c.down[url("b")] = true
	c.alarm[3] = []string{"NOSPACE"}
	c.members = append(c.members, &pb.Member{ID: 0x1f, PeerURLs: []string{peer("d")}, IsLearner: true},
		&pb.Member{ID: 5, Name: "e", PeerURLs: []string{peer("e")}, ClientURLs: []string{url("e")}, IsLearner: true})
	members, id, err := c.client().Members(t.Context())
	if err != nil || id != "abc" || len(members) != 5 {
		t.Fatal(members, id, err)
	}
	for i, want := range []struct{ healthy, leader, learner bool }{{true, true, false}, {}, {true, false, false}, {false, false, true}, {true, false, true}} {
		m := members[i]
		if m.Healthy != want.healthy || m.Leader != want.leader || m.Learner != want.learner {
			t.Errorf("got %+v, want %+v", m, want)
		}
	}
	if members[3].ID != "1f" || !slices.Equal(members[2].Alarms, []string{"NOSPACE"}) || members[0].Alarms != nil {
		t.Errorf("got %+v", members)
	}
}

// TestLateMembersAreAskedAgain checks that a late member is asked once more, and that all are asked
// until they have elected a leader if too many are late for the quorum that served the
// list.
func TestLateMembersAreAskedAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		busy    map[string]int
		healthy [3]bool
	}{
		"one, once":           {map[string]int{url("b"): 1}, [3]bool{true, true, true}},
		"one, always":         {map[string]int{url("b"): 100}, [3]bool{true, false, true}},
		"all, for a while":    {map[string]int{url("a"): 3, url("b"): 3, url("c"): 2}, [3]bool{true, true, true}},
		"two, until a quorum": {map[string]int{url("b"): 100, url("c"): 2}, [3]bool{true, false, true}},
		"two, always":         {map[string]int{url("b"): 100, url("c"): 100}, [3]bool{true, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := three()
				c.busy = tt.busy
				began := time.Now()
				members, _, err := c.client().Members(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got := [3]bool{members[0].Healthy, members[1].Healthy, members[2].Healthy}; got != tt.healthy {
					t.Errorf("healthy are %v, want %v", got, tt.healthy)
				}
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("members that answer at once were asked for %s", took)
				}
			})
		})
	}
}

// TestOneAnsweringMemberIsEnough checks that one answering member is enough once the members are known.
func TestOneAnsweringMemberIsEnough(t *testing.T) {
	t.Parallel()
	c := three()
	client := c.client()
	if _, _, err := client.Members(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.becomes(func() { c.down[url("a")] = true })
	members, _, err := client.Members(t.Context())
	if err != nil || members[0].Healthy || !members[1].Healthy {
		t.Errorf("got %+v, %v", members, err)
	}
	c.becomes(func() { c.down[url("b")], c.down[url("c")] = true, true })
	if _, _, err := client.Members(t.Context()); !errors.Is(err, providers.ErrUnreachable) || !strings.HasPrefix(err.Error(), "cannot list members of etcd: ") {
		t.Errorf("got %v", err)
	}
}

// TestMissingAnswerErrorNamesRequest checks that the error for a missing answer names the request.
func TestMissingAnswerErrorNamesRequest(t *testing.T) {
	t.Parallel()
	c := three()
	client := c.client()
	if _, _, err := client.Members(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.becomes(func() { c.alarmErr = errors.New("refused") })
	if _, _, err := client.Members(t.Context()); err == nil || err.Error() != "cannot list alarms of etcd: refused" {
		t.Errorf("got %v", err)
	}
	c.becomes(func() {
		c.down[url("a")], c.down[url("c")], c.foreign = true, true, map[string]bool{url("b"): true}
	})
	if _, _, err := client.Members(t.Context()); err == nil || !strings.Contains(err.Error(), "https://b:2379: it is a member of another etcd, abd") {
		t.Errorf("got %v", err)
	}
	if _, err := client.Identity(t.Context()); !errors.Is(err, providers.ErrUnreachable) || !strings.HasPrefix(err.Error(), "cannot ask etcd who it is: ") {
		t.Errorf("got %v", err)
	}
	if _, err := tlsConfig([]byte("x"), nil, nil); err == nil || err.Error() != "the CA of etcd holds no certificate" {
		t.Errorf("got %v", err)
	}
}

func TestAddLearner(t *testing.T) {
	t.Parallel()
	c := three()
	client := c.client()
	// The answer is lost, but the member was added: that is no error.
	c.fail, c.late = context.DeadlineExceeded, true
	for range 2 {
		if err := client.AddLearner(t.Context(), peer("d")); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.members) != 4 || !slices.Equal(c.calls, []string{"a add"}) {
		t.Errorf("got %d members after %v", len(c.members), c.calls)
	}
	c.fail, c.late = rpctypes.ErrTooManyLearners, false
	err := client.AddLearner(t.Context(), peer("e"))
	if err == nil || !strings.Contains(err.Error(), "cannot add etcd member with peer URL https://e:2380: etcdserver: too many learner") {
		t.Errorf("got %v", err)
	}
}

func TestPromoteLearner(t *testing.T) {
	t.Parallel()
	c := three()
	c.members[2].IsLearner = true
	client := c.client()
	c.fail = rpctypes.ErrMemberLearnerNotReady
	if err := client.Promote(t.Context(), "3"); err == nil {
		t.Error("got no error for a learner that lags")
	}
	c.fail, c.late = rpctypes.ErrMemberNotLearner, true
	for range 2 {
		if err := client.Promote(t.Context(), "3"); err != nil {
			t.Error(err)
		}
	}
	if c.members[2].IsLearner || len(c.calls) != 2 {
		t.Errorf("got %v", c.calls)
	}
	if err := client.Promote(t.Context(), "9"); err == nil || !strings.Contains(err.Error(), "it is no member") {
		t.Errorf("got %v", err)
	}
}

func TestRemoveMember(t *testing.T) {
	t.Parallel()
	c := three()
	client := c.client()
	// Member a gets the request for the list, but not the one for its own removal.
	if err := client.Remove(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.calls, []string{"b remove"}) {
		t.Errorf("got %v", c.calls)
	}
	if err := client.Remove(t.Context(), "1"); err != nil {
		t.Errorf("a member that is gone: %v", err)
	}
	c.becomes(func() { c.down[url("c")] = true })
	if err := client.Remove(t.Context(), "2"); err == nil || !strings.Contains(err.Error(), "no other voter answers") {
		t.Errorf("got %v", err)
	}
	c.becomes(func() { c.members = c.members[:1] })
	if err := client.Remove(t.Context(), "2"); err == nil || !strings.Contains(err.Error(), "cannot remove etcd member 2: it is the only voter: without it there is no cluster") {
		t.Errorf("got %v", err)
	}
}

func TestMoveLeader(t *testing.T) {
	t.Parallel()
	c := three()
	c.leader = 3
	client := c.client()
	for range 2 {
		if err := client.MoveLeader(t.Context(), "2"); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(c.calls, []string{"c move"}) || c.leader != 2 {
		t.Errorf("got %v, leader %d", c.calls, c.leader)
	}
	c.fail = errors.New("refused")
	if err := client.MoveLeader(t.Context(), "1"); err == nil || err.Error() != "cannot move leadership of etcd to 1: refused" || c.leader != 2 {
		t.Errorf("got %v", err)
	}
	c.becomes(func() { c.leader = 0 })
	if err := client.MoveLeader(t.Context(), "1"); err == nil || err.Error() != "cannot find the leader of etcd: there is none at the moment" {
		t.Errorf("got %v", err)
	}
}

// TestCompactAsksEveryVoter checks that every voter is asked, since each compacts at its own pace; and
// that it is no error if it is done already.
func TestCompactAsksEveryVoter(t *testing.T) {
	t.Parallel()
	c := three()
	c.revision = 7
	c.members = append(c.members, &pb.Member{ID: 4, PeerURLs: []string{peer("d")}, IsLearner: true})
	for range 2 {
		if err := c.client().Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := strings.Join(c.calls, ", "), "a compact 7, b compact 7, c compact 7"; got != want+", "+want {
		t.Errorf("got %s", got)
	}
	c.down[url("b")] = true
	if err := c.client().Compact(t.Context()); !errors.Is(err, providers.ErrUnreachable) || !strings.Contains(err.Error(), "cannot compact etcd at member b") {
		t.Errorf("one that is down: %v", err)
	}
}

func TestDefragment(t *testing.T) {
	t.Parallel()
	c := three()
	if err := c.client().Defragment(t.Context(), "2"); err != nil {
		t.Error(err)
	}
	if want := []string{"b defragment"}; !slices.Equal(c.calls, want) {
		t.Errorf("got %v, want %v: a member is asked itself", c.calls, want)
	}
	if err := c.client().Defragment(t.Context(), "9"); err == nil {
		t.Error("an unknown member was defragmented")
	}
	c.down[url("b")] = true
	if err := c.client().Defragment(t.Context(), "2"); !errors.Is(err, providers.ErrUnreachable) {
		t.Errorf("one that is down: %v", err)
	}
}

func TestDisarm(t *testing.T) {
	t.Parallel()
	c := three()
	c.alarm[2] = []string{"NOSPACE"}
	for range 2 { // the second call has nothing to do
		if err := c.client().Disarm(t.Context(), "2", "NOSPACE"); err != nil {
			t.Error(err)
		}
	}
	c.alarm[3] = []string{"CORRUPT"}
	if err := c.client().Disarm(t.Context(), "3", "NOSPACE"); err != nil {
		t.Error(err)
	}
	if want := []string{"a disarm NOSPACE"}; !slices.Equal(c.calls, want) {
		t.Errorf("got %v, want %v", c.calls, want)
	}
	if err := c.client().Disarm(t.Context(), "3", "SLOW"); err == nil {
		t.Error("an alarm that does not exist was disarmed")
	}
}
