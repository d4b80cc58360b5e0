package statefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
)

// Held is the held lock of a store: the lock of the folder, which separates the runs of this
// machine and protects the journal, and the lock of the backend.
type Held struct {
	local  *Lock
	remote backend.Lock
	end    func()
	passOn bool

	mu   sync.Mutex
	lost error
	// asked is when the backend was last asked about the lock, by the wall clock, which advances
	// while a machine sleeps or a process is stopped.
	asked time.Time
}

// fresh is how long an answer about the lock of a backend stays valid.
const fresh = 10 * time.Second

// Lock takes the lock and holds it until Unlock. It waits up to timeout (0 tries once), and then
// fails with a *LockedError.
//
// A backend lock that an earlier run of this folder left, because it was killed or got no answer,
// is taken over: the folder's own lock was free, in the same file that the earlier run had
// locked, which proves that that run has ended. A copy of the folder proves nothing, and any
// other lock is left alone.
func (s *Store) Lock(ctx context.Context, info LockInfo, timeout time.Duration) error {
	began := time.Now()
	local, err := Acquire(ctx, s.Paths.Lock, info, timeout)
	if err != nil {
		return err
	}
	h := &Held{local: local, end: func() {}}
	if !s.local {
		if h.remote, err = s.lockBackend(ctx, info, local, timeout-time.Since(began)); err != nil {
			_ = local.Return()
			return withWaited(err, timeout)
		}
		h.asked = time.Now().Round(0)
		h.beat()
	}
	s.held = h
	return nil
}

// LockBackend takes only the backend's lock, for a caller that holds the folder's lock for
// another place of the same state. It waits as Lock does; a nil lock means that the backend has
// none.
func (s *Store) LockBackend(ctx context.Context, folder *Held, info LockInfo, timeout time.Duration) (backend.Lock, error) {
	lock, err := s.lockBackend(ctx, info, folder.local, timeout)
	if err != nil {
		folder.PassOn()
	}
	return lock, withWaited(err, timeout)
}

func withWaited(err error, timeout time.Duration) error {
	if e, ok := errors.AsType[*LockedError](err); ok {
		e.Waited = timeout
	}
	return err
}

// lockBackend takes the backend's lock for the holder of the folder's lock. After a failure other
// than a refusal the lock may have been taken, or be taken later: the backend is asked to end it
// and, since it may not answer, the run is recorded for the next one here.
func (s *Store) lockBackend(ctx context.Context, info LockInfo, folder *Lock, timeout time.Duration) (backend.Lock, error) {
	lock, err := s.tryBackend(ctx, info, folder.left.runs(), timeout)
	if err == nil || errors.Is(err, backend.ErrLocked) {
		return lock, err
	}
	folder.Doubt()
	end, cancel := backend.Ending(ctx)
	defer cancel()
	if holder, failed := s.backend.Holder(end); failed == nil && holder != nil && holder.ID == info.ID {
		_ = s.backend.ForceUnlock(end, info.ID)
	}
	return nil, err
}

func (s *Store) tryBackend(ctx context.Context, info LockInfo, dead []string, timeout time.Duration) (backend.Lock, error) {
	deadline := time.NewTimer(max(timeout, 0))
	defer deadline.Stop()
	for wait := retryInterval; ; wait = min(2*wait, 5*time.Second) {
		lock, err := s.backend.Lock(ctx, info)
		locked := (*LockedError)(nil)
		if !errors.As(err, &locked) {
			return lock, err
		}
		id := locked.Info.ID
		if i := slices.Index(dead, id); id != "" && i >= 0 {
			dead = slices.Delete(slices.Clone(dead), i, i+1) // only once per run
			if err := s.backend.ForceUnlock(ctx, id); err != nil {
				return nil, err
			}
			continue
		}
		next := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			next.Stop()
			return nil, ctx.Err()
		case <-deadline.C:
			next.Stop()
			return nil, locked
		case <-next.C:
		}
	}
}

// beat renews the sign of life until end is called.
func (h *Held) beat() {
	if h.remote == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		ticks := time.NewTicker(backend.Heartbeat)
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
				h.ask(ctx)
			}
		}
	})
	h.end = func() { cancel(); done.Wait() }
}

