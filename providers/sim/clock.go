package sim

import (
	"context"
	"runtime"
	"time"
)

// Clock is the world's time. Sleeping lets it pass at once.
type Clock struct{ w *World }

// Clock returns the clock of the world.
func (w *World) Clock() *Clock { return &Clock{w} }

// Now is the world's time.
func (c *Clock) Now() time.Time { return c.w.Now() }

// Sleep lets the duration pass in the world and returns at once, or when the
// world's Pace does. Several who sleep at the same time sleep side by side.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	until := c.w.Now().Add(d)
	if c.w.Pace != nil {
		c.w.Pace(ctx, d)
	} else {
		runtime.Gosched() // what others do takes no time here, so let them
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.advance(until.Sub(c.w.d.Now))
	return nil
}

// advance lets time pass and the world settle.
func (w *World) advance(d time.Duration) {
	if d > 0 {
		w.d.Now = w.d.Now.Add(d)
	}
	if d >= time.Hour { // long enough for something to fall due anywhere
		for _, m := range w.d.Hosts {
			w.wake(m)
		}
	}
	for _, id := range sortedKeys(w.d.Clusters) {
		w.expireTokens(w.d.Clusters[id])
		w.compactDue(w.d.Clusters[id])
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
