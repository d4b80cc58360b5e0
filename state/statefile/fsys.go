package statefile

import (
	"errors"
	"fmt"
	"os"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/safefile"
)

// FS is the part of a file system that this package needs, so that tests can make each call fail,
// end the process at it, or lose unsynced data.
type FS interface {
	ReadFile(name string) ([]byte, error)
	// ReadDir lists the names in a folder.
	ReadDir(dir string) ([]string, error)
	// Create creates a new file with mode 0600; its name must be free.
	Create(name string) (File, error)
	// Open opens a file for writing at offsets, and creates it with mode 0600 if it is missing.
	Open(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir makes creations, renames and removals in a folder durable.
	SyncDir(dir string) error
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

// OS returns the file system of this machine.
func OS() FS { return disk{} }

// disk is the file system of this machine.
type disk struct{}

type diskFile struct{ *os.File }

// errLarge is the error for a file that exceeds the size that kubewright writes and reads.
var errLarge = fmt.Errorf("it has more than %d MiB, the most that is read of it", backend.MaxState>>20)

// ReadFile reads a state, an older generation, or a journal, of at most backend.MaxState bytes.
func (disk) ReadFile(name string) ([]byte, error) {
	b, err := safefile.Read(name, backend.MaxState)
	if safefile.IsTooLarge(err) {
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
	f, err := safefile.Create(name, 0o600)
	return diskFile{f}, err
}

func (disk) Open(name string) (File, error) {
	f, err := safefile.Edit(name)
	return diskFile{f}, err
}

func (disk) Rename(from, to string) error { return safefile.Rename(from, to) }

func (disk) Remove(name string) error { return os.Remove(name) }

func (disk) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// probe detects a full disk where space cannot be reserved: it extends the file to size bytes,
// and truncates it again.
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
