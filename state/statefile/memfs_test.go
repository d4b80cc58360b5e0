package statefile

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// memFS is a disk in memory that models a power cut, and fails the call that a test selects.
type memFS struct {
	// names is the view of a program; synced is what the disk holds of it.
	names, synced map[string]*inode
	// calls counts changing calls; the call failAt fails with failWith, once.
	calls    int
	failAt   int
	failWith error
	// crashAt makes this call and all later ones fail; a write at this call does half its work.
	crashAt int
	log     []string
}

type inode struct{ data, synced []byte }

var errCrashed = errors.New("power cut")

func newMemFS() *memFS {
	return &memFS{names: map[string]*inode{}, synced: map[string]*inode{}}
}

// call counts a changing call and returns its failure, if any.
func (m *memFS) call(op, name string) error {
	if m.crashAt > 0 && m.calls >= m.crashAt {
		return errCrashed
	}
	m.calls++
	m.log = append(m.log, op+" "+name)
	switch {
	case m.calls == m.crashAt:
		return errCrashed
	case m.calls == m.failAt:
		return &fs.PathError{Op: op, Path: name, Err: m.failWith}
	}
	return nil
}

// reboot returns the disk after a power cut. Without lucky only synced data survives; with it,
// folders survive as programs saw them, which is possible before they are synced, but contents
// still have to be synced.
func (m *memFS) reboot(lucky bool) *memFS {
	names := m.synced
	if lucky {
		names = m.names
	}
	out := newMemFS()
	for name, n := range names {
		out.names[name] = &inode{data: slices.Clone(n.synced), synced: slices.Clone(n.synced)}
	}
	out.synced = maps.Clone(out.names)
	return out
}

func (m *memFS) put(name string, b []byte) {
	m.names[name] = &inode{data: slices.Clone(b), synced: slices.Clone(b)}
	m.synced[name] = m.names[name]
}

func (m *memFS) ReadFile(name string) ([]byte, error) {
	n, ok := m.names[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(n.data), nil
}

func (m *memFS) ReadDir(dir string) ([]string, error) {
	var out []string
	for name := range m.names {
		if filepath.Dir(name) == filepath.Clean(dir) {
			out = append(out, filepath.Base(name))
		}
	}
	slices.Sort(out)
	return out, nil
}

func (m *memFS) Create(name string) (File, error) {
	if err := m.call("create", name); err != nil {
		return nil, err
	}
	if m.names[name] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	m.names[name] = &inode{}
	return &memFile{m, name, m.names[name]}, nil
}

func (m *memFS) Open(name string) (File, error) {
	if err := m.call("open", name); err != nil {
		return nil, err
	}
	if m.names[name] == nil {
		m.names[name] = &inode{}
	}
	return &memFile{m, name, m.names[name]}, nil
}

func (m *memFS) Rename(from, to string) error {
	if err := m.call("rename", to); err != nil {
		return err
	}
	m.names[to] = m.names[from]
	delete(m.names, from)
	return nil
}

func (m *memFS) Remove(name string) error {
	if m.names[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	if err := m.call("remove", name); err != nil {
		return err
	}
	delete(m.names, name)
	return nil
}

func (m *memFS) SyncDir(dir string) error {
	if err := m.call("syncdir", dir); err != nil {
		return err
	}
	in := func(name string, _ *inode) bool { return filepath.Dir(name) == filepath.Clean(dir) }
	maps.DeleteFunc(m.synced, in)
	for name, n := range m.names {
		if in(name, n) {
			m.synced[name] = n
		}
	}
	return nil
}

type memFile struct {
	fs   *memFS
	name string
	node *inode
}

// WriteAt writes half the bytes when it fails.
func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	err := f.fs.call("write", f.name)
	if errors.Is(err, errCrashed) && f.fs.calls != f.fs.crashAt {
		return 0, err
	}
	n := len(b)
	if err != nil {
		n /= 2
	}
	if grow := int(off) + n - len(f.node.data); grow > 0 {
		f.node.data = append(f.node.data, make([]byte, grow)...)
	}
	copy(f.node.data[off:], b[:n])
	return n, err
}

func (f *memFile) Truncate(size int64) error {
	if err := f.fs.call("truncate", f.name); err != nil {
		return err
	}
	f.node.data = slices.Clone(f.node.data[:size])
	return nil
}

func (f *memFile) Allocate(int64) error { return f.fs.call("allocate", f.name) }

func (f *memFile) Sync() error {
	if err := f.fs.call("sync", f.name); err != nil {
		return err
	}
	f.node.synced = slices.Clone(f.node.data)
	return nil
}

func (f *memFile) Close() error { return f.fs.call("close", f.name) }

// failures are the errors of failing calls.
var failures = map[string]error{"ENOSPC": syscall.ENOSPC, "EIO": syscall.EIO}

// leftovers returns the temporary files.
func (m *memFS) leftovers() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.names)), func(s string) bool { return !strings.HasSuffix(s, ".tmp") })
}
