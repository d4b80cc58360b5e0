package statefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
)

// Read reads a state file. If the file does not exist, it returns a nil state and no error. Other
// failures are an *Error: ErrDamaged, ErrNewer, state.ErrPlain, state.ErrSealed, or an error of
// the file system.
func Read(p Paths) (*state.State, error) {
	st, _, err := NewStore(p, nil).read(context.Background())
	return st, err
}

// decode decrypts and decodes a stored state.
func (m medium) decode(kept []byte) (*state.State, error) {
	b, err := m.unseal(kept)
	if err != nil {
		return nil, err
	}
	return decode(b)
}

// remedy says what to do about a file that is refused. It names the newest readable older
// generation.
func remedy(m medium, path string, kind error) string {
	if kind == ErrNewer {
		return "use that version of kubewright or a later one"
	}
	for _, g := range slices.Backward(generations(m, path)) {
		b, err := m.ReadFile(g.path)
		if err != nil {
			continue
		}
		if st, err := m.decode(b); err == nil {
			return fmt.Sprintf("the newest older state that is whole is of serial %d: put it back with\n\n  cp %s %s\n\n"+
				"and plan; what it does not know yet is found on the hosts", st.Serial, state.ShellWord(g.path), state.ShellWord(path))
		}
	}
	return "there is no older state beside it: move it away and make a new one from what the hosts hold with\n\n  kubewright state recover"
}

// Write replaces a state file; see Store.Write.
func Write(p Paths, st *state.State) error { return NewStore(p, nil).Write(context.Background(), st) }

func sameAsRead(path string, old, st *state.State) error {
	refuse := func(kind error, problem, remedy string) error {
		return &Error{Op: "write state", Path: path, Kind: kind, Problem: problem, Remedy: remedy}
	}
	const again = "nothing was written: plan again, which reads it again"
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

// replace writes a file atomically and durably: a temporary file beside it is written, synced and
// renamed, and the folder synced. A leftover of an earlier attempt is removed first.
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

// prune removes all but the newest generations. It ignores failures: the state was written
// nevertheless.
func prune(fsys FS, path string) {
	all := generations(fsys, path)
	for _, g := range all[:max(0, len(all)-Generations)] {
		_ = fsys.Remove(g.path)
	}
}

// bare removes the path from an error of package os: our errors name it themselves.
func bare(err error) error {
	if cause := safefile.Cause(err); cause != nil {
		return cause
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", pe.Op, pe.Err)
	}
	return err
}
