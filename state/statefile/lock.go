package statefile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// retryInterval is how often a lock that is held is tried again.
const retryInterval = 200 * time.Millisecond

// LockInfo says who holds a lock.
type LockInfo struct {
	// ID is that of the run.
	ID string `json:"id"`
	// Who is user@host.
	Who       string    `json:"who"`
	Time      time.Time `json:"time"`
	PID       int       `json:"pid"`
	Operation string    `json:"operation"`
	// File is the lock file that the holder locked; Acquire sets it. In a copy of
	// the file it is another one.
	File string `json:"file,omitempty"`
}

// LockedError says that another run holds the lock. It is an ErrLocked.
type LockedError struct {
	Path string
	// Info is of the holder; it is zero when it could not be read.
	Info LockInfo
	// Waited is how long the lock was tried.
	Waited time.Duration
}

// Error says who, since when, and what to do.
func (e *LockedError) Error() string {
	holder := "another kubewright"
	if i := e.Info; i.ID != "" {
		holder = fmt.Sprintf("%s of %s (pid %d, since %s, run %s)",
			i.Operation, i.Who, i.PID, i.Time.Format(time.RFC3339), i.ID)
	}
	waited := ""
	if e.Waited > 0 {
		waited = fmt.Sprintf(" after %s", e.Waited)
	}
	return fmt.Sprintf("cannot lock state%s: %s holds %s; wait for it to end, or give -lock-timeout=5m to wait longer; "+
		"the lock goes with its process, so there is nothing to remove by hand", waited, holder, e.Path)
}

// Unwrap makes it an ErrLocked.
func (e *LockedError) Unwrap() error { return ErrLocked }

// Lock is a lock that is held. The kernel takes it back when the process ends.
type Lock struct {
	flock *flock.Flock
	left  LockInfo
}

// Left says who held the lock before and ended without releasing it; it is zero
// when nobody did, or nobody knows. That process does not run any more.
func (l *Lock) Left() LockInfo { return l.left }

// Acquire takes the lock at path (Paths.Lock) and writes there who holds it.
// It waits for up to timeout, 0 trying once, and then fails with a
// *LockedError. The file itself stays for ever: to remove it would let two
// runs hold two files of one name.
func Acquire(ctx context.Context, path string, info LockInfo, timeout time.Duration) (*Lock, error) {
	l := &Lock{flock: flock.New(path, flock.SetPermissions(0o600))}
	held, err := l.flock.TryLock()
	if err == nil && !held && timeout > 0 {
		waiting, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		held, err = l.flock.TryLockContext(waiting, retryInterval)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = nil
		}
	}
	switch {
	case err != nil:
		_ = l.flock.Close()
		return nil, &Error{Op: "lock state with", Path: path, Err: bare(err)}
	case !held:
		_ = l.flock.Close()
		return nil, &LockedError{Path: path, Info: ReadLockInfo(path), Waited: timeout}
	}
	info.File = identity(path)
	if left := ReadLockInfo(path); left.File != "" && left.File == info.File {
		l.left = left
	}
	if err := writeInfo(path, info); err != nil {
		_ = l.flock.Close()
		return nil, &Error{
			Op: "lock state with", Path: path, Err: bare(err),
			Remedy: "make room or mend the folder's permissions",
		}
	}
	return l, nil
}

func writeInfo(path string, info LockInfo) error {
	b, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o600)
}

// ReadLockInfo reads who holds, or last held and lost, the lock at path. It is
// zero when nobody does, or when it cannot be read: it is for people to read,
// and the kernel alone knows whether the lock is held.
func ReadLockInfo(path string) LockInfo {
	var info LockInfo
	if b, err := os.ReadFile(path); err != nil || json.Unmarshal(b, &info) != nil {
		return LockInfo{}
	}
	return info
}

// Release empties the lock file and gives the lock back.
func (l *Lock) Release() error {
	return errors.Join(os.Truncate(l.flock.Path(), 0), l.flock.Close())
}
