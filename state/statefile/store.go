package statefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
)

// Store is a state with what belongs to it: the backend that keeps it, and on
// this machine the journal of runs that were made here and the lock of the
// folder. It encodes and decodes; what it hands to the backend are bytes.
type Store struct {
	Paths
	backend backend.Backend
	local   bool
	held    *Held
	// last is the state as it was read or written last, and lastState what it says,
	// which is handed out as copies.
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

// Place returns where the state is, for people.
func (s *Store) Place() string { return s.backend.String() }

// Load reads the state and folds this machine's journal into it. It writes
// nothing and needs no lock. Its errors are those of the backend, and ErrDamaged,
// ErrNewer and ErrForeign.
//
// A journal is of the state that its run began with. When somebody else has
// written the state since, what the journal learnt may have been undone, and it
// is left out: who wrote since had to look at the hosts, which know more. So it is
// when that state is gone: what is left of it would be taken for all there is.
func (s *Store) Load(ctx context.Context) (Loaded, error) {
	st, _, err := s.read(ctx)
	if err != nil {
		return Loaded{}, err
	}
	return s.fold(st)
}

// Reload is Load in the middle of a run: of a state that is not a file here, what
// was read or written last is taken, for nobody else can write under the lock.
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

// overtaken reports whether the state was written, by a run that is not among the
// entries, after the runs that are had begun with it; or that there is none, and
// they had begun with one: without it they are a fragment.
func overtaken(st *state.State, entries []state.Entry) bool {
	behind := false
	for _, e := range entries[contained(st, entries):] {
		switch {
		case e.Kind != state.EntryRun:
		case st == nil:
			behind = e.Serial > 0
		case e.Lineage != st.Lineage:
			return false // which Fold refuses
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

// refused says of a state that cannot be decoded where it is and what to do.
func (s *Store) refused(err error) error {
	e := (*Error)(nil)
	if !errors.As(err, &e) {
		return &Error{Op: "read state", Path: s.Place(), Err: err}
	}
	e.Op, e.Path = "read state", s.Place()
	switch {
	case e.Kind == state.ErrPlain, e.Kind == state.ErrSealed: // those know their own
	case s.local:
		e.Remedy = remedy(s.medium(), s.State, e.Kind)
	case e.Kind == ErrNewer:
		e.Remedy = "use that version of kubewright or a later one"
	default:
		e.Remedy = "put an older version of it back, if the place keeps them, or remove it and make a new one from what the hosts hold with\n\n  kubewright state recover"
	}
	return e
}

// Write replaces the state by st, which must be the one that was read (or, with
// serial 0, be written for the first time) with its changes. On success
// st.Serial has grown by one and the place has that serial.
//
// It fails with ErrMoved or ErrForeign when the place has not what was read, and
// with backend.ErrLost when the lock is not this run's any more, and leaves it
// alone. After any error the place holds the old state or the new one, whole.
// The caller holds the lock.
func (s *Store) Write(ctx context.Context, st *state.State) error {
	_, err := s.write(ctx, st)
	return err
}

// write also returns what it wrote, or was to write.
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
	if s.local || !s.known { // in one's own file a run looks again, for it costs nothing
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

// encoded returns a state as it is kept.
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

// Replace puts a state into the place of the one that is there, whichever that is.
// On success st.Serial is above both. One that cannot be read is not replaced. The
// caller holds the lock.
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

// Save writes the state, as Write does, and then empties the journal, whose
// entries it must contain. Either may be asked again by the next command: an
// error loses nothing. A state that its place did not take is written to the
// file Errored, and the error says so.
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

// aside keeps a state that could not be written. What a full disk refuses is not
// tried on it once more: the journal is there.
func (s *Store) aside(err error, b []byte) error {
	gone := errors.Is(err, backend.ErrLost) || errors.Is(err, ErrMoved) || errors.Is(err, ErrForeign)
	if b == nil || s.local && !gone {
		return err
	}
	what := "it and the journal beside it hold what is missing: run the same command again, here, which goes on from them"
	if gone {
		what = "the journal is kept as well; find out who has written meanwhile, and plan: the hosts are observed again"
	}
	if kept := replace(s.medium(), s.Errored, b); kept != nil {
		return fmt.Errorf("%w\n\nThe state could not be written to %s either (%w). The journal %s has what is missing: run the same command again, here",
			err, s.Errored, bare(kept), s.Journal)
	}
	return fmt.Errorf("%w\n\nThe state was written to %s; %s", err, s.Errored, what)
}
