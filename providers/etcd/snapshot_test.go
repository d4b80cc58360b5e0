package etcd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/snapshots"
)

func TestSnapshotSource(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*cluster)
		want   string
	}{
		"not the leader":          {func(*cluster) {}, "b"},
		"the next that answers":   {func(c *cluster) { c.down[url("b")] = true }, "c"},
		"the leader, when alone":  {func(c *cluster) { c.down[url("b")], c.down[url("c")] = true, true }, "a"},
		"none that is corrupt":    {func(c *cluster) { c.alarm[2] = []string{"CORRUPT"} }, "c"},
		"no learner":              {func(c *cluster) { c.members[1].IsLearner = true }, "c"},
		"none that has not begun": {func(c *cluster) { c.members[1].Name = "" }, "c"},
		"full is not corrupt":     {func(c *cluster) { c.alarm[2] = []string{"NOSPACE"} }, "b"},
	} {
		model := three()
		c.change(model)
		s, err := model.client().Snapshot(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b, _ := io.ReadAll(s); s.Member != c.want || string(b) != "data of "+c.want || s.EtcdID != "abc" {
			t.Errorf("%s: got %q from %+v, want member %s", name, b, s, c.want)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	model := three()
	model.alarm = map[uint64][]string{1: {"CORRUPT"}, 2: {"CORRUPT"}, 3: {"CORRUPT"}}
	if _, err := model.client().Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "not alarmed as corrupt") {
		t.Errorf("all corrupt: %v", err)
	}
	model = three()
	model.down = map[string]bool{url("a"): true, url("b"): true, url("c"): true}
	if _, err := model.client().Snapshot(t.Context()); !errors.Is(err, providers.ErrUnreachable) {
		t.Errorf("none answers: %v", err)
	}
}

// server is an etcd over gRPC, as far as snapshots need it.
type server struct {
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedKVServer
	pb.UnimplementedClusterServer
	send func(pb.Maintenance_SnapshotServer) error
	// stepsDown makes it report a cluster downgrade.
	stepsDown bool
	// split makes it answer nothing that needs a quorum.
	split bool
	// more is the number of further members in its list.
	more int
}

// errNoAnswer is the answer of an etcd whose request waits for a quorum.
var errNoAnswer = grpcstatus.Error(codes.DeadlineExceeded, "context deadline exceeded")

func (s *server) Snapshot(_ *pb.SnapshotRequest, to pb.Maintenance_SnapshotServer) error {
	return s.send(to)
}

func (s *server) Range(_ context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	if s.split && !r.Serializable {
		return nil, errNoAnswer
	}
	return &pb.RangeResponse{Header: &pb.ResponseHeader{ClusterId: clusterID, MemberId: 1, Revision: 42}}, nil
}

func (s *server) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	leader := uint64(1)
	if s.split {
		leader = 0
	}
	return &pb.StatusResponse{
		Header: &pb.ResponseHeader{ClusterId: clusterID, MemberId: 1}, Leader: leader, Version: "3.7.0",
		DowngradeInfo: &pb.DowngradeInfo{Enabled: s.stepsDown, TargetVersion: "3.6.0"},
	}, nil
}

func (s *server) Alarm(context.Context, *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	return &pb.AlarmResponse{}, nil
}

func (s *server) MemberList(_ context.Context, r *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	if s.split && r.Linearizable {
		return nil, errNoAnswer
	}
	members := []*pb.Member{{ID: 1, Name: "a", ClientURLs: []string{"http://etcd.test:2379"}}}
	for i := range s.more {
		members = append(members, &pb.Member{ID: uint64(i) + 2})
	}
	return &pb.MemberListResponse{Header: &pb.ResponseHeader{ClusterId: clusterID}, Members: members}, nil
}

// TestTooManyListedMembersAreRefused checks that the members of an etcd that lists more than there can be are
// not asked.
func TestTooManyListedMembersAreRefused(t *testing.T) {
	t.Parallel()
	c, _ := (&server{more: mostMembers}).serve(t)
	_, _, err := c.Members(t.Context())
	if want := "http://etcd.test:2379: it lists 65 members, which no etcd has"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// dialer is a host that reaches the server at every address.
type dialer struct {
	providers.Host
	address string
}

func (d dialer) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", d.address)
}

// serve starts the server and returns a client of it, and a function that kills it.
func serve(t *testing.T, send func(pb.Maintenance_SnapshotServer) error) (c *Client, kill func()) {
	t.Helper()
	return (&server{send: send}).serve(t)
}

func (s *server) serve(t *testing.T) (c *Client, kill func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	pb.RegisterMaintenanceServer(g, s)
	pb.RegisterKVServer(g, s)
	pb.RegisterClusterServer(g, s)
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	d := dialer{address: l.Addr().String()}
	c = newClient([]string{"http://etcd.test:2379"}, func(endpoint string) (member, error) { return dial(d, endpoint, nil) })
	t.Cleanup(func() { _ = c.Close() })
	return c, g.Stop
}

