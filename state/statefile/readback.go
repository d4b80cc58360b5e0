package statefile

import (
	"bytes"
	"context"
	"fmt"

	"github.com/kubewright/kubewright/state/backend"
)

// put writes a state to its place and reads it back. An answer of a server does not prove that it
// has stored anything: a proxy, a cache or a web page answers as well. Anything that depends on
// the stored state, such as emptying the journal, comes after put. A file of this machine is
// synced instead: reading it back would ask the same kernel.
func (s *Store) put(ctx context.Context, old *backend.Object, next backend.Object) error {
	err := s.backend.Write(ctx, old, next)
	if err != nil || s.local {
		return err
	}
	s.known = false // the previous read is outdated in any case
	back, err := s.backend.Read(ctx)
	if err != nil {
		return fmt.Errorf("the state was sent to %s, and it is not known whether it is there: %w", s.Place(), err)
	}
	if err := s.same(old, next, back); err != nil {
		return &unkeptError{err}
	}
	return nil
}

// unkeptError is the error of an accepted write that the place does not hold.
type unkeptError struct{ error }

func (e *unkeptError) Unwrap() error { return e.error }

// same fails unless the state that was read back is the written one. A server may have
// reformatted its JSON.
func (s *Store) same(old *backend.Object, next backend.Object, back *backend.Object) error {
	refuse := func(kind error, problem, remedy string) error {
		return &Error{Op: "write state to", Path: s.Place(), Kind: kind, Problem: problem, Remedy: remedy}
	}
	const mend = "the address may be that of a proxy, a cache or a page with a login: mend that"
	switch {
	case back == nil:
		return refuse(nil, "it was accepted, and nothing is there", mend)
	case bytes.Equal(back.Data, next.Data):
		return nil
	case old != nil && bytes.Equal(back.Data, old.Data):
		return refuse(nil, fmt.Sprintf("it was accepted, and the state of serial %d is still there", old.Serial), mend)
	}
	st, err := s.medium().decode(back.Data)
	if err != nil {
		return refuse(ErrDamaged, "what comes back from there is not what was written", mend)
	}
	if wanted, err := s.medium().decode(next.Data); err == nil {
		if equal, err := equal(wanted, st); err != nil || equal {
			return err
		}
	}
	if st.Lineage != next.Lineage {
		return refuse(ErrForeign, "it was accepted, and a state of lineage "+st.Lineage+" is there", "see who has written it, and whether the address is right")
	}
	return refuse(ErrMoved, fmt.Sprintf("it was accepted with serial %d, and another state of serial %d is there", next.Serial, st.Serial),
		"another run has written at the same time, or a cache answers: see who works on it, and plan again")
}
