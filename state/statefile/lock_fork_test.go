package statefile

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLockIsReleasedDespiteFork checks that a freshly forked process that shares the
// open file does not keep the lock.
func TestLockIsReleasedDespiteFork(t *testing.T) {
	t.Parallel()
	for name, giveBack := range map[string]func(*Lock) error{"release": (*Lock).Release, "return": (*Lock).Return, "leave": (*Lock).Leave} {
		path := filepath.Join(t.TempDir(), "kubewright.state.lock")
		lock, err := Acquire(t.Context(), path, LockInfo{ID: "b71e"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		fork, err := unix.Dup(int(lock.file.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		if err := giveBack(lock); err != nil {
			t.Fatal(err)
		}
		again, err := Acquire(t.Context(), path, LockInfo{ID: "c82f"}, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if err := again.Release(); err != nil {
			t.Error(err)
		}
		if err := unix.Close(fork); err != nil {
			t.Fatal(err)
		}
	}
}
