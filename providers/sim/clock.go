package sim

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Clock is the world's time. It passes while all who are busy sleep, and then at once.
type Clock struct{ w *World }

// Clock returns the clock of the world.
func (w *World) Clock() *Clock { return &Clock{w} }

// Now returns the world's time.
func (c *Clock) Now() time.Time { return c.w.Now() }

// worker is somebody who is busy, and how many of the things that it does at the same
// time sleep.
type worker struct{ asleep int }

// sleeper is a worker who sleeps.
type sleeper struct {
	of    *worker
	until time.Time
	woken chan struct{}
}

type workerKey struct{}

// Busy implements providers.Clock. However long the machine takes for what somebody does,
// no time passes in the world for those who wait for it; who is busy must not wait for
// one who sleeps but by sleeping. Who is busy already goes on with that.
func (c *Clock) Busy(ctx context.Context) (context.Context, func()) {
	w, me := c.w, &worker{}
	w.mu.Lock()
	defer w.mu.Unlock()
	if already, _ := ctx.Value(workerKey{}).(*worker); w.workers[already] {
		return ctx, func() {}
	}
	w.workers[me] = true
	return context.WithValue(ctx, workerKey{}, me), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.workers, me)
		w.pass()
	}
}

// Suspend has all who are busy now stand still, like a machine that is suspended, until
// resume is called: time passes for others meanwhile.
func (c *Clock) Suspend() (resume func()) {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	suspended := slices.Collect(maps.Keys(w.workers))
	for _, them := range suspended {
		them.asleep++
	}
	w.pass()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, them := range suspended {
			them.asleep--
		}
	}
}

// Sleep returns when the duration has passed in the world and its Pace, if there is one,
// has returned. Several who sleep at the same time sleep side by side. For somebody who
// is not Busy the time passes at once.
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
	if !w.workers[me] {
		defer w.mu.Unlock()
		w.advance(until.Sub(w.d.Now))
		return nil
	}
	me.asleep++
	w.sleepers = append(w.sleepers, s)
	w.wakeDue()
	w.pass()
	w.mu.Unlock()
	select {
	case <-s.woken:
		return nil
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		w.wakeIf(func(other *sleeper) bool { return other == s })
		return ctx.Err()
	}
}

// pass lets time pass until the first wakes, when all who are busy sleep.
func (w *World) pass() {
	for me := range w.workers {
		if me.asleep == 0 {
			return
		}
	}
	if len(w.sleepers) == 0 {
		return
	}
	first := w.sleepers[0].until
	for _, s := range w.sleepers {
		if s.until.Before(first) {
			first = s.until
		}
	}
	w.advance(first.Sub(w.d.Now))
}

// wakeDue wakes those whose time has come.
func (w *World) wakeDue() { w.wakeIf(func(s *sleeper) bool { return !s.until.After(w.d.Now) }) }

func (w *World) wakeIf(due func(*sleeper) bool) {
	w.sleepers = slices.DeleteFunc(w.sleepers, func(s *sleeper) bool {
		if !due(s) {
			return false
		}
		s.of.asleep--
		close(s.woken)
		return true
	})
}

// advance lets time pass and the world settle.
func (w *World) advance(d time.Duration) {
	if d > 0 {
		w.d.Now = w.d.Now.Add(d)
	}
	w.wakeDue()
	if d >= time.Hour { // long enough for something to fall due anywhere
		for _, m := range w.d.Hosts {
			w.wake(m)
		}
	}
	for _, id := range sortedKeys(w.d.Clusters) {
		w.expireTokens(w.d.Clusters[id])
		w.compactDue(w.d.Clusters[id])
		w.count(w.d.Clusters[id])
	}
	w.settle()
	if d >= time.Hour {
		for _, id := range sortedKeys(w.d.Clusters) {
			w.renewTokens(w.d.Clusters[id])
		}
	}
}

// wake marks a host as one on which something may be under way.
func (w *World) wake(m *machine) { w.pending[m.address] = true }

// wakeCluster marks the hosts of all nodes of a cluster.
func (w *World) wakeCluster(c *cluster) {
	for _, n := range c.Nodes {
		if n.Host != "" {
			w.pending[n.Host] = true
		}
	}
}

// settle lets everything happen that can happen at the present time.
func (w *World) settle() {
	for range 16 {
		changed := false
		for _, address := range sortedKeys(w.pending) {
			moved, done := w.stepHost(w.d.Hosts[address])
			changed = changed || moved
			if done && !moved {
				delete(w.pending, address)
			}
		}
		for _, id := range sortedKeys(w.d.Clusters) {
			if c := w.d.Clusters[id]; c.stale && w.hasQuorum(c) {
				w.reconcile(c)
			}
		}
		if !changed {
			return
		}
	}
}
