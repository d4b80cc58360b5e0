package statefile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// Read reads a state file. One that does not exist is a nil state and no
// error. Other failures are an *Error: ErrDamaged, ErrNewer, or the file system's.
func Read(path string) (*state.State, error) { return read(disk{}, path) }

func read(fsys FS, path string) (*state.State, error) {
	b, err := fsys.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{Op: "read state", Path: path, Err: bare(err)}
	}
	st, err := decode(b)
	if err == nil {
		return st, nil
	}
	e := (*Error)(nil)
	if !errors.As(err, &e) {
		return nil, &Error{Op: "read state", Path: path, Err: err}
	}
	e.Op, e.Path = "read state", path
	e.Remedy = remedy(fsys, path, e.Kind)
	return nil, e
}

// remedy says what to do about a file that is refused. It names the newest
// older generation that can be read.
func remedy(fsys FS, path string, kind error) string {
	if kind == ErrNewer {
		return "use that version of kubewright or a later one"
	}
	for _, g := range slices.Backward(generations(fsys, path)) {
		b, err := fsys.ReadFile(g.path)
		if err != nil {
			continue
		}
		if st, err := decode(b); err == nil {
			return fmt.Sprintf("the newest older state that is whole is of serial %d: put it back with\n\n  cp %s %s\n\n"+
				"and plan; what it does not know yet is found on the hosts", st.Serial, g.path, path)
		}
	}
	return "there is no older state beside it: move it away and make a new one from what the hosts hold with\n\n  kubewright state recover"
}

// Write replaces a state file by the state, which must be the one that was
// read (or, with serial 0, be written for the first time) with its changes. On
// success st.Serial has grown by one and the file has that serial.
//
// It fails with ErrMoved or ErrForeign when the file is not the one that was
// read, and leaves it alone. After any error the file holds the old state or
// the new one, whole. The caller holds the lock.
func Write(path string, st *state.State) error { return write(disk{}, path, st) }

func write(fsys FS, path string, st *state.State) error {
	fail := func(problem string, err error, remedy string) error {
		return &Error{Op: "write state", Path: path, Problem: problem, Err: bare(err), Remedy: remedy}
	}
	if err := check(st); err != nil {
		return fmt.Errorf("internal error: cannot write state: %w", err)
	}
	path, err := fsys.Resolve(path)
	if err != nil {
		return fail("", err, "")
	}
	if err := keep(fsys, path, st); err != nil {
		return err
	}
	next := *st
	next.FormatVersion, next.Serial = state.FormatVersion, st.Serial+1
	b, err := encode(&next)
	if err != nil {
		return fail("", err, "")
	}
	if err := replace(fsys, path, b); err != nil {
		return fail("", err, "the journal beside it holds what is missing: make room or mend the disk, and run the same command again")
	}
	st.FormatVersion, st.Serial = next.FormatVersion, next.Serial
	prune(fsys, path)
	return nil
}

// keep checks that the file is the one that was read, and copies it aside.
func keep(fsys FS, path string, st *state.State) error {
	old, err := read(fsys, path)
	if err != nil {
		return err
	}
	if err := sameAsRead(path, old, st); err != nil || old == nil {
		return err
	}
	b, err := fsys.ReadFile(path)
	if err == nil {
		err = replace(fsys, NewPaths(path).Backup(old.Serial), b)
	}
	if err != nil {
		return &Error{
			Op: "keep the older state of", Path: path, Err: bare(err),
			Remedy: "nothing was changed: make room or mend the disk, and run the same command again",
		}
	}
	return nil
}

func sameAsRead(path string, old, st *state.State) error {
	refuse := func(kind error, problem, remedy string) error {
		return &Error{Op: "write state", Path: path, Kind: kind, Problem: problem, Remedy: remedy}
	}
	const again = "nothing was written: run the same command again, which reads it anew"
	switch {
	case old == nil && st.Serial == 0:
		return nil
	case old == nil:
		return refuse(ErrMoved, fmt.Sprintf("it had serial %d when it was read, and is gone now", st.Serial), again)
	case st.Serial == 0 && old.Lineage != st.Lineage:
		return refuse(ErrForeign, "there was no state when this run began, and now there is one of lineage "+old.Lineage, again)
	case old.Lineage != st.Lineage:
		return refuse(ErrForeign, fmt.Sprintf("it is of lineage %s, the state to write of %s", old.Lineage, st.Lineage),
			"nothing was written: name another file with -state, or move this one away")
	case old.Serial != st.Serial:
		return refuse(ErrMoved, fmt.Sprintf("it had serial %d when it was read, and has %d now", st.Serial, old.Serial), again)
	}
	return nil
}

// replace puts a file in place, durably and whole: beside it, synced, renamed,
// the folder synced. A leftover of an earlier attempt is removed first.
func replace(fsys FS, path string, b []byte) error {
	temp := path + ".tmp"
	if err := fsys.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeSynced(fsys, temp, b); err != nil {
		_ = fsys.Remove(temp) // the first error is the one to report
		return err
	}
	if err := fsys.Rename(temp, path); err != nil {
		_ = fsys.Remove(temp)
		return err
	}
	return fsys.SyncDir(filepath.Dir(path))
}

func writeSynced(fsys FS, path string, b []byte) error {
	f, err := fsys.Create(path)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

type generation struct {
	serial int64
	path   string
}

// generations lists the older states beside a state file, oldest first.
func generations(fsys FS, path string) []generation {
	if real, err := fsys.Resolve(path); err == nil {
		path = real
	}
	names, err := fsys.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	var out []generation
	for _, name := range names {
		text, ok := strings.CutPrefix(name, filepath.Base(path)+".backup.")
		if serial, err := strconv.ParseInt(text, 10, 64); ok && err == nil {
			out = append(out, generation{serial, filepath.Join(filepath.Dir(path), name)})
		}
	}
	slices.SortFunc(out, func(a, b generation) int { return int(a.serial - b.serial) })
	return out
}

// prune removes all but the newest generations. That one cannot be removed is
// no reason to call a state unwritten.
func prune(fsys FS, path string) {
	all := generations(fsys, path)
	for _, g := range all[:max(0, len(all)-Generations)] {
		_ = fsys.Remove(g.path)
	}
}

// bare takes the path off an error of package os: our errors name it themselves.
func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", pe.Op, pe.Err)
	}
	return err
}
