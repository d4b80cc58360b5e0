package statefile_test

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
)

// sparse creates a file of this size that takes no space.
func sparse(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

// TestOversizedFileIsRefusedUnread checks that a file of 3 GiB is refused unread, and that the error says what to
// do.
func TestOversizedFileIsRefusedUnread(t *testing.T) {
	for name, c := range map[string]struct {
		path func(statefile.Paths) string
		want string
	}{
		"state":   {func(p statefile.Paths) string { return p.State }, "it has more than 64 MiB, the most that is read of it; there is no older state beside it"},
		"journal": {func(p statefile.Paths) string { return p.Journal }, "it has more than 64 MiB, the most that is read of it; no run writes that much: move it away and plan"},
	} {
		p := statefile.DirPaths(t.TempDir())
		sparse(t, c.path(p), 3<<30)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := statefile.Load(p)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, backend.ErrTooLarge) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want one with %q", name, err, c.want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
			t.Errorf("%s: %d MiB were allocated", name, took>>20)
		}
	}
}

// TestFullJournalBeginsNoStep checks that no step begins without space for its end, and that no unreadable
// entry is written.
func TestFullJournalBeginsNoStep(t *testing.T) {
	t.Parallel()
	p := statefile.DirPaths(t.TempDir())
	j, err := statefile.OpenJournal(p)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	long := strings.Repeat("x", 5<<20)
	entry := func(kind state.EntryKind) state.Entry {
		return state.Entry{Kind: kind, Run: "r1", Lineage: "l1", Step: long}
	}
	if err := j.Append(entry(state.EntryRun)); err != nil {
		t.Fatal(err)
	}
	begun := 0
	for err == nil && begun < 20 {
		if err = j.Append(entry(state.EntryBegin)); err == nil {
			begun++
		}
	}
	if !errors.Is(err, backend.ErrTooLarge) || !strings.Contains(err.Error(), "it has reached 64 MiB, the most that is read of it; the state is written now, which empties it: run the same command again, which continues") {
		t.Errorf("error = %v", err)
	}
	if entries, err := statefile.ReadJournal(p); err != nil || len(entries) != begun+1 {
		t.Errorf("%d of %d entries, %v", len(entries), begun+1, err)
	}
}

// TestOversizedStateIsNotWritten checks that a state that could not be read again is not written.
func TestOversizedStateIsNotWritten(t *testing.T) {
	t.Parallel()
	p := statefile.DirPaths(t.TempDir())
	st := &state.State{Lineage: strings.Repeat("l", backend.MaxState)}
	err := statefile.Write(p, st)
	if !errors.Is(err, backend.ErrTooLarge) || !strings.Contains(err.Error(), "it has 64 MiB, and no more than 64 MiB are read of one; nothing was written") {
		t.Errorf("error = %.300v", err)
	}
	if _, err := os.Stat(p.State); err == nil {
		t.Error("it was written")
	}
}
