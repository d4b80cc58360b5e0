package statefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
)

// Store is a state with its surroundings: the backend that keeps it and, on this machine, the
// journal of local runs and the lock of the folder. It encodes and decodes; the backend only sees
// bytes.
type Store struct {
	Paths
	backend backend.Backend
	local   bool
	held    *Held
	// last is the state that was last read or written, and lastState its decoded form, of which
	// callers get copies.
	last      *backend.Object
	lastState *state.State
	known     bool
}

// NewStore returns a store with a backend; nil stands for the file p.State.
func NewStore(p Paths, b backend.Backend) *Store {
	if b == nil {
		return &Store{Paths: p, backend: NewLocal(p), local: true}
	}
	return &Store{Paths: p, backend: b}
}

// Local reports whether the state is a file of this machine.
func (s *Store) Local() bool { return s.local }

// Backend returns the place that keeps the state.
func (s *Store) Backend() backend.Backend { return s.backend }

// Place returns the place of the state, for users.
func (s *Store) Place() string { return s.backend.String() }

// Load reads the state and folds this machine's journal into it. It writes nothing and needs no
// lock. Its errors are those of the backend, and ErrDamaged, ErrNewer and ErrForeign.
//
// A journal belongs to the state that its run began with. If another run has written the state
// since, the journal's content may be obsolete, and it is ignored: that run had to observe the
// hosts, which are more up to date. It is also ignored if that state is gone: the fragment in the
// journal would be taken for the whole state.
func (s *Store) Load(ctx context.Context) (Loaded, error) {
	st, _, err := s.read(ctx)
	if err != nil {
		return Loaded{}, err
	}
	return s.fold(st)
}

// Reload is Load in the middle of a run: for a state that is not a local file it uses the state
// that was last read or written, because no other run can write under the lock.
func (s *Store) Reload(ctx context.Context) (Loaded, error) {
	if s.local || !s.known {
		return s.Load(ctx)
	}
	return s.fold(s.lastState)
}

func (s *Store) fold(st *state.State) (Loaded, error) {
	if st != nil {
		own := *st
		st = &own
	}
	entries, _, err := readJournal(s.medium(), s.Journal)
	if err != nil || len(entries) == 0 {
		return Loaded{State: st}, err
	}
	if overtaken(st, entries) {
		return Loaded{State: st, Overtaken: entries}, nil
	}
	folded, err := Fold(st, entries)
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Path = s.Journal
	}
	return Loaded{State: folded, Recovered: entries}, err
}

// overtaken reports whether a run that is not among the entries wrote the state after the runs
// among them began; or whether the state is gone that they began with: without it they are a
// fragment.
func overtaken(st *state.State, entries []state.Entry) bool {
	behind := false
	for _, e := range entries[contained(st, entries):] {
		switch {
		case e.Kind != state.EntryRun:
		case st == nil:
			behind = e.Serial > 0
		case e.Lineage != st.Lineage:
			return false // Fold refuses these
		default:
			behind = e.Serial > 0 && e.Serial < st.Serial
		}
	}
	return behind
}

// read reads the state and remembers it.
func (s *Store) read(ctx context.Context) (*state.State, *backend.Object, error) {
	o, err := s.backend.Read(ctx)
	if err != nil {
		return nil, nil, err
	}
	if o == nil {
		s.last, s.lastState, s.known = nil, nil, true
		return nil, nil, nil
	}
	if s.last != nil && bytes.Equal(o.Data, s.last.Data) {
		return s.lastState, s.last, nil
	}
	st, err := s.medium().decode(o.Data)
	if err != nil {
		return nil, nil, s.refused(err)
	}
	o.Lineage, o.Serial = st.Lineage, st.Serial
	s.last, s.lastState, s.known = o, st, true
	return st, o, nil
}

// refused completes the error of a state that cannot be decoded with its place and a remedy.
func (s *Store) refused(err error) error {
	e := (*Error)(nil)
	if !errors.As(err, &e) {
		return &Error{Op: "read state", Path: s.Place(), Err: err}
	}
	e.Op, e.Path = "read state", s.Place()
	switch {
	case e.Kind == state.ErrPlain, e.Kind == state.ErrSealed: // they have their own remedy
	case s.local:
		e.Remedy = remedy(s.medium(), s.State, e.Kind)
	case e.Kind == ErrNewer:
		e.Remedy = "use that version of kubewright or a later one"
	default:
		e.Remedy = "put an older version of it back, if the place keeps them, or remove it and make a new one from what the hosts hold with\n\n  kubewright state recover"
	}
	return e
}

