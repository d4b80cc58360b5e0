package statefile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

var _ executor.Journal = (*statefile.Journal)(nil)

func newState() *state.State { return &state.State{Lineage: "l1", ToolVersion: "0.1.0"} }

func mustWrite(t *testing.T, path string, st *state.State) {
	t.Helper()
	if err := statefile.Write(statefile.NewPaths(path), st); err != nil {
		t.Fatal(err)
	}
}

func TestStatePaths(t *testing.T) {
	t.Parallel()
	want := statefile.Paths{State: "/c/kubewright.state.json", Journal: "/c/kubewright.journal", Lock: "/c/kubewright.state.lock", Errored: "/c/kubewright.errored.state.json", Snapshots: "/c/kubewright.snapshots"}
	if got := statefile.DirPaths("/c"); got != want {
		t.Errorf("DirPaths(/c) = %+v", got)
	}
	want = statefile.Paths{State: "kubewright.state.json", Journal: "kubewright.journal", Lock: "kubewright.state.lock", Errored: "kubewright.errored.state.json", Snapshots: "kubewright.snapshots"}
	if got := statefile.NewPaths("kubewright.state.json"); got != want {
		t.Errorf("NewPaths = %+v", got)
	}
	want = statefile.Paths{State: "/s/prod.json", Journal: "/s/prod.json.journal", Lock: "/s/prod.json.lock", Errored: "/s/prod.json.errored", Snapshots: "/s/prod.json.snapshots"}
	if got := statefile.NewPaths("/s/prod.json"); got != want || got.Backup(7) != "/s/prod.json.backup.7" {
		t.Errorf("NewPaths = %+v", got)
	}
}

func TestBackupGenerations(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kubewright.state.json")
	if st, err := statefile.Read(statefile.NewPaths(path)); st != nil || err != nil {
		t.Fatalf("a state that is not there = %v, %v", st, err)
	}
	st := newState()
	for i := range 14 {
		st.RunToken = int64(i)
		mustWrite(t, path, st)
	}
	got, err := statefile.Read(statefile.NewPaths(path))
	if err != nil || got.Serial != 14 || got.RunToken != 13 || got.FormatVersion != state.FormatVersion {
		t.Fatalf("read %+v, %v", got, err)
	}
	for serial := range int64(15) {
		old, err := statefile.Read(statefile.NewPaths(statefile.NewPaths(path).Backup(serial)))
		if err != nil || (old != nil) != (serial >= 4 && serial < 14) || old != nil && old.Serial != serial {
			t.Errorf("generation %d = %+v, %v", serial, old, err)
		}
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 11 {
		t.Errorf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		if i, err := f.Info(); err != nil || i.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v, %v", f.Name(), i.Mode(), err)
		}
	}
}

// TestWriteRefusesChangedFile checks that a file that is not the one that was read is left alone.
func TestWriteRefusesChangedFile(t *testing.T) {
	t.Parallel()
	at := func(lineage string, serial int64) *state.State {
		st := newState()
		st.Lineage, st.Serial = lineage, serial
		return st
	}
	for name, c := range map[string]struct {
		st   *state.State
		kind error
		want string
	}{
		"older":   {at("l1", 1), statefile.ErrMoved, "it had serial 1 when it was read, and has 2 now"},
		"newer":   {at("l1", 3), statefile.ErrMoved, "it had serial 3"},
		"foreign": {at("l2", 2), statefile.ErrForeign, "it is of lineage l1, the state to write of l2"},
		"first":   {at("l2", 0), statefile.ErrForeign, "there was no state when this run began"},
	} {
		path := filepath.Join(t.TempDir(), "s.json")
		first := newState()
		mustWrite(t, path, first)
		mustWrite(t, path, first)
		before, _ := os.ReadFile(path)
		err := statefile.Write(statefile.NewPaths(path), c.st)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want one with %q", name, err, c.want)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s: the file was changed", name)
		}
	}
	if err := statefile.Write(statefile.NewPaths(filepath.Join(t.TempDir(), "s.json")), at("l1", 4)); !errors.Is(err, statefile.ErrMoved) || !strings.Contains(err.Error(), "is gone now") {
		t.Errorf("gone: error = %v", err)
	}
	if err := statefile.Write(statefile.NewPaths(filepath.Join(t.TempDir(), "s.json")), &state.State{}); err == nil || !strings.Contains(err.Error(), "internal error") {
		t.Errorf("without lineage: error = %v", err)
	}
}

// TestEditedStateErrorRestoresState checks that the command in the error restores a readable state.
func TestEditedStateErrorRestoresState(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.json")
	st := newState()
	for range 3 {
		mustWrite(t, path, st)
	}
	b, _ := os.ReadFile(path)
	edit := func(name string) {
		if err := os.WriteFile(name, bytes.Replace(b, []byte(`"l1"`), []byte(`"l9"`), 1), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edit(path)
	edit(statefile.NewPaths(path).Backup(2))
	_, err := statefile.Read(statefile.NewPaths(path))
	if !errors.Is(err, statefile.ErrDamaged) {
		t.Fatalf("error = %v", err)
	}
	for _, want := range []string{"cannot read state " + path, "changed by hand", fmt.Sprintf("the newest older state that is whole is of serial 1: put it back with\n\n  cp %s.backup.1 %s\n", path, path)} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want one with %q", err, want)
		}
	}
	if err := statefile.Write(statefile.NewPaths(path), st); !errors.Is(err, statefile.ErrDamaged) {
		t.Errorf("Write over it: error = %v", err)
	}
	edit(statefile.NewPaths(path).Backup(1))
	if _, err := statefile.Read(statefile.NewPaths(path)); err == nil || !strings.Contains(err.Error(), "no older state beside it: move it away") {
		t.Errorf("without a whole generation: error = %v", err)
	}
}

func TestStateMustBeARegularFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	mustWrite(t, real, newState())
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for name, is := range map[string]string{dir: "a directory", os.DevNull: "a device", link: "a symbolic link"} {
		want := "cannot read state " + name + ": it is " + is + ", not a regular file; name the file itself with -state, or one that is not there yet"
		if st, err := statefile.Read(statefile.NewPaths(name)); st != nil || err == nil || err.Error() != want {
			t.Errorf("Read = %v, %v, want %s", st, err, want)
		}
		if err := statefile.Write(statefile.NewPaths(name), newState()); err == nil || err.Error() != want {
			t.Errorf("Write: error = %v, want %s", err, want)
		}
	}
}

// TestRunIsRecorded follows a run from its journal into the state, and a killed run into the next
// command.
func TestRunIsRecorded(t *testing.T) {
	t.Parallel()
	p := statefile.DirPaths(t.TempDir())
	plan := &planner.Plan{Lineage: "l1", Steps: []planner.Step{{
		ID: state.Address{Target: state.NodeTarget("a"), Phase: "certs"}, Phase: "certs", Action: planner.Create,
		Operations: planner.Operations{planner.WriteFile{Path: "/x"}},
	}}}
	j, err := statefile.OpenJournal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Reserve(10); err != nil {
		t.Fatal(err)
	}
	if _, err := executor.Execute(t.Context(), plan, &failingRunner{}, j, executor.Options{ID: "r1", Token: 8}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil { // as if killed here: nothing was saved
		t.Fatal(err)
	}

	loaded, err := statefile.Load(p)
	if err != nil || len(loaded.Recovered) != 3 || loaded.State.RunToken != 8 || loaded.State.Applies[0].Failed != 1 || len(loaded.State.Items) != 1 {
		t.Fatalf("loaded %+v, %v", loaded, err)
	}
	if j, err = statefile.OpenJournal(p); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(statefile.Save(p, loaded.State, j), j.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := statefile.Load(p)
	if err != nil || len(again.Recovered) != 0 || again.State.Serial != 1 || len(again.State.Items) != 1 {
		t.Errorf("loaded again %+v, %v", again, err)
	}
}

// failingRunner begins a step, learns an item, and fails.
type failingRunner struct{}

func (failingRunner) RunStep(_ context.Context, s *planner.Step, _ executor.Run, report func(executor.OpEvent) error) (executor.Result, error) {
	if err := report(executor.OpEvent{Kind: executor.OpBegin}); err != nil {
		return executor.Result{}, err
	}
	item := state.Item{Address: s.ID, Kind: state.KindFile, Attributes: state.Map(nil)}
	item.Address.Item = "file:/x"
	return executor.Result{Learned: state.Learned{Items: []state.Item{item}}}, errors.New("timed out")
}

// TestLoadRefusesForeignJournal checks that the error names the journal, not the state.
func TestLoadRefusesForeignJournal(t *testing.T) {
	t.Parallel()
	p := statefile.DirPaths(t.TempDir())
	mustWrite(t, p.State, newState())
	j, err := statefile.OpenJournal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Append(state.Entry{Kind: state.EntryRun, Run: "r1", Lineage: "l2"}), j.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := statefile.Load(p); !errors.Is(err, statefile.ErrForeign) || !strings.Contains(err.Error(), p.Journal) {
		t.Errorf("error = %v", err)
	}
}

// TestLoadIgnoresJournalWithoutInitialState checks that the journal of a run whose initial state is gone is
// ignored, and that the journal of a first run is complete.
func TestLoadIgnoresJournalWithoutInitialState(t *testing.T) {
	t.Parallel()
	run := func(serial int64) state.Entry {
		return state.Entry{Kind: state.EntryRun, Run: fmt.Sprintf("r%d", serial), Lineage: "l1", Serial: serial}
	}
	for name, c := range map[string]struct {
		runs     []state.Entry
		fragment bool
	}{
		"a first run":                           {[]state.Entry{run(0)}, false},
		"one after it":                          {[]state.Entry{run(1)}, true},
		"both, the journal not emptied between": {[]state.Entry{run(0), run(1)}, true},
	} {
		p := statefile.DirPaths(t.TempDir())
		j, err := statefile.OpenJournal(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range c.runs {
			err = errors.Join(err, j.Append(e))
		}
		if err := errors.Join(err, j.Close()); err != nil {
			t.Fatal(err)
		}
		loaded, err := statefile.Load(p)
		if err != nil || (loaded.State == nil) != c.fragment || (len(loaded.Overtaken) == len(c.runs)) != c.fragment || (len(loaded.Recovered) == 0) != c.fragment {
			t.Errorf("%s: loaded %+v, %v", name, loaded, err)
		}
	}
}
