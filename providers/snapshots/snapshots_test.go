package snapshots_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/kubewright/kubewright/providers/snapshots"
)

// snapshot returns a database of some pages with its hash.
func snapshot(pages int) []byte {
	b := bytes.Repeat([]byte("etcd"), pages*1024)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func TestWriteStoresSnapshot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "prod.db")
	want := snapshot(3)
	d, err := snapshots.Write(path, iotest.OneByteReader(bytes.NewReader(want)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) || d.Size != int64(len(want)) {
		t.Fatalf("got %d bytes, digest %+v, %v", len(got), d, err)
	}
	again, err := snapshots.Verify(path)
	if err != nil || again != d {
		t.Errorf("verified as %+v, %v; written as %+v", again, err, d)
	}
	for p, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, want %v", p, info.Mode(), mode)
		}
	}
}

// TestIncompleteStreamKeepsExistingFile checks that an incomplete stream leaves no file, and that an existing one
// stays.
func TestIncompleteStreamKeepsExistingFile(t *testing.T) {
	t.Parallel()
	whole := snapshot(2)
	changed := bytes.Clone(whole)
	changed[100] ^= 1
	lost := errors.New("connection lost")
	for name, c := range map[string]struct {
		stream io.Reader
		kind   error
		text   string
	}{
		"cut stream":       {io.MultiReader(bytes.NewReader(whole[:5000]), iotest.ErrReader(lost)), lost, "the stream of the snapshot was cut off after 5000 bytes, and nothing of it was kept: connection lost"},
		"ends early":       {bytes.NewReader(whole[:5000]), snapshots.ErrInvalid, "it has 5000 bytes, which is no database with its hash behind it; it was cut off, or copied from a data folder: not a whole snapshot of etcd"},
		"without its hash": {bytes.NewReader(whole[:len(whole)-sha256.Size]), snapshots.ErrInvalid, "no database with its hash"},
		"a page is lost":   {bytes.NewReader(append(bytes.Clone(whole[:4096]), whole[4608:]...)), snapshots.ErrInvalid, "does not fit the hash"},
		"changed":          {bytes.NewReader(changed), snapshots.ErrInvalid, "its content does not fit the hash at its end; it was changed on the way or on the disk: not a whole snapshot of etcd"},
		"empty":            {strings.NewReader(""), snapshots.ErrInvalid, "it has 0 bytes"},
		"hash alone":       {bytes.NewReader(whole[len(whole)-sha256.Size:]), snapshots.ErrInvalid, "it has 32 bytes"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "prod.db")
		if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := snapshots.Write(path, c.stream)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error is %v, want %v with %q", name, err, c.kind, c.text)
		}
		entries, _ := os.ReadDir(dir)
		if was, _ := os.ReadFile(path); len(entries) != 1 || string(was) != "before" {
			t.Errorf("%s: the folder holds %v, and the file %q", name, entries, was)
		}
	}
}

func TestVerifyRefusesOtherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := snapshots.Verify(dir); !errors.Is(err, snapshots.ErrInvalid) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := snapshots.Verify(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestSnapshotNames(t *testing.T) {
	t.Parallel()
	n := snapshots.Name{Cluster: "prod-eu", Taken: time.Date(2026, 3, 2, 9, 0, 7, 0, time.UTC), Revision: 4711, EtcdID: "cdf818194e3a8c32"}
	const text = "prod-eu-20260302T090007Z-r4711-cdf818194e3a8c32.db"
	if n.String() != text {
		t.Errorf("got %s", n)
	}
	if back, ok := snapshots.ParseName("/x/" + text); !ok || back != n {
		t.Errorf("read back %+v, %v", back, ok)
	}
	for _, other := range []string{"", "prod.db", "prod-20260302T090007Z-r1-xyz.db", "prod-20261302T090007Z-r1-ab.db", "." + text + ".tmp", "prod-20260302T090007Z-r99999999999999999999-ab.db"} {
		if got, ok := snapshots.ParseName(other); ok {
			t.Errorf("%q is read as %+v", other, got)
		}
	}
}

// folder returns a folder with snapshots of a cluster, one for each given minute of an
// hour.
func folder(t *testing.T, cluster string, minutes ...int) string {
	t.Helper()
	dir := t.TempDir()
	for _, m := range minutes {
		if _, err := snapshots.Write(filepath.Join(dir, nameAt(cluster, m)), bytes.NewReader(snapshot(1))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func at(minute int) time.Time { return time.Date(2026, 3, 2, 9, minute, 0, 0, time.UTC) }

func nameAt(cluster string, minute int) string {
	return snapshots.Name{Cluster: cluster, Taken: at(minute), Revision: int64(100 - minute), EtcdID: "ab"}.String()
}

func TestPruneKeepsNewestSnapshots(t *testing.T) {
	t.Parallel()
	dir := folder(t, "prod", 1, 30, 9, 20)
	old := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{nameAt("prod-eu", 1), "notes.txt", ".prod-x.db123", ".prod-y.db123"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(dir, ".prod-y.db123"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := snapshots.Prune(dir, "prod", 2); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	// Files that a running process may be writing stay, and so do those that are not the
	// cluster's.
	want := []string{".prod-x.db123", "notes.txt", nameAt("prod", 20), nameAt("prod", 30), nameAt("prod-eu", 1)}
	if !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
	if err := snapshots.Prune(filepath.Join(dir, "none"), "prod", 2); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestSnapshotBetweenTimes(t *testing.T) {
	t.Parallel()
	dir := folder(t, "prod", 10, 20)
	if f, ok := snapshots.Between(dir, "prod", "ab", at(5), at(30), nil); !ok || f.Taken != at(20) {
		t.Errorf("got %+v, %v", f, ok)
	}
	if f, ok := snapshots.Between(dir, "prod", "ab", at(20).Add(time.Second/2), at(30), nil); !ok || f.Taken != at(20) {
		t.Errorf("one of the same second: %+v, %v", f, ok)
	}
	if _, ok := snapshots.Between(dir, "prod", "ab", at(20).Add(time.Second), at(30), nil); ok {
		t.Error("an older one counts")
	}
	if f, ok := snapshots.Between(dir, "prod", "ab", at(5), at(15), nil); !ok || f.Taken != at(10) {
		t.Errorf("one from the future counts: %+v, %v", f, ok)
	}
	if _, ok := snapshots.Between(dir, "prod", "cd", at(5), at(30), nil); ok {
		t.Error("one of another etcd counts")
	}
	// A damaged one does not count; an older one may.
	if err := os.Truncate(filepath.Join(dir, nameAt("prod", 20)), 100); err != nil {
		t.Fatal(err)
	}
	if f, ok := snapshots.Between(dir, "prod", "ab", at(5), at(30), nil); !ok || f.Taken != at(10) {
		t.Errorf("got %+v, %v", f, ok)
	}
}
