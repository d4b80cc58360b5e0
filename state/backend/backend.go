package backend

import (
	"context"
	"errors"
	"time"
)

// Failures that mean the same in every backend, to be tested with errors.Is.
var (
	// ErrLocked: another run holds the lock; the error is a *LockedError.
	ErrLocked = errors.New("locked")
	// ErrMoved: the state is not the one that was read; somebody wrote in between.
	// Nothing was written.
	ErrMoved = errors.New("changed since it was read")
	// ErrLost: the lock is no longer this run's: somebody ended or took it.
	ErrLost = errors.New("lock was lost")
	// ErrTooLarge: the state does not fit into what the backend can hold.
	ErrTooLarge = errors.New("too large")
	// ErrRefused: the server knows the caller and does not let it, or does not know it.
	ErrRefused = errors.New("access refused")
)

// Object is a state as a backend keeps it.
type Object struct {
	// Data is the state, encoded by the layer above.
	Data []byte
	// Version is the backend's own mark of what it holds (an ETag, a resource
	// version, a digest); Read sets it and Write compares it. Nobody else looks at it.
	Version string
	// Lineage and Serial are those of the state in Data. Read leaves them empty;
	// the layer above, which can read Data, fills them in.
	Lineage string
	Serial  int64
}

// Backend is a place that keeps one state. Its methods may be called from
// several goroutines. Errors name the place, and never hold a credential.
type Backend interface {
	// String is the place for people, without credentials: s3://team/prod.json.
	String() string
	// Read reads the state; nil and no error when there is none.
	Read(ctx context.Context) (*Object, error)
	// Write replaces old, which Read has returned (nil when there was none), by
	// next. It fails with ErrMoved when old is not there any more, and with ErrLost
	// when the lock of this backend that the caller holds is not its own by now.
	// After any other error the place holds old or next, whole.
	Write(ctx context.Context, old *Object, next Object) error
	// Lock takes the lock, or fails at once with a *LockedError that says who has
	// it. A nil Lock without an error is a place that has no locks.
	Lock(ctx context.Context, info LockInfo) (Lock, error)
	// Holder says who holds the lock; nil when nobody does.
	Holder(ctx context.Context) (*LockInfo, error)
	// ForceUnlock ends the lock of the run with this ID. It fails with a
	// *LockedError when another one holds it, and does nothing when nobody does.
	ForceUnlock(ctx context.Context, id string) error
}

// Ending returns a context for ending what a call has taken that was given up, or got no
// answer: it does not end with that call, and waits for a few seconds.
func Ending(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}

// Lock is a lock that is held.
type Lock interface {
	// Confirm shows a sign of life where the backend keeps them, and fails with
	// ErrLost when the lock is not this run's any more. Any other error says
	// nothing about the lock: the backend could not be asked.
	Confirm(ctx context.Context) error
	// Release gives the lock back. One that was lost is left alone.
	Release(ctx context.Context) error
}
