package statefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
)

// Copied is the result of CopyTo.
type Copied struct {
	// State is the state at the new place now; nil when neither place has one.
	State *state.State
	// Done reports whether a state was copied. It is false if the new place already had the same
	// state, or the old one had none.
	Done bool
	// Sealed reports whether the state is encrypted at the new place, but not at the old one.
	Sealed bool
}

// ErrOccupied: the place to copy to holds a state that would be lost.
var ErrOccupied = errors.New("occupied")

// CopyTo copies the state unchanged, byte by byte, to another store, and reads it back. A plain
// state is encrypted if the other store encrypts. The old state stays. CopyTo fails with
// ErrOccupied when the other store holds a state of another lineage, or one that is not older.
// The caller holds both locks.
func (s *Store) CopyTo(ctx context.Context, to *Store) (Copied, error) {
	st, from, err := s.read(ctx)
	if err != nil {
		return Copied{}, err
	}
	there, old, err := to.read(ctx)
	if err != nil {
		return Copied{}, err
	}
	switch {
	case from == nil:
		return Copied{State: there}, nil
	case old != nil && bytes.Equal(old.Data, from.Data):
		return Copied{State: there}, nil
	}
	data, sealed, err := to.sealed(st, from.Data)
	if err != nil {
		return Copied{}, err
	}
	if sealed && there != nil { // encrypting the same state twice gives different bytes
		if same, err := equal(st, there); err != nil || same {
			return Copied{State: there, Sealed: true}, err
		}
	}
	if err := occupied(to.Place(), st, there); err != nil {
		return Copied{}, err
	}
	err = to.put(ctx, old, backend.Object{Data: data, Lineage: from.Lineage, Serial: from.Serial})
	if errors.As(err, new(*unkeptError)) {
		return Copied{}, &Error{
			Op: "copy state to", Path: to.Place(), Kind: ErrDamaged, Problem: "what comes back from there is not what was written",
			Remedy: "the state is at " + s.Place() + " as before: mend that place, and try again",
		}
	}
	if err != nil {
		return Copied{}, err
	}
	return Copied{State: st, Done: true, Sealed: sealed}, nil
}

// sealed returns a state of another place in the form in which this one keeps it: encrypted, if
// only this one encrypts, and otherwise unchanged.
func (s *Store) sealed(st *state.State, data []byte) ([]byte, bool, error) {
	c, ok := s.Codec.(interface{ Encrypts() bool })
	if !ok || !c.Encrypts() {
		return data, false, nil
	}
	if _, err := decode(data); err != nil {
		return data, false, nil // encrypted already
	}
	data, err := s.encoded(st)
	return data, true, err
}

func equal(a, b *state.State) (bool, error) {
	x, err := encode(a)
	if err != nil {
		return false, err
	}
	y, err := encode(b)
	return bytes.Equal(x, y), err
}

// occupied refuses to overwrite a valuable state.
func occupied(place string, st, there *state.State) error {
	refuse := func(problem, remedy string) error {
		return &Error{Op: "copy state to", Path: place, Kind: ErrOccupied, Problem: problem, Remedy: "nothing was copied: " + remedy}
	}
	switch {
	case there == nil:
		return nil
	case there.Lineage != st.Lineage:
		return refuse(fmt.Sprintf("it holds a state of lineage %s, and the one to copy is of %s", there.Lineage, st.Lineage),
			"name another place, or, to use what is there, give -reconfigure")
	case there.Serial > st.Serial:
		return refuse(fmt.Sprintf("it holds a newer state, of serial %d, and the one to copy is of %d", there.Serial, st.Serial),
			"it was moved already; to use what is there, give -reconfigure")
	case there.Serial == st.Serial:
		return refuse(fmt.Sprintf("it holds another state of the same serial %d", st.Serial),
			"two runs have written at two places: decide which is right, and remove or rename the other")
	}
	return nil
}
