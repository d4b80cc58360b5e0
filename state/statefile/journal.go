package statefile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
)

// JournalFormat is the number of the journal format that this version writes.
const JournalFormat = 1

// Space reserved for a run: for each entry, and once for the observations of the run.
const (
	bytesPerEntry = 4 << 10
	bytesPerRun   = 1 << 20
)

// Journal is the open journal of a state. It must be used by one goroutine at a time, in the
// process that holds the lock.
type Journal struct {
	medium  medium
	path    string
	file    File
	entries []state.Entry
	// n is the number of the last entry, size the length of all valid entries.
	n, size int64
	// broken is the first write failure. Nothing is appended after it: the content of the disk is
	// unknown, and a later successful fsync proves nothing.
	broken error
	// guard is called before every line; nil when there is nothing to guard.
	guard func() error
}

// ReadJournal reads the entries of a journal without changing it. A missing journal has none. A
// truncated last line is ignored; any other damaged line is an ErrDamaged that names it.
func ReadJournal(p Paths) ([]state.Entry, error) {
	entries, _, err := readJournal(p.medium(), p.Journal)
	return entries, err
}

func readJournal(m medium, path string) ([]state.Entry, int64, error) {
	b, err := m.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if errors.Is(err, errLarge) {
		return nil, 0, &Error{
			Op: "read journal", Path: path, Kind: backend.ErrTooLarge, Err: err,
			Remedy: "no run writes that much: move it away and plan, which finds on the hosts what was done",
		}
	}
	if err != nil {
		return nil, 0, &Error{Op: "read journal", Path: path, Err: bare(err)}
	}
	entries, size, err := m.scan(b)
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Op, e.Path = "read journal", path
	}
	return entries, size, err
}

// OpenJournal opens the journal for appending, and creates it if it is missing. A last line that
// was truncated by a crash is removed.
func OpenJournal(p Paths) (*Journal, error) { return openJournal(p.medium(), p.Journal) }

func openJournal(m medium, path string) (*Journal, error) {
	entries, size, err := readJournal(m, path)
	if err != nil {
		return nil, err
	}
	j := &Journal{medium: m, path: path, entries: entries, n: int64(len(entries)), size: size}
	if j.file, err = m.Open(path); err != nil {
		return nil, j.failure("open journal", err)
	}
	err = j.file.Truncate(size)
	if err == nil {
		err = j.file.Sync()
	}
	if err == nil {
		err = m.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		_ = j.file.Close()
		return nil, j.failure("open journal", err)
	}
	return j, nil
}

func (j *Journal) failure(op string, err error) error {
	return &Error{
		Op: op, Path: j.path, Err: bare(err),
		Remedy: "make room, mend the disk or the folder's permissions, and run the same command again",
	}
}

// refused returns the error of an entry that cannot be encoded.
func (j *Journal) refused(op string, err error) error {
	e := (*Error)(nil)
	if !errors.As(err, &e) {
		return j.failure(op, err)
	}
	e.Op, e.Path = op, j.path
	return e
}

// Entries returns the entries that the journal held when it was opened: those of an interrupted
// run. It is empty after Reset.
func (j *Journal) Entries() []state.Entry { return slices.Clone(j.entries) }

// Reserve makes sure before the first operation that the entries of a run will have space, as far
// as the file system can guarantee it, and that the folder is writable, which the state file
// needs in the end.
//
// It also makes sure that the user can decrypt what will be written.
func (j *Journal) Reserve(entries int) error {
	size := bytesPerRun + int64(entries)*bytesPerEntry
	probe := []byte("{}")
	kept, err := j.medium.sealReadable(probe)
	if err != nil {
		return j.refused("write journal", err)
	}
	if !bytes.Equal(kept, probe) {
		size *= 2 // keys and armor in each line
	}
	if err := j.file.Allocate(j.size + size); err != nil {
		return j.failure("reserve space for journal", err)
	}
	name := j.path + ".tmp"
	if err := j.medium.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return j.failure("write beside journal", err)
	}
	f, err := j.medium.Create(name)
	if err == nil {
		err = errors.Join(f.Close(), j.medium.Remove(name))
	}
	if err != nil {
		return j.failure("write beside journal", err)
	}
	return nil
}

// Append writes the entry and syncs; it sets N. After an error every further Append fails with
// the same one. The error is backend.ErrLost if the lock was lost.
func (j *Journal) Append(e state.Entry) error {
	if j.broken == nil && j.guard != nil {
		j.broken = j.guard()
	}
	if j.broken != nil {
		return j.broken
	}
	e.N = j.n + 1
	if e.Kind == state.EntryRun {
		e.Format = JournalFormat
	}
	line, err := j.medium.encodeLine(e)
	if err != nil {
		j.broken = j.refused("append to journal", err)
		return j.broken
	}
	if j.full(e, len(line)) {
		j.broken = &Error{
			Op: "append to journal", Path: j.path, Kind: backend.ErrTooLarge, Problem: fmt.Sprintf("it has reached %d MiB, the most that is read of it", backend.MaxState>>20),
			Remedy: "the state is written now, which empties it: run the same command again, which continues",
		}
		return j.broken
	}
	_, err = j.file.WriteAt(line, j.size)
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.broken = j.failure("append to journal", err)
		return j.broken
	}
	j.n, j.size = e.N, j.size+int64(len(line))
	return nil
}

// closing is the space in bytes that a journal keeps free for the ends of steps that have begun.
const closing = 4 << 20

// full reports whether an entry would exceed the readable size, or would leave no space for the
// end of what it begins.
func (j *Journal) full(e state.Entry, line int) bool {
	most := int64(backend.MaxState)
	if e.Kind == state.EntryRun || e.Kind == state.EntryBegin {
		most -= closing
	}
	return j.size+int64(line) > most
}

// Reset empties the journal. The caller has written a state that contains all of it.
func (j *Journal) Reset() error {
	err := j.file.Truncate(0)
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.broken = j.failure("empty journal", err)
		return j.broken
	}
	j.entries, j.n, j.size = nil, 0, 0
	return nil
}

// Close closes the file; its entries stay for the next run.
func (j *Journal) Close() error { return j.file.Close() }
