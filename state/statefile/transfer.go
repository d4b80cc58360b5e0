package statefile

import (
	"context"
	"errors"

	"github.com/kubewright/kubewright/state"
)

// Encode returns a state as a file that nobody encrypts, with its digest.
func Encode(st *state.State) ([]byte, error) { return encode(st) }

// Decode reads a state from bytes that came from elsewhere, encrypted or not; name
// is what errors call them. Its errors are those of Read.
func Decode(p Paths, name string, b []byte) (*state.State, error) {
	st, err := p.medium().decode(b)
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Op, e.Path = "read state", name
		if e.Kind == ErrNewer {
			e.Remedy = "use that version of kubewright or a later one"
		}
	}
	return st, err
}

// Any tells whether the state, or an older one beside it, is such as it is kept.
func (s *Store) Any(ctx context.Context, such func(kept []byte) bool) (bool, error) {
	o, err := s.backend.Read(ctx)
	if err != nil || o != nil && such(o.Data) {
		return err == nil, err
	}
	if !s.local {
		return false, nil
	}
	m := s.medium()
	for _, g := range generations(m, s.State) {
		b, err := m.ReadFile(g.path)
		if err != nil {
			return false, &Error{Op: "read older state", Path: g.path, Err: bare(err)}
		}
		if such(b) {
			return true, nil
		}
	}
	return false, nil
}

// Reseal writes the older states again as the codec has it by now, and tells how many it
// wrote. One that cannot be read, as with another key than those that are here, stays as it
// is, keeps no other from it, and is among the refused. The caller holds the lock.
// Of a state that is no file here there are none: its place keeps them, if anybody.
func (s *Store) Reseal() (written int, refused []*Error, err error) {
	if !s.local {
		return 0, nil, nil
	}
	m := s.medium()
	for _, g := range generations(m, s.State) {
		b, err := m.ReadFile(g.path)
		if err == nil {
			b, err = m.reseal(b)
		}
		if e := (*Error)(nil); errors.As(err, &e) {
			e.Op, e.Path = "read older state", g.path
			refused = append(refused, e)
			continue
		}
		if err == nil {
			err = replace(m, g.path, b)
		}
		if err != nil {
			return written, refused, &Error{Op: "write older state", Path: g.path, Err: bare(err), Remedy: "make room or mend the disk, and run the same command again"}
		}
		written++
	}
	return written, refused, nil
}
