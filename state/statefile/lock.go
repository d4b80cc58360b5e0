package statefile

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/gofrs/flock"

	"github.com/kubewright/kubewright/state/backend"
)

// retryInterval is how often a lock that is held is tried again.
const retryInterval = 200 * time.Millisecond

// LockInfo says who holds a lock, LockedError that another run does.
type (
	LockInfo    = backend.LockInfo
	LockedError = backend.LockedError
)

// Lock is a lock that is held. The kernel takes it back when the process ends.
type Lock struct {
	flock     *flock.Flock
	own, left record
}

// record is what a lock's file says.
type record struct {
	LockInfo
	// Before are runs of this folder before that one, of which nobody knows whether
	// they have left a lock in the backend. None of them runs any more.
	Before []string `json:"before,omitempty"`
}

// runs are all that may have left a lock in the backend.
func (r record) runs() []string {
	if r.ID == "" {
		return r.Before
	}
	return append([]string{r.ID}, r.Before...)
}

// Left says who held the lock before and ended without releasing it; it is zero
// when nobody did, or nobody knows. That process does not run any more.
func (l *Lock) Left() LockInfo { return l.left.LockInfo }

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
	if l.Confirm() != nil { // ended between its opening and its locking
		_ = l.flock.Close()
		return nil, &LockedError{Path: path, Info: ReadLockInfo(path), Waited: timeout}
	}
	l.own.LockInfo = info
	l.own.File = identity(path)
	if left := readRecord(path); left.File != "" && left.File == l.own.File {
		l.left, l.own.Before = left, left.runs()
	}
	if err := writeRecord(path, l.own); err != nil {
		_ = l.flock.Close()
		return nil, &Error{
			Op: "lock state with", Path: path, Err: bare(err),
			Remedy: "make room or mend the folder's permissions",
		}
	}
	return l, nil
}

func writeRecord(path string, r record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o600)
}

// ReadLockInfo reads who holds, or last held and lost, the lock at path. It is
// zero when nobody does, or when it cannot be read: it is for people to read,
// and the kernel alone knows whether the lock is held.
func ReadLockInfo(path string) LockInfo { return readRecord(path).LockInfo }

func readRecord(path string) record {
	var r record
	if b, err := os.ReadFile(path); err != nil || json.Unmarshal(b, &r) != nil {
		return record{}
	}
	return r
}

// Release empties the lock file and gives the lock back. A file that is not the
// one which was locked is left alone.
func (l *Lock) Release() error {
	if l.Confirm() != nil {
		return l.flock.Close()
	}
	return errors.Join(os.Truncate(l.flock.Path(), 0), l.flock.Close())
}

// Leave gives the lock back as a process does that is killed: who held it stays
// written there.
func (l *Lock) Leave() error { return l.flock.Close() }

// Doubt has Return tell the next that this run, too, may have left a lock in the
// backend.
func (l *Lock) Doubt() {
	l.left.File, l.left.Before = l.own.File, append(l.left.Before, l.own.ID)
}

// Return gives the lock back as it was found: who ended before without
// releasing it is still told to the next.
func (l *Lock) Return() error {
	if len(l.left.runs()) == 0 || l.Confirm() != nil {
		return l.Release()
	}
	return errors.Join(writeRecord(l.flock.Path(), l.left), l.flock.Close())
}
