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

// Held is the lock of a store: that of this folder, which keeps the runs of this
// machine apart and with them the journal, and that of the backend.
type Held struct {
	local  *Lock
	remote backend.Lock
	end    func()
	passOn bool

	mu   sync.Mutex
	lost error
	// asked is when the backend was last asked about the lock, by the wall clock,
	// which goes on while a machine sleeps or a process is stopped.
	asked time.Time
}

// fresh is for how long an answer about the lock of a backend is believed.
const fresh = 10 * time.Second

// Lock takes the lock and holds it until Unlock. It waits for up to timeout, 0
// trying once, and then fails with a *LockedError.
//
// A lock in the backend that a run of this folder left behind, which was killed or
// got no answer, is taken over: that the folder's own lock was free, in the very file
// which that run had locked, proves that it is gone. A copy of the folder proves
// nothing, and any other lock is left alone.
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

// LockBackend takes the backend's lock alone, for who holds that of the folder for
// another place of the same state. It waits as Lock does; nil is the lock of a
// backend that has none.
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

// lockBackend takes the backend's lock for who has that of the folder. Of a failure
// that is no refusal nobody knows whether the lock was taken, or will be: the backend
// is asked to end it, and, for it may be silent, the next run here is told.
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
			dead = slices.Delete(slices.Clone(dead), i, i+1) // once
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

// beat shows signs of life until end is called.
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

// ask asks the backend about the lock.
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

// Confirm fails with backend.ErrLost when the lock is not this run's any more.
// A backend that cannot be asked says nothing about that: nobody takes a lock
// because its holder is silent. Without a lock there is nothing to confirm.
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

// ForceUnlock ends the lock of a run: the backend's, and, if that run was made
// in this folder, the folder's with it. See backend.Backend.
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

// Held returns the lock that Lock took; nil before and after.
func (s *Store) Held() *Held { return s.held }

// Left says whose run held the folder's lock before, and ended without giving it back.
func (h *Held) Left() LockInfo { return h.local.Left() }

// PassOn has the next command told what Left tells this one, which has done nothing
// about what that run left behind.
func (h *Held) PassOn() { h.passOn = true }

// Locked reports whether the backend holds a lock of this run. Some have none.
func (h *Held) Locked() bool { return h.remote != nil }

// Unlock gives the lock back.
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
		// The next command here gives back what this one could not.
		return errors.Join(err, h.local.Leave())
	}
	if h.passOn {
		return h.local.Return()
	}
	return h.local.Release()
}

// OpenJournal opens the journal for a run that holds the lock. Nothing is
// appended once the lock is lost.
func (s *Store) OpenJournal() (*Journal, error) {
	j, err := openJournal(s.medium(), s.Journal)
	if err == nil {
		j.guard = func() error { return s.held.Confirm(context.Background()) }
	}
	return j, err
}

// SetAside moves a journal out of the way whose run was overtaken, and with it
// the state that was not taken at its end. It returns the journal's new name.
// The caller holds the lock.
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

// forget removes a file that is needed no more.
func (s *Store) forget(path string) error {
	if err := s.medium().Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &Error{Op: "remove", Path: path, Err: bare(err), Remedy: "remove it by hand: everything in it was written"}
	}
	return nil
}
