package statefile

import (
	"context"

	"github.com/kubewright/kubewright/state"
)

// Loaded is the state known on disk: state file and journal together.
type Loaded struct {
	// State is the fold of both; nil when there is neither, or the journal needs a state that is
	// gone.
	State *state.State
	// Recovered are the entries in the journal of a run that was killed, or whose state could not
	// be written. They are part of State; the next Save writes them to the state file.
	Recovered []state.Entry
	// Overtaken are the entries of an interrupted run of this machine, after which another
	// machine has written the state, or whose initial state is gone. They are not part of State.
	Overtaken []state.Entry
}

// Load reads the state file and folds the journal into it; see Store.Load.
func Load(p Paths) (Loaded, error) { return NewStore(p, nil).Load(context.Background()) }

// Save writes the state and empties the journal; see Store.Save.
func Save(p Paths, st *state.State, j *Journal) error {
	return NewStore(p, nil).Save(context.Background(), st, j)
}
