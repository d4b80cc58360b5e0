package statefile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
)

// taking is a place that accepts every write, with a lock that may be lost: the store has to make
// sure that nothing is written without it.
type taking struct {
	careless
	lost bool
}

func (p *taking) Lock(context.Context, backend.LockInfo) (backend.Lock, error) { return p, nil }
func (p *taking) Release(context.Context) error                                { return nil }
func (p *taking) Confirm(context.Context) error {
	if p.lost {
		return backend.Lost("the place", nil)
	}
	return nil
}

// TestLostLockWritesNothing checks that a run that has lost the folder's or the
// backend's lock neither writes nor replaces a state.
func TestLostLockWritesNothing(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testing.T, *taking, statefile.Paths){
		"the folder's": func(t *testing.T, _ *taking, p statefile.Paths) {
			if err := statefile.NewLocal(p).ForceUnlock(t.Context(), info.ID); err != nil {
				t.Fatal(err)
			}
		},
		"the backend's": func(_ *testing.T, p *taking, _ statefile.Paths) { p.lost = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paths := statefile.DirPaths(t.TempDir())
			synctest.Test(t, func(t *testing.T) {
				p := &taking{careless: careless{kept: other("l1", 1)}}
				s := statefile.NewStore(paths, p)
				if err := s.Lock(t.Context(), info, 0); err != nil {
					t.Fatal(err)
				}
				loaded, err := s.Load(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				lose(t, p, paths)
				pass(12 * time.Second) // the last answer is stale, and the next sign of life not due
				if err := s.Write(t.Context(), loaded.State); !errors.Is(err, backend.ErrLost) {
					t.Errorf("Write: error = %v", err)
				}
				if err := s.Replace(t.Context(), loaded.State); !errors.Is(err, backend.ErrLost) {
					t.Errorf("Replace: error = %v", err)
				}
				if p.wrote {
					t.Error("the state was written")
				}
				_ = s.Unlock(t.Context())
			})
		})
	}
}

// TestWriteWithUnknownResultIsReadAgain checks that after a write with an unknown result the state is read
// again.
func TestWriteWithUnknownResultIsReadAgain(t *testing.T) {
	t.Parallel()
	place := &careless{fail: errors.New("503 Service Unavailable")}
	s, st, _ := begun(t, place)
	if err := s.Write(t.Context(), st); err == nil {
		t.Fatal("no error")
	}
	place.fail = nil
	if loaded, err := s.Reload(t.Context()); err != nil || loaded.State.Serial != 2 {
		t.Errorf("got %+v, %v", loaded, err)
	}
}

// TestJournalOlderThanStateIsIgnored checks that the journal of a run is ignored if another run has written the
// state since it began.
func TestJournalOlderThanStateIsIgnored(t *testing.T) {
	t.Parallel()
	place := &careless{}
	s, _, _ := begun(t, place)
	place.kept = other("l1", 5)
	loaded, err := statefile.NewStore(s.Paths, place).Load(t.Context())
	if err != nil || len(loaded.Overtaken) != 1 || len(loaded.Recovered) != 0 || loaded.State.Serial != 5 {
		t.Errorf("got %+v, %v", loaded, err)
	}
	place.kept = other("l1", 1)
	if loaded, err = statefile.NewStore(s.Paths, place).Load(t.Context()); err != nil || len(loaded.Recovered) != 1 || len(loaded.Overtaken) != 0 {
		t.Errorf("the state that it began with: %+v, %v", loaded, err)
	}
}

// TestReplacedLockFileGivesNoLock checks that a run that waits with a lock file that was replaced
// does not get the lock: the next run locks the new file.
func TestReplacedLockFileGivesNoLock(t *testing.T) {
	t.Parallel()
	paths := statefile.DirPaths(t.TempDir())
	held, err := statefile.Acquire(t.Context(), paths.Lock, info, 0)
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() {
		second, err := statefile.Acquire(t.Context(), paths.Lock, run("waits"), time.Minute)
		if err == nil {
			_ = second.Release()
		}
		waited <- err
	}()
	for opened(t, paths.Lock) < 2 {
		runtime.Gosched()
	}
	if err := statefile.NewLocal(paths).ForceUnlock(t.Context(), info.ID); err != nil {
		t.Fatal(err)
	}
	third, err := statefile.Acquire(t.Context(), paths.Lock, run("third"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; !errors.Is(err, backend.ErrLocked) {
		t.Errorf("two runs hold the lock: error = %v", err)
	}
	if err := errors.Join(third.Confirm(), third.Release()); err != nil {
		t.Error(err)
	}
}

// opened returns how often this process has a file open.
func opened(t *testing.T, path string) int {
	t.Helper()
	const mine = "/proc/self/fd"
	fds, err := os.ReadDir(mine)
	if err != nil {
		t.Skip(err)
	}
	n := 0
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(mine, fd.Name())); err == nil && to == path {
			n++
		}
	}
	return n
}
