package sim

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/kubelet"
	"github.com/kubewright/kubewright/providers/sim/workload"
)

// Clock is the world's time. It passes when all busy tasks sleep, and then in one jump.
type Clock struct{ w *World }

// Clock returns the clock of the world.
func (w *World) Clock() *Clock { return &Clock{w} }

// Now returns the world's time.
func (c *Clock) Now() time.Time { return c.w.Now() }

// worker is a busy task, with the number of its concurrent parts that sleep.
type worker struct{ asleep int }

// sleeper is a part of a task that sleeps.
type sleeper struct {
	of    *worker
	until time.Time
	woken chan struct{}
}

type workerKey struct{}

// timeline is the progress of a world: the busy and the sleeping tasks, and the effects of
// passing time.
type timeline struct {
	servers  *apiserver.Servers
	workers  map[*worker]bool
	sleepers []*sleeper
}

// Busy implements providers.Clock. No time passes in the world while a busy task works,
// however long it takes. A busy task must not wait for a sleeping one except by sleeping. A
// context of a busy task is returned unchanged.
func (c *Clock) Busy(ctx context.Context) (context.Context, func()) {
	w, me := c.w, &worker{}
	w.mu.Lock()
	defer w.mu.Unlock()
	if already, _ := ctx.Value(workerKey{}).(*worker); w.time.workers[already] {
		return ctx, func() {}
	}
	w.time.workers[me] = true
	return context.WithValue(ctx, workerKey{}, me), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.time.workers, me)
		w.time.pass()
	}
}

// Suspend stops all busy tasks, like a suspended machine, until resume is called: in the
// meantime time passes for others.
func (c *Clock) Suspend() (resume func()) {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	suspended := slices.Collect(maps.Keys(w.time.workers))
	for _, them := range suspended {
		them.asleep++
	}
	w.time.pass()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, them := range suspended {
			them.asleep--
		}
	}
}

// Sleep returns when the duration has passed in the world and its Pace, if any, has
// returned. Concurrent sleeps overlap. For a task that is not Busy the time passes at once.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	w := c.w
	until := w.Now().Add(d)
	if w.Pace != nil {
		w.Pace(ctx, d)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	me, _ := ctx.Value(workerKey{}).(*worker)
	s := &sleeper{me, until, make(chan struct{})}
	w.mu.Lock()
	if !w.time.workers[me] {
		defer w.mu.Unlock()
		w.time.Advance(until.Sub(w.fleet.Now))
		return nil
	}
	me.asleep++
	w.time.sleepers = append(w.time.sleepers, s)
	w.time.wakeDue()
	w.time.pass()
	w.mu.Unlock()
	select {
	case <-s.woken:
		return nil
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		w.time.wakeIf(func(other *sleeper) bool { return other == s })
		return ctx.Err()
	}
}

// pass lets time pass until the first sleeper wakes, if all busy tasks sleep.
func (t *timeline) pass() {
	for me := range t.workers {
		if me.asleep == 0 {
			return
		}
	}
	if len(t.sleepers) == 0 {
		return
	}
	first := t.sleepers[0].until
	for _, s := range t.sleepers {
		if s.until.Before(first) {
			first = s.until
		}
	}
	t.Advance(first.Sub(t.servers.Now))
}

// wakeDue wakes the sleepers that are due.
func (t *timeline) wakeDue() {
	t.wakeIf(func(s *sleeper) bool { return !s.until.After(t.servers.Now) })
}

func (t *timeline) wakeIf(due func(*sleeper) bool) {
	t.sleepers = slices.DeleteFunc(t.sleepers, func(s *sleeper) bool {
		if !due(s) {
			return false
		}
		s.of.asleep--
		close(s.woken)
		return true
	})
}

// Advance lets time pass and the world settle.
func (t *timeline) Advance(d time.Duration) {
	if d > 0 {
		t.servers.Now = t.servers.Now.Add(d)
	}
	t.wakeDue()
	if d >= time.Hour { // long enough for anything to fall due
		for _, m := range t.servers.Hosts {
			m.Wake()
		}
	}
	for _, c := range t.servers.List() {
		t.servers.API(c).ExpireTokens()
		c.CompactDue()
		c.RememberRevision()
	}
	t.Settle()
	if d >= time.Hour {
		for _, c := range t.servers.List() {
			t.servers.API(c).RenewTokens()
		}
	}
}

// Settle lets all events of the present time happen.
func (t *timeline) Settle() {
	for range 16 {
		changed := false
		for _, m := range t.servers.Awake() {
			moved, done := kubelet.On(t.servers, m).Step()
			changed = changed || moved
			if done && !moved {
				m.Sleep()
			}
		}
		for _, c := range t.servers.List() {
			if c.Stale && c.HasQuorum() {
				workload.Of(t.servers.API(c)).Reconcile()
			}
		}
		if !changed {
			return
		}
	}
}
