package statefile

import (
	"context"

	"github.com/kubewright/kubewright/state"
)

// Loaded is what the disk knows: state file and journal together.
type Loaded struct {
	// State is the fold of both; nil when there is neither, or the journal needs a
	// state that is gone.
	State *state.State
	// Recovered are the entries that the journal held: of a run that was
	// killed, or whose state could not be written. They are in State; the state
	// file has them after the next Save.
	Recovered []state.Entry
	// Overtaken are entries of a run of this machine that was cut short, and after
	// which another machine has written the state, or the state that it began with is
	// gone. They are not in State.
	Overtaken []state.Entry
}

// Load reads the state file and folds the journal into it; see Store.Load.
func Load(p Paths) (Loaded, error) { return NewStore(p, nil).Load(context.Background()) }

// Save writes the state and empties the journal; see Store.Save.
func Save(p Paths, st *state.State, j *Journal) error {
	return NewStore(p, nil).Save(context.Background(), st, j)
}
