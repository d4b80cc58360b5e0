package statefile

import (
	"errors"

	"github.com/kubewright/kubewright/state"
)

// Loaded is what the disk knows: state file and journal together.
type Loaded struct {
	// State is the fold of both; nil when there is neither.
	State *state.State
	// Recovered are the entries that the journal held: of a run that was
	// killed, or whose state could not be written. They are in State; the state
	// file has them after the next Save.
	Recovered []state.Entry
}

// Load reads the state file and folds the journal into it. It writes nothing
// and needs no lock. Its errors are those of Read, ReadJournal and Fold.
func Load(p Paths) (Loaded, error) { return load(p.fsys(), p) }

func load(fsys FS, p Paths) (Loaded, error) {
	st, err := read(fsys, p.State)
	if err != nil {
		return Loaded{}, err
	}
	entries, _, err := readJournal(fsys, p.Journal)
	if err != nil || len(entries) == 0 {
		return Loaded{State: st}, err
	}
	folded, err := Fold(st, entries)
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Path = p.Journal
	}
	return Loaded{State: folded, Recovered: entries}, err
}

// Save writes the state, as Write does, and then empties the journal, whose
// entries it must contain. Either may be asked again by the next command: an
// error loses nothing.
func Save(p Paths, st *state.State, j *Journal) error {
	if err := write(j.fsys, p.State, st); err != nil {
		return err
	}
	return j.Reset()
}
