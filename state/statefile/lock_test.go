package statefile_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubewright/kubewright/state/statefile"
)

var info = statefile.LockInfo{ID: "b71e", Who: "ann@laptop", Time: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC), PID: 4711, Operation: "apply"}

// holdEnv names the lock that a child process of the test binary holds until it is killed.
const holdEnv = "KUBEWRIGHT_TEST_HOLD"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdEnv); path != "" {
		hold(path)
	}
	os.Exit(m.Run())
}

func hold(path string) {
	lock, err := statefile.Acquire(context.Background(), path, info, 0)
	if err != nil {
		os.Stdout.WriteString(err.Error())
		os.Exit(1)
	}
	os.Stdout.WriteString("held")
	// Read until the parent closes stdin. Blocking forever would be a deadlock, at which the
	// runtime ends the process; and an unreferenced lock is collected, which closes its file and
	// frees it.
	_, _ = io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(lock)
}

func TestLockErrorNamesHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kubewright.state.lock")
	lock, err := statefile.Acquire(t.Context(), path, info, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = statefile.Acquire(t.Context(), path, statefile.LockInfo{ID: "other"}, 0)
	locked := (*statefile.LockedError)(nil)
	if !errors.As(err, &locked) || !errors.Is(err, statefile.ErrLocked) {
		t.Fatalf("error = %v", err)
	}
	locked.Info.File = "" // Acquire's own
	if locked.Info != info {
		t.Errorf("held by %+v", locked.Info)
	}
	if want := "cannot lock state: apply of ann@laptop (pid 4711, since 2026-08-01T12:00:00Z, run b71e) holds " + path; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error = %v, want %s", err, want)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if got := statefile.ReadLockInfo(path); got != (statefile.LockInfo{}) {
		t.Errorf("after the release the file contains %+v", got)
	}
	if lock, err = statefile.Acquire(t.Context(), path, info, 0); err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if stat, err := os.Stat(path); err != nil || stat.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", stat, err)
	}
}

func TestLockTimeout(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := statefile.Acquire(t.Context(), path, info, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = statefile.Acquire(t.Context(), path, info, 10*time.Millisecond)
	if !errors.Is(err, statefile.ErrLocked) || !strings.Contains(err.Error(), "cannot lock state after 10ms") {
		t.Errorf("error = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := statefile.Acquire(ctx, path, info, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error = %v", err)
	}
	freed := make(chan error, 1)
	go func() {
		second, err := statefile.Acquire(t.Context(), path, info, time.Minute)
		if err == nil {
			err = second.Release()
		}
		freed <- err
	}()
	if err := errors.Join(lock.Release(), <-freed); err != nil {
		t.Errorf("waiting for the release: %v", err)
	}
}

func TestLockHasOneHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var held, refused sync.Map
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			lock, err := statefile.Acquire(t.Context(), path, info, 0)
			if errors.Is(err, statefile.ErrLocked) {
				refused.Store(i, true)
				return
			}
			held.Store(i, lock)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	count := func(m *sync.Map) (n int) {
		m.Range(func(any, any) bool { n++; return true })
		return n
	}
	if count(&held) != 1 || count(&refused) != 49 {
		t.Errorf("%d hold the lock, %d were refused", count(&held), count(&refused))
	}
}

// TestKilledProcessLosesLock checks that a killed process leaves no stale lock.
func TestKilledProcessLosesLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil { // open as long as this process lives
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 4)
	if _, err := out.Read(said); err != nil || string(said) != "held" {
		t.Fatalf("the other process says %q, %v", said, err)
	}
	if _, err := statefile.Acquire(t.Context(), path, info, 0); !errors.Is(err, statefile.ErrLocked) {
		t.Errorf("while it lives: error = %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the error reports the kill
	lock, err := statefile.Acquire(t.Context(), path, info, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

func TestLockInMissingFolderIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "gone", "lock")
	if _, err := statefile.Acquire(t.Context(), path, info, 0); !errors.Is(err, os.ErrNotExist) || errors.Is(err, statefile.ErrLocked) {
		t.Errorf("error = %v", err)
	}
}

// TestLockMustBeARegularFile checks that the target of a link is not locked, created or emptied, and
// that a pipe does not block.
func TestLockMustBeARegularFile(t *testing.T) {
	t.Parallel()
	for is, trap := range map[string]func(path string) error{
		"a symbolic link": func(path string) error { return os.Symlink("victim", path) },
		"a named pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory":     func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		dir := t.TempDir()
		path, victim := filepath.Join(dir, "kubewright.state.lock"), filepath.Join(dir, "victim")
		if err := errors.Join(trap(path), os.WriteFile(victim, []byte("precious"), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err := statefile.Acquire(t.Context(), path, info, time.Minute)
		if want := "cannot lock state with " + path + ": it is " + is + ", not a regular file; kubewright makes this file itself: find out where that comes from, and remove it"; err == nil || err.Error() != want {
			t.Errorf("error = %v, want %s", err, want)
		}
		if _, err := statefile.NewLocal(statefile.DirPaths(dir)).Holder(t.Context()); err == nil || !strings.Contains(err.Error(), "is "+is) {
			t.Errorf("Holder: error = %v", err)
		}
		if b, err := os.ReadFile(victim); err != nil || string(b) != "precious" {
			t.Errorf("with %s in place of the lock the file contains %q, %v", is, b, err)
		}
	}
}

// TestLockReportsKilledHolder checks that the next holder learns of one that was killed, but not of one
// that released the lock, and not from a copy of the file.
func TestLockReportsKilledHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "lock"), filepath.Join(dir, "copied")
	lock, err := statefile.Acquire(t.Context(), path, info, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	// A killed process leaves its record and loses its lock.
	for _, name := range []string{path, copied} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ path, want string }{{path, info.ID}, {path, ""}, {copied, ""}} {
		l, err := statefile.Acquire(t.Context(), tt.path, statefile.LockInfo{ID: "next"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if l.Left().ID != tt.want {
			t.Errorf("%s was left by %q, want %q", tt.path, l.Left().ID, tt.want)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
}
