package statefile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/safefile"
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
	path string
	// file is open for as long as the lock is held, and read and written through this
	// descriptor alone: what has its name by now may be another file.
	file      *os.File
	own, left record
}

// record is what a lock's file says.
type record struct {
	LockInfo
	// Before are runs of this folder before that one, of which nobody knows whether
	// they have left a lock in the backend. None of them runs any more.
	Before []string `json:"before,omitempty"`
}

// runs returns all that may have left a lock in the backend.
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
	fail := func(err error, remedy string) (*Lock, error) {
		return nil, &Error{Op: "lock state with", Path: path, Err: bare(err), Remedy: remedy}
	}
	f, err := safefile.Edit(path)
	if err != nil {
		return fail(err, "")
	}
	l := &Lock{path: path, file: f}
	held, err := l.wait(ctx, timeout)
	if err != nil {
		_ = f.Close()
		return fail(err, "")
	}
	if !held || l.Confirm() != nil { // or it was ended between its opening and its locking
		_ = f.Close()
		return nil, &LockedError{Path: path, Info: ReadLockInfo(path), Waited: timeout}
	}
	l.own.LockInfo = info
	l.own.File = identity(f)
	if left := l.read(); left.File != "" && left.File == l.own.File {
		l.left, l.own.Before = left, left.runs()
	}
	if err := l.write(l.own); err != nil {
		_ = f.Close()
		return fail(err, "make room or mend the folder's permissions")
	}
	return l, nil
}

// wait tries to lock the file until timeout, once for 0. It reports whether the lock is held.
func (l *Lock) wait(ctx context.Context, timeout time.Duration) (bool, error) {
	held, err := flock(l.file, unix.LOCK_EX)
	if held || err != nil || timeout <= 0 {
		return held, err
	}
	deadline, tries := time.NewTimer(timeout), time.NewTicker(retryInterval)
	defer deadline.Stop()
	defer tries.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-deadline.C:
			return false, nil
		case <-tries.C:
		}
		if held, err := flock(l.file, unix.LOCK_EX); held || err != nil {
			return held, err
		}
	}
}

// flock locks an open file without waiting, and reports whether that was possible.
func flock(f *os.File, how int) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return err == nil, err
		}
	}
}

// closeLocked closes a file, and gives its lock back at once: a process that was forked a
// moment ago has the file open, and with it the lock, until it executes its program.
func closeLocked(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

// identity tells a file from a copy of it; empty when that cannot be told.
func identity(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", s.Dev, s.Ino)
}

// write puts a record in the place of what the file says.
func (l *Lock) write(r record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err = l.file.WriteAt(append(b, '\n'), 0)
	return err
}

// read returns what the file says; zero when that cannot be read.
func (l *Lock) read() record {
	b, err := safefile.ReadAll(l.file, maxRecord)
	return parseRecord(b, err)
}

// maxRecord bounds in bytes what is read of a lock's file.
const maxRecord = 1 << 20

// ReadLockInfo reads who holds, or last held and lost, the lock at path. It is
// zero when nobody does, or when it cannot be read: it is for people to read,
// and the kernel alone knows whether the lock is held.
func ReadLockInfo(path string) LockInfo { return readRecord(path).LockInfo }

func readRecord(path string) record {
	b, err := safefile.Read(path, maxRecord)
	return parseRecord(b, err)
}

func parseRecord(b []byte, err error) record {
	var r record
	if err != nil || json.Unmarshal(b, &r) != nil {
		return record{}
	}
	return r
}

// Release empties the lock file and gives the lock back. A file that is not the
// one which was locked is left alone.
func (l *Lock) Release() error {
	if l.Confirm() != nil {
		return closeLocked(l.file)
	}
	return errors.Join(l.file.Truncate(0), closeLocked(l.file))
}

// Leave gives the lock back as a process does that is killed: who held it stays
// written there.
func (l *Lock) Leave() error { return closeLocked(l.file) }

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
	return errors.Join(l.write(l.left), closeLocked(l.file))
}
