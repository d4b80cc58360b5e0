package statefile_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
)

// pulse is a backend whose lock notes when its holder shows a sign of life.
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

// says has signs of life answered so from here on.
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

// beats are the first signs of a holder that does nothing but hold.
func beats(n int) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = time.Duration(i+1) * backend.Heartbeat
	}
	return out
}

// beating runs a test, by a clock of its own, with a lock that is held.
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
			t.Errorf("a lock that was given back shows signs of life: %v", more)
		}
	})
}

// pass lets time go by, and what is due in it happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// TestHolderShowsSignsOfLife: a run that does one thing for a long time, and writes
// nothing meanwhile, is never called silent.
func TestHolderShowsSignsOfLife(t *testing.T) {
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
		t.Errorf("one sign that is lost makes a holder silent: %v of %v", backend.Heartbeat, backend.Silent)
	}
}

// TestSignOfLifeThatFails: a backend that cannot be asked, or that does not answer,
// says nothing about the lock. It is asked again as often, and the run goes on.
func TestSignOfLifeThatFails(t *testing.T) {
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
					t.Errorf("nobody has said that the lock is lost: %v", err)
				}
				p.says(nil)
				pass(backend.Heartbeat)
				if got := p.seen(); len(got) < 5 {
					t.Errorf("it was not tried again: %v", got)
				}
			})
		})
	}
}

// TestUnansweredSignOfLifeEndsWithTheLock: who gives a lock back does not wait for
// a backend that does not answer.
func TestUnansweredSignOfLifeEndsWithTheLock(t *testing.T) {
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

// TestSignOfLifeFindsTheLockLost: that somebody ended the lock is known from the
// next sign of life on, without that anything asks: nothing is noted any more,
// whatever the backend says later.
func TestSignOfLifeFindsTheLockLost(t *testing.T) {
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
			t.Errorf("noted without the lock: %v", err)
		}
		if got := p.seen(); !slices.Equal(got, beats(1)) {
			t.Errorf("the backend was asked after %v", got)
		}
	})
}
