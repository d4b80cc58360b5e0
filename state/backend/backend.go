package backend

import (
	"context"
	"errors"
	"time"
)

// Failures that mean the same in every backend; test for them with errors.Is.
var (
	// ErrLocked: another run holds the lock; the error is a *LockedError.
	ErrLocked = errors.New("locked")
	// ErrMoved: the state is not the one that was read; another run wrote in between. Nothing was
	// written.
	ErrMoved = errors.New("changed since it was read")
	// ErrLost: this run no longer holds the lock: it was ended or taken.
	ErrLost = errors.New("lock was lost")
	// ErrTooLarge: the state does not fit into what the backend can hold.
	ErrTooLarge = errors.New("too large")
	// ErrRefused: the server rejects the caller's credentials or permissions.
	ErrRefused = errors.New("access refused")
)

// Object is a state as a backend keeps it.
type Object struct {
	// Data is the state, encoded by the layer above.
	Data []byte
	// Version is the backend's own mark of its content (an ETag, a resource version, a digest).
	// Read sets it, Write compares it, and no other code interprets it.
	Version string
	// Lineage and Serial identify the state in Data. Read leaves them empty; the layer above,
	// which can decode Data, fills them in.
	Lineage string
	Serial  int64
}

// Backend is a place that keeps one state. Its methods may be called from
// several goroutines. Errors name the place, and never hold a credential.
type Backend interface {
	// String names the place for users, without credentials: s3://team/prod.json.
	String() string
	// Read reads the state. It returns nil and no error when there is none.
	Read(ctx context.Context) (*Object, error)
	// Write replaces old, which Read returned (nil when there was none), with next. It fails with
	// ErrMoved when old is not there any more, and with ErrLost when the caller no longer holds
	// the lock that it took through this backend. After any other error the place holds old or
	// next, whole.
	Write(ctx context.Context, old *Object, next Object) error
	// Lock takes the lock, or fails at once with a *LockedError that names the holder. A nil Lock
	// without an error means that the place has no locks.
	Lock(ctx context.Context, info LockInfo) (Lock, error)
	// Holder returns the holder of the lock; nil when the lock is free.
	Holder(ctx context.Context) (*LockInfo, error)
	// ForceUnlock ends the lock of the run with this ID. It fails with a *LockedError when
	// another run holds the lock, and does nothing when the lock is free.
	ForceUnlock(ctx context.Context, id string) error
}

// Ending returns a context for cleaning up after a call that was cancelled or got no answer. It
// is not cancelled with that call, and times out after five seconds.
func Ending(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}

// Lock is a held lock.
type Lock interface {
	// Confirm renews the holder's sign of life where the backend keeps one, and fails with
	// ErrLost when this run no longer holds the lock. Any other error says nothing about the
	// lock: the backend could not be asked.
	Confirm(ctx context.Context) error
	// Release gives the lock back. A lost lock is left alone.
	Release(ctx context.Context) error
}
