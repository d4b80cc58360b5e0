package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
)

func TestArtefactIsBuiltOnce(t *testing.T) {
	t.Parallel()
	c := &Cache{Dir: t.TempDir()}
	var builds atomic.Int32
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			dir, err := c.artefact(t.Context(), "things/one", func(_ context.Context, dir string) error {
				builds.Add(1)
				return os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o644)
			})
			if err != nil || !disk.Exists(filepath.Join(dir, "file")) {
				t.Errorf("artefact: %s, %v", dir, err)
			}
		})
	}
	group.Wait()
	if n := builds.Load(); n != 1 {
		t.Errorf("built %d times, want once", n)
	}
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	t.Parallel()
	c := &Cache{Dir: t.TempDir()}
	failure := errors.New("no space left")
	_, err := c.artefact(t.Context(), "things/one", func(_ context.Context, dir string) error {
		if err := os.WriteFile(filepath.Join(dir, "half"), nil, 0o644); err != nil {
			return err
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("got %v, want %v", err, failure)
	}
	if disk.Exists(c.Path("things/one")) {
		t.Error("a half-built artefact is in its place")
	}
	if left, _ := os.ReadDir(c.Path("tmp")); len(left) > 0 {
		t.Errorf("temporary folders stay: %v", left)
	}
}

// TestBuildStartsEmpty checks that leftovers of a killed builder are not part of the next build.
func TestBuildStartsEmpty(t *testing.T) {
	t.Parallel()
	c := &Cache{Dir: t.TempDir()}
	if err := writeFiles(c.Path("tmp/things_one"), map[string]string{"old": "x"}); err != nil {
		t.Fatal(err)
	}
	dir, err := c.artefact(t.Context(), "things/one", func(context.Context, string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if disk.Exists(filepath.Join(dir, "old")) {
		t.Error("a leftover became part of the artefact")
	}
}

func TestLockGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	c := &Cache{Dir: t.TempDir()}
	unlock, err := c.Lock(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Lock(ctx, "x"); err == nil {
		t.Error("a held lock was given again")
	}
	if _, ok, err := c.TryLock("x"); ok || err != nil {
		t.Errorf("a held lock was given again: %v, %v", ok, err)
	}
	unlock()
	again, err := c.Lock(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestDefaultCacheFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(CacheVariable, dir)
	c, err := DefaultCache()
	if err != nil || c.Dir != dir {
		t.Errorf("got %v, %v; want %s", c, err, dir)
	}
}

func TestFingerprintKeepsInputsApart(t *testing.T) {
	t.Parallel()
	if fingerprint("ab", "c") == fingerprint("a", "bc") {
		t.Error("different inputs have the same fingerprint")
	}
}
