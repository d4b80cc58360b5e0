package providers_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/snapshots"
	"github.com/kubewright/kubewright/state"
)

// database returns a snapshot as etcd streams it.
func database() []byte {
	b := bytes.Repeat([]byte("page"), 256)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// snapshotFile returns the one file in the folder of snapshots.
func (s *scene) snapshotFile(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(s.snapshots)
	if err != nil || len(entries) != 1 {
		t.Fatalf("the folder holds %v, %v", entries, err)
	}
	return filepath.Join(s.snapshots, entries[0].Name())
}

func TestSnapshotRetriesBrokenStream(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.snapshots = filepath.Join(t.TempDir(), "kubewright.snapshots")
	s.now = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	whole := database()
	cut := io.MultiReader(bytes.NewReader(whole[:600]), iotest.ErrReader(&providers.Error{Kind: providers.ErrDisconnected, Do: "read"}))
	s.streams = []io.Reader{cut, bytes.NewReader(whole)}
	op := planner.SnapshotEtcd{Cluster: "prod", MaxAge: 15 * time.Minute, Keep: 3}
	out, err := s.perform(t, providers.Run{}, op)
	if err != nil {
		t.Fatal(err)
	}
	path := s.snapshotFile(t)
	if want := "prod-20260302T090000Z-r7-1.db"; filepath.Base(path) != want || out[providers.SnapshotPath].Value.AsString() != path {
		t.Errorf("file is %s, output %v, want %s", path, out, want)
	}
	if _, err := snapshots.Verify(path); err != nil {
		t.Error(err)
	}
	// The run that continues that plan fetches no other snapshot while this one is recent
	// enough, not even if etcd would send one.
	s.interrupted, s.now = time.Date(2026, 3, 2, 9, 0, 0, 1, time.UTC), s.now.Add(10*time.Minute)
	if out, err = s.perform(t, providers.Run{}, op); err != nil || out[providers.SnapshotPath].Value.AsString() != path {
		t.Errorf("the second time: %v, %v", out, err)
	}
	if got := strings.Join(s.did("log"), "\n"); !strings.Contains(got, "the interrupted plan has taken a snapshot that is recent enough: "+path) {
		t.Errorf("got %s", got)
	}
	s.now = s.now.Add(10 * time.Minute)
	if _, err = s.perform(t, providers.Run{}, op); !errors.Is(err, errNoStream) {
		t.Errorf("after 20 minutes: %v", err)
	}
}

// TestSnapshotIsFetchedPerPlan checks that a plan that continues no other one fetches a snapshot of
// its own, however recent the last one is; so does one that continues a plan that was begun
// later.
func TestSnapshotIsFetchedPerPlan(t *testing.T) {
	t.Parallel()
	for name, since := range map[string]time.Duration{"continues none": -1, "continues a later one": time.Minute} {
		s := newScene()
		s.snapshots, s.now = t.TempDir(), time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
		s.streams = []io.Reader{bytes.NewReader(database()), bytes.NewReader(database())}
		op := planner.SnapshotEtcd{Cluster: "prod", MaxAge: 15 * time.Minute, Keep: 3}
		_, err := s.perform(t, providers.Run{}, op)
		if since >= 0 {
			s.interrupted = s.now.Add(since)
		}
		s.now = s.now.Add(2 * time.Minute)
		if _, again := s.perform(t, providers.Run{}, op); errors.Join(err, again) != nil {
			t.Errorf("%s: %v, %v", name, err, again)
		}
		if files, err := snapshots.List(s.snapshots, "prod"); err != nil || len(files) != 2 {
			t.Errorf("%s: the folder holds %v, %v", name, files, err)
		}
	}
}

// TestSnapshotIsReportedIfPruningFails checks that the new snapshot is reported even if older ones cannot
// be removed.
func TestSnapshotIsReportedIfPruningFails(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.snapshots, s.now = t.TempDir(), time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	left := filepath.Join(s.snapshots, ".prod-20260301T090000Z-r5-1.db1")
	longAgo := time.Now().AddDate(0, 0, -2)
	if err := errors.Join(os.MkdirAll(filepath.Join(left, "a folder that is not empty"), 0o700), os.Chtimes(left, longAgo, longAgo)); err != nil {
		t.Fatal(err)
	}
	s.streams = []io.Reader{bytes.NewReader(database())}
	_, err := s.perform(t, providers.Run{}, planner.SnapshotEtcd{Cluster: "prod", Keep: 1})
	want := "a snapshot of etcd was kept as " + filepath.Join(s.snapshots, "prod-20260302T090000Z-r7-1.db") + ", but older ones beside it cannot be removed: remove " + left + ": directory not empty"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestSnapshotEndlessStreamIsCutOff checks that a member that sends more than etcd holds does not fill
// the disk, and is not asked again.
func TestSnapshotEndlessStreamIsCutOff(t *testing.T) {
	t.Parallel()
	const remedy = "if etcd's database is as large, give its quota as arg quota-backend-bytes in etcd { }. Otherwise take the member's host for compromised until you know better"
	for name, c := range map[string]struct {
		op   planner.SnapshotEtcd
		want string
	}{
		"of a small quota": {planner.SnapshotEtcd{Cluster: "prod", Quota: 4 << 20}, "the member sends more than 8 MiB, which is twice etcd's quota"},
	} {
		s := newScene()
		s.snapshots = t.TempDir()
		s.streams = []io.Reader{endless{}, endless{}}
		_, err := s.perform(t, providers.Run{}, c.op)
		if !errors.Is(err, providers.ErrProtocol) || !strings.Contains(err.Error(), c.want) || providers.RemedyOf(err) != remedy {
			t.Errorf("%s: got %v", name, err)
		}
		if entries, _ := os.ReadDir(s.snapshots); len(entries) != 0 || len(s.streams) != 1 {
			t.Errorf("%s: the folder holds %v, and %d streams are left", name, entries, len(s.streams))
		}
	}
	if most := (planner.SnapshotEtcd{}).Most(); most != 4<<30 {
		t.Errorf("without a quota of its own it may have %d bytes", most)
	}
}

// endless is a stream without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestSnapshotFailureLeavesNoFile checks that a stream that stays broken is given up, and that a full
// disk is not retried. Neither leaves a file.
func TestSnapshotFailureLeavesNoFile(t *testing.T) {
	t.Parallel()
	op := planner.SnapshotEtcd{Cluster: "prod"}
	s := newScene()
	s.snapshots = t.TempDir()
	for range 1000 {
		s.streams = append(s.streams, iotest.ErrReader(&providers.Error{Kind: providers.ErrDisconnected, Do: "read the snapshot"}))
	}
	_, err := s.perform(t, providers.Run{}, op)
	if !errors.Is(err, providers.ErrDisconnected) || !strings.Contains(err.Error(), "tried for 2m0s") {
		t.Errorf("cut stream: %v", err)
	}
	if entries, _ := os.ReadDir(s.snapshots); len(entries) != 0 {
		t.Errorf("the folder holds %v", entries)
	}
	file := filepath.Join(s.snapshots, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.snapshots = filepath.Join(file, "below")
	s.streams = []io.Reader{bytes.NewReader(database()), bytes.NewReader(database())}
	if _, err := s.perform(t, providers.Run{}, op); !errors.Is(err, snapshots.ErrDisk) || len(s.streams) != 1 {
		t.Errorf("no folder: %v, and %d streams were not begun", err, len(s.streams))
	}
}

// TestSnapshotWithoutQuorumReplacesNone checks that without a quorum a member is asked alone, and that
// its snapshot replaces no older one. A step of a plan takes no such snapshot.
func TestSnapshotWithoutQuorumReplacesNone(t *testing.T) {
	t.Parallel()
	silent := &providers.Error{Kind: providers.ErrTimeout, Do: "list members of etcd"}
	corrupt := errors.New("no voter answers that is not alarmed as corrupt")
	untrusted := fmt.Errorf("%w: %w", providers.ErrUntrusted, silent)
	for name, c := range map[string]struct {
		quorum, alone, want error
		member              string
		files               int
	}{
		"a quorum":           {nil, nil, nil, "cp1", 1},
		"none":               {silent, nil, nil, "cp3", 2},
		"a leader":           {silent, providers.ErrHasLeader, silent, "", 1},
		"none answers":       {silent, &providers.Error{Kind: providers.ErrUnreachable, Do: "ask"}, silent, "", 1},
		"no member is whole": {silent, corrupt, corrupt, "", 1},
		"not trusted":        {untrusted, nil, untrusted, "", 1},
	} {
		s := newScene()
		s.snapshots, s.now = t.TempDir(), time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
		s.streams = []io.Reader{bytes.NewReader(database()), bytes.NewReader(database())}
		op := planner.SnapshotEtcd{Cluster: "prod", Keep: 1}
		if _, err := s.performer().FetchSnapshot(t.Context(), state.NodeTarget("cp1"), op, ""); err != nil {
			t.Fatal(err)
		}
		s.now = s.now.Add(time.Minute)
		s.quorumErr, s.aloneErr = c.quorum, c.alone
		got, err := s.performer().FetchSnapshot(t.Context(), state.NodeTarget("cp1"), op, "")
		if !errors.Is(err, c.want) || got.Member != c.member || got.Local != (c.member == "cp3") {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if files, err := snapshots.List(s.snapshots, "prod"); err != nil || len(files) != c.files {
			t.Errorf("%s: the folder holds %v, %v", name, files, err)
		}
	}
	s := newScene()
	s.snapshots, s.quorumErr = t.TempDir(), silent
	s.streams = []io.Reader{bytes.NewReader(database())}
	if _, err := s.perform(t, providers.Run{}, planner.SnapshotEtcd{Cluster: "prod"}); !errors.Is(err, providers.ErrTimeout) || len(s.streams) != 1 {
		t.Errorf("a step: %v", err)
	}
}
