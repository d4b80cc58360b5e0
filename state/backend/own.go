package backend

import (
	"context"
	"sync"
)

// Own is the lock of this process in a place, under which its writes are made. The zero Own holds
// no lock. It only records the lock: taking and ending it is the backend's task.
type Own struct {
	mu sync.Mutex
	id string
}

// Set records the ID of the run whose lock was taken; empty after its release.
func (o *Own) Set(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.id = id
}

// ID returns the ID of the run, or "".
func (o *Own) ID() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.id
}

// Confirm asks the place for the holder, and fails with ErrLost when this process had the lock
// and has lost it.
func (o *Own) Confirm(ctx context.Context, b Backend) error {
	id := o.ID()
	if id == "" {
		return nil
	}
	holder, err := b.Holder(ctx)
	if err == nil && (holder == nil || holder.ID != id) {
		return Lost(b.String(), holder)
	}
	return err
}

// GiveBack ends the lock of the run with this ID, in a place where ForceUnlock can end any run's
// lock. A lost lock is left alone.
func (o *Own) GiveBack(ctx context.Context, b Backend, id string) error {
	o.Set("")
	holder, err := b.Holder(ctx)
	if err != nil || holder == nil || holder.ID != id {
		return err
	}
	return b.ForceUnlock(ctx, id)
}
