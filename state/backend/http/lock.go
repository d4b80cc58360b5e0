package http

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	nethttp "net/http"
	"time"

	"github.com/kubewright/kubewright/state/backend"
)

// document describes the holder of a lock as the protocol defines it. Servers keep it unchanged,
// and some require every field.
type document struct {
	ID        string
	Operation string
	Info      string
	Who       string
	Version   string
	Created   time.Time
	Path      string
}

func (b *Backend) document(i backend.LockInfo) []byte {
	out, _ := json.Marshal(document{ // never fails: texts and a time
		ID: i.ID, Operation: cmp.Or(i.Operation, "unknown"), Info: fmt.Sprintf("pid %d", i.PID), Who: cmp.Or(i.Who, "unknown"),
		Version: "kubewright", Created: i.Time.UTC(), Path: b.settings["address"],
	})
	return out
}

// readHolder reads the holder of a lock; nil when the answer does not name one.
func readHolder(body []byte) *backend.LockInfo {
	var d document
	if json.Unmarshal(body, &d) != nil || d.ID == "" {
		return nil
	}
	i := backend.LockInfo{ID: d.ID, Who: d.Who, Time: d.Created, Operation: d.Operation}
	_, _ = fmt.Sscanf(d.Info, "pid %d", &i.PID)
	return &i
}

func (b *Backend) locked(holder *backend.LockInfo) error {
	e := &backend.LockedError{Path: "the lock of " + b.String(), Remote: true}
	if holder != nil {
		e.Info = *holder
	}
	return e
}

const opLock = "lock state"

// lock is the lock of a run.
type lock struct {
	b    *Backend
	info backend.LockInfo
}

// Lock implements backend.Backend. Without lock_address there are no locks.
func (b *Backend) Lock(ctx context.Context, info backend.LockInfo) (backend.Lock, error) {
	if err := b.direct(ctx, opLock); err != nil || b.settings["lock_address"] == "" {
		return nil, err
	}
	holder, mine, err := b.take(ctx, info)
	if err != nil {
		return nil, err
	}
	if !mine {
		return nil, b.locked(holder)
	}
	if err := b.prove(ctx, info); err != nil {
		return nil, err
	}
	b.own.Set(info.ID)
	return &lock{b, info}, nil
}

// prove makes sure that a lock was really taken. A successful answer proves nothing: a proxy, a
// web page or a server without locks gives one as well. A server with locks refuses a second run.
func (b *Backend) prove(ctx context.Context, info backend.LockInfo) error {
	holder, err := b.Holder(ctx)
	switch {
	case err != nil:
		return err
	case holder == nil:
		_ = b.unlock(ctx, info)
		return &backend.Error{
			Op: opLock, Place: b.String(), Problem: fmt.Sprintf("the server gives the lock to a second run as well (%s %s), so that nothing would keep two runs apart", b.settings["lock_method"], b.settings["lock_address"]),
			Remedy: "see whether lock_address and lock_method are those of the server's locks; for a server that has none leave lock_address out",
		}
	case holder.ID != "" && holder.ID != info.ID:
		return b.locked(holder)
	}
	return nil
}

// take locks, or returns the holder. A request that was repeated because its answer was lost
// finds its own lock.
func (b *Backend) take(ctx context.Context, info backend.LockInfo) (holder *backend.LockInfo, mine bool, err error) {
	a, err := b.do(ctx, request{op: opLock, method: b.settings["lock_method"], setting: "lock_address", body: b.document(info)})
	if err != nil {
		return nil, false, err
	}
	switch a.status {
	case nethttp.StatusOK, nethttp.StatusCreated, nethttp.StatusNoContent:
		return nil, true, nil
	case nethttp.StatusLocked, nethttp.StatusConflict:
		holder = readHolder(a.body)
		return holder, holder != nil && holder.ID == info.ID, nil
	}
	return nil, false, b.refuse(opLock, a)
}

// unlock ends the lock of a run. A lock that is gone counts as ended.
func (b *Backend) unlock(ctx context.Context, info backend.LockInfo) error {
	const op = "unlock state"
	setting := "unlock_address"
	if b.settings[setting] == "" {
		setting = "lock_address"
	}
	a, err := b.do(ctx, request{op: op, method: b.settings["unlock_method"], setting: setting, body: b.document(info)})
	if err != nil {
		return err
	}
	switch a.status {
	case nethttp.StatusOK, nethttp.StatusNoContent, nethttp.StatusAccepted, nethttp.StatusNotFound:
		return nil
	case nethttp.StatusLocked, nethttp.StatusConflict:
		return b.locked(readHolder(a.body))
	}
	return b.refuse(op, a)
}

// Holder implements backend.Backend. The protocol has no query, so Holder takes the lock for a
// moment and gives it back, even when ctx has ended meanwhile.
func (b *Backend) Holder(ctx context.Context) (*backend.LockInfo, error) {
	if b.settings["lock_address"] == "" {
		return nil, nil
	}
	probe := backend.LockInfo{ID: "probe-" + rand.Text(), Operation: "lock status", Time: time.Now()}
	holder, mine, err := b.take(ctx, probe)
	if err == nil && mine {
		holder, err = nil, b.unlock(ctx, probe)
	}
	if err != nil {
		b.end(ctx, probe)
		return nil, err
	}
	if holder == nil && !mine {
		holder = &backend.LockInfo{}
	}
	return holder, nil
}

// end ends a lock that may or may not exist after a failure. It takes the lock once more first,
// because another run may hold it by now.
func (b *Backend) end(ctx context.Context, info backend.LockInfo) {
	ctx, cancel := backend.Ending(ctx)
	defer cancel()
	if _, mine, err := b.take(ctx, info); err == nil && mine {
		_ = b.unlock(ctx, info)
	}
}

// ForceUnlock implements backend.Backend.
func (b *Backend) ForceUnlock(ctx context.Context, id string) error {
	holder, err := b.Holder(ctx)
	if err != nil || holder == nil {
		return err
	}
	if holder.ID != id && holder.ID != "" {
		return b.locked(holder)
	}
	holder.ID = id
	return b.unlock(ctx, *holder)
}

// Confirm implements backend.Lock.
func (l *lock) Confirm(ctx context.Context) error {
	holder, err := l.b.Holder(ctx)
	if err == nil && (holder == nil || holder.ID != "" && holder.ID != l.info.ID) {
		return backend.Lost(l.b.String(), holder)
	}
	return err
}

// Release implements backend.Lock.
func (l *lock) Release(ctx context.Context) error {
	l.b.own.Set("")
	err := l.b.unlock(ctx, l.info)
	if errors.Is(err, backend.ErrLocked) {
		return nil // another run holds it by now
	}
	return err
}
