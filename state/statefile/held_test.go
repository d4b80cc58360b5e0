package statefile_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
)

// pulse is a backend whose lock records its holder's signs of life.
type pulse struct {
	backend.Backend

	mu     sync.Mutex
	began  time.Time
	signs  []time.Duration
	answer func(context.Context) error
}

func (p *pulse) Lock(context.Context, backend.LockInfo) (backend.Lock, error) {
	p.began = time.Now()
	return p, nil
}

func (p *pulse) Confirm(ctx context.Context) error {
	p.mu.Lock()
	p.signs = append(p.signs, time.Since(p.began))
	answer := p.answer
	p.mu.Unlock()
	if answer == nil {
		return nil
	}
	return answer(ctx)
}

func (p *pulse) Release(context.Context) error { return nil }

// says sets the answer to signs of life from now on.
func (p *pulse) says(answer func(context.Context) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

func (p *pulse) seen() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.signs)
}

// beats returns the first n signs of life of an idle holder.
func beats(n int) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = time.Duration(i+1) * backend.Heartbeat
	}
	return out
}

// beating runs a test with a held lock, on a fake clock.
func beating(t *testing.T, test func(t *testing.T, s *statefile.Store, p *pulse)) {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := &pulse{}
		s := statefile.NewStore(statefile.DirPaths(dir), p)
		if err := s.Lock(t.Context(), info, 0); err != nil {
			t.Fatal(err)
		}
		test(t, s, p)
		if err := s.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		signs := p.seen()
		time.Sleep(backend.Silent)
		if more := p.seen(); len(more) != len(signs) {
			t.Errorf("a released lock shows signs of life: %v", more)
		}
	})
}