// ask confirms the lock with the backend.
func (h *Held) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, fresh)
	defer cancel()
	err := h.remote.Confirm(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = time.Now().Round(0)
	if h.lost == nil && errors.Is(err, backend.ErrLost) {
		h.lost = err
	}
}

// Confirm fails with backend.ErrLost when this run no longer holds the lock. A backend that
// cannot be asked proves nothing: a silent holder keeps its lock. Without a lock there is nothing
// to confirm.
func (h *Held) Confirm(ctx context.Context) error {
	if h == nil {
		return nil
	}
	if err := h.local.Confirm(); err != nil {
		return err
	}
	if h.remote == nil {
		return nil
	}
	h.mu.Lock()
	stale := h.lost == nil && time.Now().Round(0).Sub(h.asked) > fresh
	h.mu.Unlock()
	if stale {
		h.ask(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lost
}

// ForceUnlock ends the lock of a run: the backend's lock and, if the run belongs to this folder,
// the folder's lock as well. See backend.Backend.
func (s *Store) ForceUnlock(ctx context.Context, id string) error {
	if !s.local {
		folder := NewLocal(s.Paths)
		if holder, err := folder.Holder(ctx); err == nil && holder != nil && holder.ID == id {
			if err := folder.ForceUnlock(ctx, id); err != nil {
				return err
			}
		}
	}
	return s.backend.ForceUnlock(ctx, id)
}

// Held returns the lock that Lock took; nil while it is not held.
func (s *Store) Held() *Held { return s.held }

// Left returns the previous holder of the folder's lock, if it ended without releasing it.
func (h *Held) Left() LockInfo { return h.local.Left() }

// PassOn makes the next command see in Left what this one sees, because this one does nothing
// about what that run left behind.
func (h *Held) PassOn() { h.passOn = true }

// Locked reports whether the backend holds a lock of this run. Some backends have no locks.
func (h *Held) Locked() bool { return h.remote != nil }

// Unlock releases the lock.
func (s *Store) Unlock(ctx context.Context) error {
	h := s.held
	if h == nil {
		return nil
	}
	s.held = nil
	h.end()
	var err error
	if h.remote != nil {
		err = h.remote.Release(ctx)
	}
	if err != nil {
		// The next command here releases it instead.
		return errors.Join(err, h.local.Leave())
	}
	if h.passOn {
		return h.local.Return()
	}
	return h.local.Release()
}

// OpenJournal opens the journal for a run that holds the lock. Nothing is appended after the lock
// is lost.
func (s *Store) OpenJournal() (*Journal, error) {
	j, err := openJournal(s.medium(), s.Journal)
	if err == nil {
		j.guard = func() error { return s.held.Confirm(context.Background()) }
	}
	return j, err
}

// SetAside renames the journal of an overtaken run, together with the state that its backend did
// not accept. It returns the journal's new name. The caller holds the lock.
func (s *Store) SetAside(entries []state.Entry) (string, error) {
	run := "unknown"
	for _, e := range entries {
		if e.Kind == state.EntryRun {
			run = e.Run[:min(8, len(e.Run))]
		}
	}
	to := fmt.Sprintf("%s.overtaken.%s", s.Journal, run)
	if err := s.move(s.Journal, to); err != nil {
		return "", err
	}
	if err := s.move(s.Errored, s.Errored+".overtaken."+run); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return to, nil
}

func (s *Store) move(from, to string) error {
	if _, err := s.medium().ReadFile(from); err != nil {
		return err
	}
	err := s.medium().Rename(from, to)
	if err == nil {
		err = s.medium().SyncDir(filepath.Dir(to))
	}
	if err != nil {
		return &Error{Op: "set aside", Path: from, Err: bare(err), Remedy: "mend the folder's permissions, and run the same command again"}
	}
	return nil
}

// forget removes a file that is no longer needed.
func (s *Store) forget(path string) error {
	if err := s.medium().Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &Error{Op: "remove", Path: path, Err: bare(err), Remedy: "remove it by hand: everything in it was written"}
	}
	return nil
}