// TestDowngradeTargetIsReadFromStatus checks that the target version of a cluster downgrade is read from the
// status, as is its absence.
func TestDowngradeTargetIsReadFromStatus(t *testing.T) {
	t.Parallel()
	for stepsDown, want := range map[bool]string{true: "3.6.0", false: ""} {
		c, _ := (&server{stepsDown: stepsDown}).serve(t)
		members, _, err := c.Members(t.Context())
		if err != nil || len(members) != 1 || members[0].Version != "3.7.0" || members[0].DowngradeTo != want {
			t.Errorf("got %+v, %v, want one that steps down to %q", members, err, want)
		}
	}
}

// TestOnlySerializableRequestsWithoutQuorum checks that without a quorum only requests to the member alone are
// answered.
func TestOnlySerializableRequestsWithoutQuorum(t *testing.T) {
	t.Parallel()
	c, _ := (&server{split: true, send: func(to pb.Maintenance_SnapshotServer) error {
		return to.Send(&pb.SnapshotResponse{Blob: []byte("data")})
	}}).serve(t)
	if _, _, err := c.Members(t.Context()); !errors.Is(err, providers.ErrTimeout) {
		t.Errorf("a linearizable list: %v", err)
	}
	members, id, err := c.LocalMembers(t.Context())
	if err != nil || id != "abc" || len(members) != 1 || members[0].Revision != 42 || members[0].Version != "3.7.0" {
		t.Errorf("got %+v of %s, %v", members, id, err)
	}
	s, err := c.LocalSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if b, err := io.ReadAll(s); err != nil || string(b) != "data" || s.Member != "a" || s.Revision != 42 {
		t.Errorf("got %q from %+v, %v", b, s, err)
	}
}

// TestSnapshotOversizedMessageIsRefused checks that a message larger than any of etcd's is refused.
func TestSnapshotOversizedMessageIsRefused(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, func(to pb.Maintenance_SnapshotServer) error {
		return to.Send(&pb.SnapshotResponse{Blob: make([]byte, messageCap)})
	})
	s, err := c.Snapshot(t.Context())
	if err == nil {
		_, err = io.Copy(io.Discard, s)
		_ = s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "larger than max") {
		t.Errorf("got %v", err)
	}
}

// TestSnapshotStreamBecomesFile checks that the parts of etcd's stream, followed by the hash, become a
// file.
func TestSnapshotStreamBecomesFile(t *testing.T) {
	t.Parallel()
	database := bytes.Repeat([]byte("pages of etcd..."), 64*1024)
	sum := sha256.Sum256(database)
	c, _ := serve(t, func(to pb.Maintenance_SnapshotServer) error {
		for at := 0; at < len(database); at += 32 * 1024 {
			if err := to.Send(&pb.SnapshotResponse{Blob: database[at:min(len(database), at+32*1024)]}); err != nil {
				return err
			}
		}
		return to.Send(&pb.SnapshotResponse{Blob: sum[:]})
	})
	s, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.EtcdID != "abc" || s.Member != "a" || s.Revision != 42 {
		t.Errorf("got %+v", s)
	}
	path := filepath.Join(t.TempDir(), "snapshot.db")
	if d, err := snapshots.Write(path, s); err != nil || d.Size != int64(len(database)+len(sum)) {
		t.Errorf("got %+v, %v", d, err)
	}
}

// TestSnapshotStreamInterruptedIsAnError checks that a connection lost in the middle is an error with a
// kind, and not the end of the stream.
func TestSnapshotStreamInterruptedIsAnError(t *testing.T) {
	t.Parallel()
	sent := make(chan struct{})
	c, kill := serve(t, func(to pb.Maintenance_SnapshotServer) error {
		err := to.Send(&pb.SnapshotResponse{Blob: make([]byte, 1024)})
		close(sent)
		<-to.Context().Done()
		return err
	})
	s, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := io.ReadFull(s, make([]byte, 1024)); err != nil {
		t.Fatal(err)
	}
	<-sent
	kill()
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, providers.ErrDisconnected) {
		t.Errorf("got %v", err)
	}
}

// TestSnapshotStreamStallIsGivenUp checks that a member that stops sending is given up, and that
// one with a slow reader is not.
func TestSnapshotStreamStallIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		r, w := io.Pipe()
		stop := context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
		defer stop()
		s := watch(ctx, r, stallTimeout, cancel)
		go func() { _, _ = w.Write([]byte("ab")) }()
		for range 2 {
			if _, err := s.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * stallTimeout)
		}
		begin := time.Now()
		_, err := s.Read(make([]byte, 1))
		if !errors.Is(err, providers.ErrTimeout) || time.Since(begin) != stallTimeout || err.Error() != "cannot read the snapshot of etcd: nothing has come for "+stallTimeout.String() {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