// Write replaces the state with st, which must be the state that was read (or, with serial 0, a
// first state) with its changes. On success st.Serial is incremented, and the place has that
// serial.
//
// Write fails with ErrMoved or ErrForeign if the place does not hold the state that was read, and
// with backend.ErrLost if this run no longer holds the lock, and leaves the place alone. After
// any error the place holds the old or the new state, whole. The caller holds the lock.
func (s *Store) Write(ctx context.Context, st *state.State) error {
	_, err := s.write(ctx, st)
	return err
}

// write also returns the bytes that it wrote or tried to write.
func (s *Store) write(ctx context.Context, st *state.State) ([]byte, error) {
	if err := check(st); err != nil {
		return nil, fmt.Errorf("internal error: cannot write state: %w", err)
	}
	next := *st
	next.FormatVersion, next.Serial = state.FormatVersion, st.Serial+1
	b, err := s.encoded(&next)
	if err != nil {
		return nil, err
	}
	if err := s.held.Confirm(ctx); errors.Is(err, backend.ErrLost) {
		return b, err
	}
	old, before := s.last, s.lastState
	if s.local || !s.known { // a local file is read again, because that costs nothing
		if before, old, err = s.read(ctx); err != nil {
			return b, err
		}
	}
	if err := sameAsRead(s.Place(), before, st); err != nil {
		return b, err
	}
	if err := s.put(ctx, old, backend.Object{Data: b, Lineage: next.Lineage, Serial: next.Serial}); err != nil {
		return b, err
	}
	st.FormatVersion, st.Serial = next.FormatVersion, next.Serial
	s.known = false
	return b, nil
}

// encoded returns a state in its stored form.
func (s *Store) encoded(st *state.State) ([]byte, error) {
	b, err := encode(st)
	if err == nil {
		b, err = s.medium().sealReadable(b)
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Op, e.Path = "write state", s.Place()
		return nil, e
	}
	if err != nil {
		return nil, &Error{Op: "write state", Path: s.Place(), Err: err}
	}
	if len(b) > backend.MaxState {
		return nil, &Error{
			Op: "write state", Path: s.Place(), Kind: backend.ErrTooLarge, Problem: fmt.Sprintf("it has %d MiB, and no more than %d MiB are read of one", len(b)>>20, backend.MaxState>>20),
			Remedy: "nothing was written: keep some of its clusters in a folder of their own, with a state of their own",
		}
	}
	return b, nil
}

// Replace replaces the existing state with st, no matter which state that is. On success
// st.Serial is above both serials. A state that cannot be read is not replaced. The caller holds
// the lock.
func (s *Store) Replace(ctx context.Context, st *state.State) error {
	if err := s.held.Confirm(ctx); errors.Is(err, backend.ErrLost) {
		return err
	}
	old, object, err := s.read(ctx)
	if err != nil {
		return err
	}
	next := *st
	if old != nil {
		next.Serial = max(st.Serial, old.Serial)
	}
	next.FormatVersion, next.Serial = state.FormatVersion, next.Serial+1
	b, err := s.encoded(&next)
	if err != nil {
		return err
	}
	if err := s.put(ctx, object, backend.Object{Data: b, Lineage: next.Lineage, Serial: next.Serial}); err != nil {
		return err
	}
	st.FormatVersion, st.Serial = next.FormatVersion, next.Serial
	s.known = false
	return nil
}

// Save writes the state, as Write does, and then empties the journal, whose entries the state
// must contain. An error loses nothing, and the next command may repeat either step. A state that
// its place did not accept is written to the file Errored, and the error says so.
func (s *Store) Save(ctx context.Context, st *state.State, j *Journal) error {
	st.Written()
	b, err := s.write(ctx, st)
	if err != nil {
		return s.aside(err, b)
	}
	recovered := len(j.entries) > 0
	if err := j.Reset(); err != nil || !recovered || s.local {
		return err
	}
	return s.forget(s.Errored) // the journal held it as well
}

// aside stores a state that could not be written. For a local state this is not tried on the same
// disk after a disk failure: the journal has the data.
func (s *Store) aside(err error, b []byte) error {
	gone := errors.Is(err, backend.ErrLost) || errors.Is(err, ErrMoved) || errors.Is(err, ErrForeign)
	if b == nil || s.local && !gone {
		return err
	}
	what := "it and the journal beside it hold what is missing: run the same command again, here, which continues from them"
	if gone {
		what = "the journal is kept as well; find out who has written meanwhile, and plan: the hosts are observed again"
	}
	if kept := replace(s.medium(), s.Errored, b); kept != nil {
		return fmt.Errorf("%w\n\nThe state could not be written to %s either (%w). The journal %s has what is missing: run the same command again, here",
			err, s.Errored, bare(kept), s.Journal)
	}
	return fmt.Errorf("%w\n\nThe state was written to %s; %s", err, s.Errored, what)
}
