package statefile_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
)

// careless is a place that accepts each write. The test decides what it keeps.
type careless struct {
	backend.Backend
	kept []byte
	// keep returns what to keep next, from the kept and the written data; nil keeps the written
	// data.
	keep func(kept, next []byte) []byte
	// fail is the error of a read after a write.
	fail  error
	wrote bool
}

func (c *careless) String() string { return "https://states/prod" }

func (c *careless) Read(context.Context) (*backend.Object, error) {
	if c.wrote && c.fail != nil {
		return nil, c.fail
	}
	if c.kept == nil {
		return nil, nil
	}
	return &backend.Object{Data: c.kept}, nil
}

func (c *careless) Write(_ context.Context, _ *backend.Object, next backend.Object) error {
	c.wrote = true
	if c.keep == nil {
		c.kept = next.Data
		return nil
	}
	c.kept = c.keep(c.kept, next.Data)
	return nil
}

// begun returns the state at a place, with a journal of one more run.
func begun(t *testing.T, c *careless) (*statefile.Store, *state.State, *statefile.Journal) {
	t.Helper()
	s := statefile.NewStore(statefile.DirPaths(t.TempDir()), c)
	st := &state.State{Lineage: "l1", Serial: 0}
	keep, fail := c.keep, c.fail
	c.keep, c.fail = nil, nil
	if err := s.Write(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	c.keep, c.wrote = keep, false
	defer func() { c.fail = fail }()
	j, err := s.OpenJournal()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	if err := j.Append(state.Entry{Kind: state.EntryRun, Run: "r1", Lineage: "l1", Serial: 1}); err != nil {
		t.Fatal(err)
	}
	loaded, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, loaded.State, j
}

// other returns a state of another run, encoded.
func other(lineage string, serial int64) []byte {
	b, err := statefile.Encode(&state.State{FormatVersion: state.FormatVersion, Lineage: lineage, Serial: serial})
	if err != nil {
		panic(err)
	}
	return b
}

// TestStateIsReadBackBeforeJournalIsEmptied checks that the journal is not emptied before the state was read back, whatever
// the place has answered, and that a lost state is reported.
func TestStateIsReadBackBeforeJournalIsEmptied(t *testing.T) {
	t.Parallel()
	down := errors.New("503 Service Unavailable")
	for name, c := range map[string]struct {
		keep func(kept, next []byte) []byte
		fail error
		kind error
		want string
	}{
		"the old one stays":   {func(kept, _ []byte) []byte { return kept }, nil, nil, "it was accepted, and the state of serial 1 is still there"},
		"nothing is there":    {func([]byte, []byte) []byte { return nil }, nil, nil, "it was accepted, and nothing is there"},
		"a page":              {func([]byte, []byte) []byte { return []byte("<html>") }, nil, statefile.ErrDamaged, "what comes back from there is not what was written"},
		"the half":            {func(_, next []byte) []byte { return next[:len(next)/2] }, nil, statefile.ErrDamaged, "what comes back from there is not what was written"},
		"another of the run":  {func([]byte, []byte) []byte { return other("l1", 2) }, nil, statefile.ErrMoved, "it was accepted with serial 2, and another state of serial 2 is there"},
		"another lineage":     {func([]byte, []byte) []byte { return other("l2", 2) }, nil, statefile.ErrForeign, "a state of lineage l2 is there"},
		"it does not answer":  {nil, down, down, "it is not known whether it is there: 503"},
		"it is kept":          {nil, nil, nil, ""},
		"it is indented more": {func(_, next []byte) []byte { return reformatted(next) }, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := &careless{keep: c.keep, fail: c.fail}
			s, st, j := begun(t, place)
			err := s.Save(t.Context(), st, j)
			entries, readErr := statefile.ReadJournal(s.Paths)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if c.want == "" {
				if err != nil || len(entries) != 0 {
					t.Errorf("%d entries, %v", len(entries), err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) || len(entries) != 1 {
				t.Errorf("%d entries are left, error = %v, want one with %q", len(entries), err, c.want)
			}
			if b, err := os.ReadFile(s.Errored); err != nil || !json.Valid(b) {
				t.Errorf("the state was not stored aside: %v", err)
			}
			// The next run of this folder continues from the journal, once the place works again.
			again := statefile.NewStore(s.Paths, &careless{kept: other("l1", 1)})
			if loaded, err := again.Load(t.Context()); err != nil || len(loaded.Recovered) != 1 {
				t.Errorf("the next run loads %+v, %v", loaded, err)
			}
		})
	}
}

func reformatted(b []byte) []byte {
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		panic(err)
	}
	b, err := json.MarshalIndent(doc, "\t", "    ")
	if err != nil {
		panic(err)
	}
	return b
}

// TestReplaceReadsStateBack checks that Replace reads the state back as well.
func TestReplaceReadsStateBack(t *testing.T) {
	t.Parallel()
	place := &careless{kept: other("l1", 4), keep: func(kept, _ []byte) []byte { return kept }}
	s := statefile.NewStore(statefile.DirPaths(t.TempDir()), place)
	if err := s.Replace(t.Context(), &state.State{Lineage: "l1", Serial: 4}); err == nil || !strings.Contains(err.Error(), "the state of serial 4 is still there; the address may be that of a proxy, a cache or a page with a login: mend that") {
		t.Errorf("error = %v", err)
	}
}
