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

// retryInterval is the time between tries to take a held lock.
const retryInterval = 200 * time.Millisecond

// LockInfo describes the holder of a lock, LockedError is the error for a lock that another run
// holds.
type (
	LockInfo    = backend.LockInfo
	LockedError = backend.LockedError
)

// Lock is a held lock. The kernel frees it when the process ends.
type Lock struct {
	path string
	// file is open as long as the lock is held. The lock file is read and written only through
	// this descriptor: its name may denote another file by now.
	file      *os.File
	own, left record
}

// record is the content of a lock file.
type record struct {
	LockInfo
	// Before are earlier runs of this folder that may have left a lock in the backend. None of
	// them is still running.
	Before []string `json:"before,omitempty"`
}

// runs returns all runs that may have left a lock in the backend.
func (r record) runs() []string {
	if r.ID == "" {
		return r.Before
	}
	return append([]string{r.ID}, r.Before...)
}

// Left returns the previous holder if it ended without releasing the lock; zero if there is none
// or it is not known. Its process has ended.
func (l *Lock) Left() LockInfo { return l.left.LockInfo }

// Acquire takes the lock at path (Paths.Lock) and writes the holder into the file. It waits up to
// timeout (0 tries once), and then fails with a *LockedError. The file is never removed:
// otherwise two runs could hold two files with the same name.
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
	if !held || l.Confirm() != nil { // or the lock was ended between open and flock
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

// flock locks an open file without waiting, and reports whether it got the lock.
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

// closeLocked closes a file, and unlocks it first: a process that was just forked has the file
// open, and with it the lock, until it executes its program.
func closeLocked(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

// identity distinguishes a file from a copy of it; empty if it cannot be determined.
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

// write replaces the content of the file with a record.
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

// read returns the content of the file; zero if it cannot be read.
func (l *Lock) read() record {
	b, err := safefile.ReadAll(l.file, maxRecord)
	return parseRecord(b, err)
}

// maxRecord bounds the size of a lock file in bytes.
const maxRecord = 1 << 20

// ReadLockInfo reads the current holder of the lock at path, or the last one if that ended
// without releasing it. It is zero if there is none, or if it cannot be read. It is for display:
// only the kernel knows whether the lock is held.
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

// Release empties the lock file and frees the lock. A file that is not the locked one is left
// alone.
func (l *Lock) Release() error {
	if l.Confirm() != nil {
		return closeLocked(l.file)
	}
	return errors.Join(l.file.Truncate(0), closeLocked(l.file))
}

// Leave frees the lock as a killed process does: the holder stays recorded in the file.
func (l *Lock) Leave() error { return closeLocked(l.file) }

// Doubt makes Return record that this run, too, may have left a lock in the backend.
func (l *Lock) Doubt() {
	l.left.File, l.left.Before = l.own.File, append(l.left.Before, l.own.ID)
}

// Return frees the lock in the condition in which it was found: a previous holder that ended
// without releasing it stays recorded for the next run.
func (l *Lock) Return() error {
	if len(l.left.runs()) == 0 || l.Confirm() != nil {
		return l.Release()
	}
	return errors.Join(l.write(l.left), closeLocked(l.file))
}
