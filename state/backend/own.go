package backend

import (
	"context"
	"sync"
)

// Own is the lock that this process has in a place: what its writes are made
// under. The zero Own is none. It asks the place and never changes it.
type Own struct {
	mu sync.Mutex
	id string
}

// Set keeps the ID of the run whose lock was taken; empty when it was given back.
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

// Confirm asks the place, and fails with ErrLost when this process had the lock
// there and has it no more.
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

// GiveBack ends the lock of the run with this ID in a place where ForceUnlock
// does that for anybody's. One that was lost is left alone.
func (o *Own) GiveBack(ctx context.Context, b Backend, id string) error {
	o.Set("")
	holder, err := b.Holder(ctx)
	if err != nil || holder == nil || holder.ID != id {
		return err
	}
	return b.ForceUnlock(ctx, id)
}
