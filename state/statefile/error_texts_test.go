package statefile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
)

// says fails unless the error has exactly this text.
func says(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestFullDiskErrorNamesRemedy checks that the error of a full disk says what was written, what was not, and
// what to do, at whichever call it occurs.
func TestFullDiskErrorNamesRemedy(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{
		"create " + memPath + ".backup.3.tmp": "cannot keep the older state of " + memPath + ": create: no space left on device; " +
			"nothing was written: make room or mend the disk, and run the same command again",
		"create " + memPath + ".tmp": "cannot write state " + memPath + ": create: no space left on device; " +
			"what a run has done is in the journal beside it: make room or mend the disk, and run the same command again",
	} {
		m, st := written(t, 3)
		if err := Write(on(m), st); err != nil {
			t.Fatal(err)
		}
		at := slices.Index(m.log, call) + 1
		if at == 0 {
			t.Fatalf("%s is not among %q", call, m.log)
		}
		m, st = written(t, 3)
		m.failAt, m.failWith = at, syscall.ENOSPC
		says(t, Write(on(m), st), want)
	}

	m := newMemFS()
	j, err := OpenJournal(on(m))
	if err != nil {
		t.Fatal(err)
	}
	m.failAt, m.failWith = m.calls+1, syscall.ENOSPC
	if err := j.Reserve(10); err == nil || !strings.HasPrefix(err.Error(), "cannot reserve space for journal /c/kubewright.journal: allocate: no space left on device") {
		t.Errorf("got %v", err)
	}

	m, _ = written(t, 3)
	m.failAt, m.failWith = m.calls+1, syscall.ENOSPC
	_, _, err = NewStore(on(m), nil).Reseal()
	says(t, err, "cannot write older state "+memPath+".backup.1: create: no space left on device; make room or mend the disk, and run the same command again")
}

// TestForeignStateErrorNamesRemedy checks that the refusal to overwrite a state says why, and where the state
// could go instead.
func TestForeignStateErrorNamesRemedy(t *testing.T) {
	t.Parallel()
	at := func(lineage string, serial int64) *state.State {
		st := sample()
		st.Lineage, st.Serial = lineage, serial
		return st
	}
	m, _ := written(t, 3)
	says(t, Write(on(m), at("l2", 3)), "cannot write state "+memPath+": it is of lineage l1, the state to write of l2; nothing was written: name another file with -state, or move this one away")
	says(t, Write(on(m), at("l2", 0)), "cannot write state "+memPath+": there was no state when this run began, and now there is one of lineage l1; nothing was written: plan again, which reads it again")
	says(t, Write(on(m), at("l1", 2)), "cannot write state "+memPath+": it had serial 2 when it was read, and has 3 now; nothing was written: plan again, which reads it again")

	for want, there := range map[string]*state.State{
		"it holds a state of lineage l2, and the one to copy is of l1; nothing was copied: name another place, or, to use what is there, give -reconfigure":           at("l2", 3),
		"it holds a newer state, of serial 4, and the one to copy is of 3; nothing was copied: it was moved already; to use what is there, give -reconfigure":         at("l1", 4),
		"it holds another state of the same serial 3; nothing was copied: two runs have written at two places: decide which is right, and remove or rename the other": at("l1", 3),
	} {
		says(t, occupied("s3://b/k", at("l1", 3), there), "cannot copy state to s3://b/k: "+want)
	}

	_, err := Fold(at("l1", 3), []state.Entry{{N: 1, Kind: state.EntryRun, Run: "r1", Lineage: "l2"}})
	says(t, err, "cannot fold journal of run r1: it is of lineage l2, the state of l1; put back the state that it belongs to, or move the journal away and plan: the hosts are observed again")
}

// place is a backend that refuses writes, or returns a fixed object.
type place struct {
	backend.Backend
	err   error
	there *backend.Object
}

func (p *place) String() string                                { return "s3://b/k" }
func (p *place) Read(context.Context) (*backend.Object, error) { return p.there, nil }
func (p *place) Write(context.Context, *backend.Object, backend.Object) error {
	return p.err
}

// TestRefusedStateIsStoredBesideJournal checks that a state that its place refused is stored beside the
// journal, and that the error says how to continue.
func TestRefusedStateIsStoredBesideJournal(t *testing.T) {
	t.Parallel()
	down := errors.New("cannot write state s3://b/k: 503")
	lost := backend.Lost("s3://b/k", nil)
	for want, c := range map[string]struct {
		err  error
		full bool
	}{
		down.Error() + "\n\nThe state was written to /c/kubewright.errored.state.json; it and the journal beside it hold what is missing: run the same command again, here, which continues from them": {err: down},
		lost.Error() + "\n\nThe state was written to /c/kubewright.errored.state.json; the journal is kept as well; find out who has written meanwhile, and plan: the hosts are observed again":        {err: lost},
		down.Error() + "\n\nThe state could not be written to /c/kubewright.errored.state.json either (create: no space left on device). The journal /c/kubewright.journal has what is missing: run the same command again, here": {
			err: down, full: true,
		},
	} {
		m := newMemFS()
		if c.full {
			m.failAt, m.failWith = 1, syscall.ENOSPC
		}
		says(t, NewStore(on(m), &place{err: c.err}).aside(c.err, []byte("{}")), want)
	}

	m, _ := written(t, 1)
	_, err := NewStore(on(m), nil).CopyTo(t.Context(), NewStore(on(newMemFS()), &place{}))
	says(t, err, "cannot copy state to s3://b/k: what comes back from there is not what was written; the state is at "+memPath+" as before: mend that place, and try again")
}

// TestBlockingFileErrorNamesRemedy checks that the error for a file that cannot be removed, moved or opened
// names it, with a remedy.
func TestBlockingFileErrorNamesRemedy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := DirPaths(dir)
	full := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := NewStore(p, &place{})
	full(p.Errored)
	says(t, s.forget(p.Errored), "cannot remove "+p.Errored+": remove: directory not empty; remove it by hand: everything in it was written")

	if err := os.WriteFile(p.Journal, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	full(p.Journal + ".overtaken.unknown")
	_, err := s.SetAside(nil)
	if err == nil || !strings.HasPrefix(err.Error(), "cannot set aside "+p.Journal+": ") || !strings.HasSuffix(err.Error(), "; mend the folder's permissions, and run the same command again") {
		t.Errorf("got %v", err)
	}

	held, err := Acquire(t.Context(), p.Lock, LockInfo{ID: "r1"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	full(p.Lock + ".tmp")
	says(t, NewLocal(p).ForceUnlock(t.Context(), "r1"), "cannot end the lock with "+p.Lock+": remove: directory not empty; nothing was ended: mend the folder's permissions, or end the process")
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}

	folder := DirPaths(t.TempDir())
	full(folder.Lock)
	_, err = NewLocal(folder).Holder(t.Context())
	const what = ": it is a directory, not a regular file; kubewright makes this file itself: find out where that comes from, and remove it"
	says(t, err, "cannot read the lock "+folder.Lock+what)
	_, err = Acquire(t.Context(), folder.Lock, LockInfo{ID: "r1"}, 0)
	says(t, err, "cannot lock state with "+folder.Lock+what)

	says(t, &Error{Op: "read state", Path: "x", Err: bare(&fs.PathError{Op: "open", Err: fs.ErrPermission})},
		"cannot read state x: open: permission denied; run kubewright as a user who may do that, or let this one with chown or chmod")
}