// pass advances the clock, and runs everything that is due.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// TestLockHolderShowsSignsOfLife checks that a run that does one thing for a long time, without
// writing, is never called silent.
func TestLockHolderShowsSignsOfLife(t *testing.T) {
	beating(t, func(t *testing.T, s *statefile.Store, p *pulse) {
		pass(time.Hour)
		if got, want := p.seen(), beats(int(time.Hour/backend.Heartbeat)); !slices.Equal(got, want) {
			t.Errorf("signs of life after %v, want %v", got, want)
		}
		if err := s.Held().Confirm(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if backend.Silent < 2*backend.Heartbeat {
		t.Errorf("one lost sign of life makes a holder silent: %v of %v", backend.Heartbeat, backend.Silent)
	}
}

// TestFailedSignOfLifeKeepsLock checks that a backend that fails or does not answer does not end the
// lock. It is asked again at the same interval, and the run continues.
func TestFailedSignOfLifeKeepsLock(t *testing.T) {
	for name, answer := range map[string]func(context.Context) error{
		"refused":   func(context.Context) error { return &backend.Error{Op: "show a sign of life", Problem: "503"} },
		"no answer": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			beating(t, func(t *testing.T, s *statefile.Store, p *pulse) {
				p.says(answer)
				pass(4 * backend.Heartbeat)
				if got := p.seen(); !slices.Equal(got, beats(4)) {
					t.Errorf("signs of life were tried after %v, want %v", got, beats(4))
				}
				if err := s.Held().Confirm(t.Context()); err != nil {
					t.Errorf("the backend did not report the lock as lost: %v", err)
				}
				p.says(nil)
				pass(backend.Heartbeat)
				if got := p.seen(); len(got) < 5 {
					t.Errorf("the sign of life was not retried: %v", got)
				}
			})
		})
	}
}

// TestUnlockDoesNotWaitForBackend checks that Unlock does not wait for a backend that
// does not answer.
func TestUnlockDoesNotWaitForBackend(t *testing.T) {
	beating(t, func(t *testing.T, s *statefile.Store, p *pulse) {
		p.says(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		pass(backend.Heartbeat)
		began := time.Now()
		if err := s.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		if waited := time.Since(began); waited != 0 || len(p.seen()) != 1 {
			t.Errorf("waited for %v, tried after %v", waited, p.seen())
		}
	})
}

// TestSignOfLifeDetectsLostLock checks that the next sign of life detects that the lock was
// ended, even if nothing else asks: from then on nothing is appended to the journal, whatever the
// backend answers later.
func TestSignOfLifeDetectsLostLock(t *testing.T) {
	beating(t, func(t *testing.T, s *statefile.Store, p *pulse) {
		j, err := s.OpenJournal()
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		if err := j.Append(state.Entry{Kind: state.EntryRun, Run: info.ID, Lineage: "l1"}); err != nil {
			t.Fatal(err)
		}
		p.says(func(context.Context) error { return backend.Lost("the place", nil) })
		pass(backend.Heartbeat)
		p.says(nil)
		if err := s.Held().Confirm(t.Context()); !errors.Is(err, backend.ErrLost) {
			t.Errorf("error = %v", err)
		}
		if err := j.Append(state.Entry{Kind: state.EntryRun, Run: info.ID, Lineage: "l1"}); !errors.Is(err, backend.ErrLost) {
			t.Errorf("appended without the lock: %v", err)
		}
		if got := p.seen(); !slices.Equal(got, beats(1)) {
			t.Errorf("the backend was asked after %v", got)
		}
	})
}

// late is a backend that executes requests, and leaves some unanswered for a while.
type late struct {
	backend.Backend

	holder     string
	unanswered int
}

// answers returns when the request is answered, or times out.
func (l *late) answers(ctx context.Context) error {
	if l.unanswered == 0 {
		return nil
	}
	l.unanswered--
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	<-ctx.Done()
	return ctx.Err()
}

// taken is the refusal of a lock whose holder has been silent for years.
func (l *late) taken() error {
	return &backend.LockedError{Path: "the place", Info: backend.LockInfo{ID: l.holder, Renewed: time.Now().AddDate(-3, 0, 0)}, Remote: true}
}

func (l *late) Lock(ctx context.Context, i backend.LockInfo) (backend.Lock, error) {
	l.holder = cmp.Or(l.holder, i.ID)
	if err := l.answers(ctx); err != nil {
		return nil, err
	}
	if l.holder != i.ID {
		return nil, l.taken()
	}
	return l, nil
}

func (l *late) Holder(ctx context.Context) (*backend.LockInfo, error) {
	if err := l.answers(ctx); err != nil || l.holder == "" {
		return nil, err
	}
	return &backend.LockInfo{ID: l.holder}, nil
}

func (l *late) ForceUnlock(ctx context.Context, id string) error {
	if l.holder != id {
		return l.taken()
	}
	l.holder = ""
	return l.answers(ctx)
}

func (l *late) Confirm(context.Context) error { return nil }

func (l *late) Release(context.Context) error {
	l.holder = ""
	return nil
}

// run returns the lock info of a run of this folder, by its ID.
func run(id string) backend.LockInfo {
	i := info
	i.ID = id
	return i
}

// TestLockWithLostAnswerIsEnded checks that a lock whose request got no answer is ended at once if the
// backend answers by then, and otherwise by the next run of this folder. That run also learns of
// an earlier killed run.
func TestLockWithLostAnswerIsEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		unanswered     int
		killed, holder string
		left           string
	}{
		"one answer is lost":                         {1, "", "", ""},
		"the backend is silent":                      {9, "", "", "first"},
		"the backend is silent and a run was killed": {9, "killed", "", "first"},
		"a killed run has the lock":                  {9, "killed", "killed", "killed"},
		"another run has it":                         {9, "", "another", "another"},
		"one answer is lost, and another has it":     {1, "", "another", "another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paths := statefile.DirPaths(t.TempDir())
			synctest.Test(t, func(t *testing.T) {
				l := &late{holder: c.holder}
				s := statefile.NewStore(paths, l)
				if c.killed != "" {
					died, err := statefile.Acquire(t.Context(), paths.Lock, run(c.killed), 0)
					if err != nil {
						t.Fatal(err)
					}
					_ = died.Leave()
				}
				for _, id := range []string{"first", "second"} { // the backend stays silent for the next run
					l.unanswered = c.unanswered
					began := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					if err := s.Lock(ctx, run(id), 0); !errors.Is(err, context.DeadlineExceeded) {
						t.Fatalf("%s: error = %v", id, err)
					}
					cancel()
					if waited := time.Since(began); waited > 10*time.Second {
						t.Errorf("a cancelled run waits for %v", waited)
					}
				}
				if l.holder != c.left {
					t.Errorf("%q has the lock, want %q", l.holder, c.left)
				}
				l.unanswered = 0
				if c.holder == "another" {
					if err := s.Lock(t.Context(), run("next"), 0); !errors.Is(err, backend.ErrLocked) {
						t.Errorf("the lock of another run was taken: %v", err)
					}
					return
				}
				if err := s.Lock(t.Context(), run("next"), 0); err != nil {
					t.Fatal(err)
				}
				if got := s.Held().Left().ID; got != c.killed {
					t.Errorf("%q was killed, want %q", got, c.killed)
				}
				if err := s.Unlock(t.Context()); err != nil || l.holder != "" {
					t.Errorf("%v, held by %q", err, l.holder)
				}
				if b, err := os.ReadFile(paths.Lock); err != nil || len(b) != 0 {
					t.Errorf("the folder's lock file still contains %s, %v", b, err)
				}
			})
		})
	}
}

// TestBackendLockWithLostAnswerIsEnded checks the same for a lock at a second place.
func TestBackendLockWithLostAnswerIsEnded(t *testing.T) {
	t.Parallel()
	paths := statefile.DirPaths(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l := &late{unanswered: 9}
		from, to := statefile.NewStore(paths, nil), statefile.NewStore(paths, l)
		for _, id := range []string{"first", "second"} {
			if err := from.Lock(t.Context(), run(id), 0); err != nil {
				t.Fatal(err)
			}
			lock, err := to.LockBackend(t.Context(), from.Held(), run(id), 0)
			if silent := l.unanswered > 0; silent != (err != nil) || l.holder != id {
				t.Errorf("%s: %v, held by %q", id, err, l.holder)
			}
			if lock != nil {
				err = lock.Release(t.Context())
			}
			if again := from.Unlock(t.Context()); lock != nil && err != nil || again != nil {
				t.Errorf("%s: %v, %v", id, err, again)
			}
			l.unanswered = 0
		}
	})
}
