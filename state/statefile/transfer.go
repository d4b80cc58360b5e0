package statefile

import (
	"context"
	"errors"

	"github.com/kubewright/kubewright/state"
)

// Encode returns a state as an unencrypted file, with its digest.
func Encode(st *state.State) ([]byte, error) { return encode(st) }

// Decode reads a state from bytes of another source, encrypted or not; name is their name in
// errors. Its errors are those of Read.
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

// Any reports whether such is true for the stored bytes of the state or, for a local file, of an
// older one next to it.
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

// Reseal rewrites the older states with the current codec, and returns how many it wrote. An
// older state that cannot be read, for example because it needs another key, stays as it is, does
// not stop the others, and is returned in refused. The caller holds the lock. For a state that is
// not a local file there are none: keeping versions is up to its place.
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
