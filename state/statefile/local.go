package statefile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/safefile"
)

// Local is the backend that keeps a state in a file of this machine, with its older generations
// beside it. The kernel frees its lock when the process ends.
type Local struct {
	paths Paths

	mu sync.Mutex
	// held is the lock that Lock returned; nil without one.
	held *Lock
}

var _ backend.Backend = (*Local)(nil)

// NewLocal returns the backend of the file p.State.
func NewLocal(p Paths) *Local { return &Local{paths: p} }

// String returns the file's name.
func (l *Local) String() string { return l.paths.State }

// Read implements backend.Backend.
func (l *Local) Read(context.Context) (*backend.Object, error) { return l.read(l.paths.State) }

func (l *Local) read(path string) (*backend.Object, error) {
	b, err := l.paths.medium().ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.As(err, new(*safefile.NotRegular)) {
		return nil, &Error{Op: "read state", Path: path, Err: bare(err), Remedy: "name the file itself with -state, or one that is not there yet"}
	}
	if errors.Is(err, errLarge) {
		return nil, &Error{Op: "read state", Path: path, Kind: backend.ErrTooLarge, Err: err, Remedy: remedy(l.paths.medium(), path, backend.ErrTooLarge)}
	}
	if err != nil {
		return nil, &Error{Op: "read state", Path: path, Err: bare(err)}
	}
	return &backend.Object{Data: b, Version: contentMark(b)}, nil
}

func contentMark(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Write implements backend.Backend: the state that was read is kept as an older generation, and
// then replaced atomically.
func (l *Local) Write(ctx context.Context, old *backend.Object, next backend.Object) error {
	fsys, path := l.paths.medium(), l.paths.State
	fail := func(err error, remedy string) error {
		return &Error{Op: "write state", Path: path, Err: bare(err), Remedy: remedy}
	}
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held != nil {
		if err := held.Confirm(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fail(err, "nothing was written")
	}
	now, err := l.read(path)
	if err != nil {
		return err
	}
	if (now == nil) != (old == nil) || now != nil && now.Version != old.Version {
		return backend.Moved(path)
	}
	if old != nil {
		if err := kept(fsys, NewPaths(path).Backup(old.Serial), old.Data); err != nil {
			return &Error{
				Op: "keep the older state of", Path: path, Err: bare(err),
				Remedy: "nothing was written: make room or mend the disk, and run the same command again",
			}
		}
	}
	if err := replace(fsys, path, next.Data); err != nil {
		return fail(err, "what a run has done is in the journal beside it: make room or mend the disk, and run the same command again")
	}
	prune(fsys, path)
	return nil
}

// kept stores an older state. A plain one is encrypted if the codec encrypts.
func kept(m medium, path string, b []byte) error {
	b, err := m.reseal(b)
	if err != nil {
		return err
	}
	return replace(m, path, b)
}

// Lock implements backend.Backend. Commands take the lock of their folder with Acquire, which is
// the same lock.
func (l *Local) Lock(ctx context.Context, info LockInfo) (backend.Lock, error) {
	lock, err := Acquire(ctx, l.paths.Lock, info, 0)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = lock
	return localLock{lock, l}, nil
}

type localLock struct {
	*Lock
	of *Local
}

func (l localLock) Confirm(context.Context) error { return l.Lock.Confirm() }
func (l localLock) Release(context.Context) error {
	l.of.mu.Lock()
	l.of.held = nil
	l.of.mu.Unlock()
	return l.Lock.Release()
}

// Holder implements backend.Backend. It asks the kernel by trying the lock.
func (l *Local) Holder(context.Context) (*LockInfo, error) {
	path := l.paths.Lock
	f, err := safefile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	free := false
	if err == nil {
		defer func() { _ = closeLocked(f) }()
		free, err = flock(f, unix.LOCK_SH)
	}
	if err != nil {
		return nil, &Error{Op: "read the lock", Path: path, Err: bare(err)}
	}
	if free {
		return nil, nil
	}
	info := ReadLockInfo(path)
	info.Certain = true
	return &info, nil
}

// ForceUnlock implements backend.Backend. A kernel lock cannot be taken away from a process, so
// lock file and journal are replaced by new files of the same name: the holder detects that its
// open files are no longer those of the state, and writes nowhere where the next run reads.
func (l *Local) ForceUnlock(ctx context.Context, id string) error {
	holder, err := l.Holder(ctx)
	if err != nil || holder == nil {
		return err
	}
	if holder.ID != id {
		return &LockedError{Path: l.paths.Lock, Info: *holder}
	}
	fail := func(path string, err error) error {
		return &Error{Op: "end the lock with", Path: path, Err: bare(err), Remedy: "nothing was ended: mend the folder's permissions, or end the process"}
	}
	fsys := l.paths.medium()
	journal, err := fsys.ReadFile(l.paths.Journal)
	if err == nil {
		err = replace(fsys, l.paths.Journal, journal)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(l.paths.Journal, err)
	}
	if err := replace(OS(), l.paths.Lock, nil); err != nil {
		return fail(l.paths.Lock, err)
	}
	return nil
}

// Confirm fails with backend.ErrLost when the lock's file is not the locked one any more: the
// lock was ended.
func (l *Lock) Confirm() error {
	mine, err := l.file.Stat()
	if err != nil {
		return &Error{Op: "read the lock", Path: l.path, Err: bare(err)}
	}
	now, err := os.Lstat(l.path)
	if err == nil && os.SameFile(mine, now) {
		return nil
	}
	var holder *LockInfo
	if info := ReadLockInfo(l.path); info.ID != "" {
		holder = &info
	}
	return backend.Lost(l.path, holder)
}
