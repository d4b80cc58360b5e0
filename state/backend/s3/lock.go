package s3

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/kubewright/kubewright/state/backend"
)

type lock struct {
	b    *Backend
	info backend.LockInfo
}

func (b *Backend) lockKey() string { return b.key + ".lock" }

func (b *Backend) look(ctx context.Context) (*backend.Object, *backend.LockInfo, error) {
	o, err := b.get(ctx, "read the lock", b.lockKey())
	return o, readInfo(o), err
}

// hold writes the holder over the version that was read; info without an ID frees the lock.
func (b *Backend) hold(ctx context.Context, old *backend.Object, info backend.LockInfo) error {
	data := []byte("{}")
	if info.ID != "" {
		info.Renewed = time.Now().UTC()
		var err error
		if data, err = json.Marshal(info); err != nil {
			return err
		}
	}
	return b.put(ctx, "lock state", b.lockKey(), old, data, nil)
}

func (b *Backend) locked(holder *backend.LockInfo) error {
	e := &backend.LockedError{Path: "the lock of " + b.String(), Remote: true}
	if holder != nil {
		e.Info = *holder
	}
	return e
}

// Lock implements backend.Backend.
func (b *Backend) Lock(ctx context.Context, info backend.LockInfo) (backend.Lock, error) {
	old, holder, err := b.look(ctx)
	if err != nil {
		return nil, err
	}
	if holder != nil && holder.ID != info.ID {
		return nil, b.locked(holder)
	}
	err = b.hold(ctx, old, info)
	if errors.Is(err, errMoved) {
		if _, holder, err = b.look(ctx); err == nil && (holder == nil || holder.ID != info.ID) {
			err = b.locked(holder)
		}
	}
	if err == nil {
		err = b.conditional(ctx)
	}
	if err == nil {
		err = b.kept(ctx, info)
	}
	if err != nil {
		return nil, err
	}
	b.own.Set(info.ID)
	return &lock{b, info}, nil
}

// conditional makes sure that the server honors conditions: one that accepts a second first write
// of the lock would accept that of any run.
func (b *Backend) conditional(ctx context.Context) error {
	err := b.hold(ctx, nil, backend.LockInfo{})
	switch {
	case errors.Is(err, errMoved):
		return nil
	case err != nil:
		return err
	}
	return &backend.Error{
		Op: "lock state", Place: b.String(), Problem: "the server ignores the condition of a write (If-None-Match), so that nothing would keep two runs apart",
		Remedy: "use a server that has conditional writes, or another backend",
	}
}

// kept makes sure that the lock names this run: a server may answer without storing anything.
func (b *Backend) kept(ctx context.Context, info backend.LockInfo) error {
	_, holder, err := b.look(ctx)
	switch {
	case err != nil:
		return err
	case holder == nil:
		return &backend.Error{
			Op: "lock state", Place: b.String(), Problem: "the server has accepted " + b.lockKey() + ", and does not hold it, so that nothing would keep two runs apart",
			Remedy: "see whether endpoint and bucket are right, and whether a cache stands before the server",
		}
	case holder.ID != info.ID:
		return b.locked(holder)
	}
	return nil
}

// Holder implements backend.Backend.
func (b *Backend) Holder(ctx context.Context) (*backend.LockInfo, error) {
	_, holder, err := b.look(ctx)
	return holder, err
}

// ForceUnlock implements backend.Backend.
func (b *Backend) ForceUnlock(ctx context.Context, id string) error {
	for {
		old, holder, err := b.look(ctx)
		if err != nil || holder == nil {
			return err
		}
		if holder.ID != id {
			return b.locked(holder)
		}
		// If the condition fails, the holder has renewed its lock meanwhile.
		if err = b.hold(ctx, old, backend.LockInfo{}); !errors.Is(err, errMoved) {
			return err
		}
	}
}

// Confirm implements backend.Lock.
func (l *lock) Confirm(ctx context.Context) error {
	old, holder, err := l.b.look(ctx)
	if err != nil {
		return err
	}
	if holder == nil || holder.ID != l.info.ID {
		return backend.Lost(l.b.String(), holder)
	}
	if err = l.b.hold(ctx, old, l.info); errors.Is(err, errMoved) {
		return l.b.own.Confirm(ctx, l.b)
	}
	return err
}

// Release implements backend.Lock.
func (l *lock) Release(ctx context.Context) error {
	return l.b.own.GiveBack(ctx, l.b, l.info.ID)
}
