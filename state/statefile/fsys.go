package statefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kubewright/kubewright/state/backend"
)

// FS is the part of a file system that this package needs, so that tests can
// fail each call, end the process at it, or lose what was not synced.
type FS interface {
	ReadFile(name string) ([]byte, error)
	// ReadDir lists the names in a folder.
	ReadDir(dir string) ([]string, error)
	// Create makes a new file, 0600; one with that name must not exist.
	Create(name string) (File, error)
	// Open opens a file for writing at offsets and makes it when it is missing, 0600.
	Open(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir makes what was created, renamed and removed in a folder durable.
	SyncDir(dir string) error
	// Resolve follows symbolic links; a name that does not exist is returned as it is.
	Resolve(name string) (string, error)
}

// File is a file of an FS, open for writing.
type File interface {
	WriteAt(b []byte, off int64) (int, error)
	Truncate(size int64) error
	// Allocate reserves space for the first size bytes without changing the file's length.
	Allocate(size int64) error
	Sync() error
	Close() error
}

// OS is the file system of this machine.
func OS() FS { return disk{} }

// disk is the file system of this machine.
type disk struct{}

type diskFile struct{ *os.File }

// errNoFile is what is there under a file's name and is none.
var errNoFile = errors.New("it is a folder, a pipe or a device, and no file")

// errLarge is a file that has more than kubewright writes, or reads into memory.
var errLarge = fmt.Errorf("it has more than %d MiB, the most that is read of it", backend.MaxState>>20)

// ReadFile refuses what is no file: a pipe would be waited for, and what is written
// later would take the place of a device that others use. It refuses a file of more
// than backend.MaxState bytes unread.
func (disk) ReadFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		return nil, errNoFile
	case info.Size() > backend.MaxState:
		return nil, errLarge
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := backend.ReadAll(f, -1) // it may grow meanwhile
	if backend.IsLarge(err) {
		err = errLarge
	}
	return b, err
}

func (disk) ReadDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (disk) Create(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return diskFile{f}, err
}

func (disk) Open(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	return diskFile{f}, err
}

func (disk) Rename(from, to string) error { return os.Rename(from, to) }

func (disk) Remove(name string) error { return os.Remove(name) }

func (disk) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (disk) Resolve(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if errors.Is(err, os.ErrNotExist) {
		return name, nil
	}
	return real, err
}

// probe finds a full disk where space cannot be reserved: it writes size bytes
// behind the file's end, and takes them off again.
func probe(f *os.File, size int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	zeros := make([]byte, 64<<10)
	for off := info.Size(); off < size && err == nil; off += int64(len(zeros)) {
		_, err = f.WriteAt(zeros[:min(int64(len(zeros)), size-off)], off)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Truncate(info.Size()))
}
