package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/state/statefile"
)

// TestApplyKeepsStateRemovedDuringRun checks that a state file that is removed during an apply is not
// rebuilt from the changes of that run alone. The run keeps its complete state aside, and
// plan accepts that file as the state again.
func TestApplyKeepsStateRemovedDuringRun(t *testing.T) {
	t.Parallel()
	f := changedFolder(t).copy(t)
	path := func(name string) string { return filepath.Join(string(f), name) }
	env, printed := f.env(arguments("apply", "-parallelism=1")...)
	begun := false
	passing(env, false, &moments{pass: func(what string) bool {
		first := !begun && strings.Contains(what, "after effect")
		begun = begun || first
		return first
	}, then: func() {
		if err := os.Remove(path("kubewright.state.json")); err != nil {
			t.Error(err)
		}
	}})
	code := cli.Main(env)
	out := strings.Join(strings.Fields(printed()), " ")
	if code != 1 || !strings.Contains(out, "it had serial 1 when it was read, and is gone now; nothing was written") || !strings.Contains(out, "The state was written to") {
		t.Errorf("exit code %d\n%s", code, printed())
	}
	if f.has("kubewright.state.json") {
		t.Error("a partial state was written")
	}
	if code, out := f.run("plan"); code != 1 || !strings.Contains(out, "Error: State file is missing") {
		t.Errorf("without a state: exit code %d\n%s", code, out)
	}
	if err := os.Rename(path("kubewright.errored.state.json"), path("kubewright.state.json")); err != nil {
		t.Fatal(err)
	}
	if code, out := f.run("plan", "-detailed-exitcode"); code != 0 || !strings.Contains(out, "No changes.") {
		t.Errorf("with the state that was kept aside: exit code %d\n%s", code, out)
	}
}

// TestApplyStartsNothingWithoutJournal checks that a first apply that cannot write to its journal starts no
// step and reports the error, and that the same command then bootstraps the cluster.
func TestApplyStartsNothingWithoutJournal(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]fullFile{
		"the write": {unwritten: 1},
		"the sync":  {unsynced: 2}, // the first sync is that of opening the journal
	} {
		f := newFolder(t, crashConfig)
		env, printed := f.env(arguments("apply")...)
		env.Files = fullFS{statefile.OS(), &broken}
		code := cli.Main(env)
		out := strings.Join(strings.Fields(printed()), " ")
		if code != 1 || !strings.Contains(out, "Cannot write the journal: cannot append to journal") || !strings.Contains(out, "no space left on device; make room, mend the disk or the folder's permissions, and run the same command again") {
			t.Errorf("%s: exit code %d\n%s", name, code, printed())
		}
		if name == "the write" && f.has("kubewright.state.json") {
			t.Errorf("%s: a state was written although no step ran", name)
		}
		if code, out := f.run(arguments("apply")...); code != 0 || !strings.Contains(out, "Apply complete!") {
			t.Errorf("%s: the same command again: exit code %d\n%s", name, code, out)
		}
	}
}

// fullFS is a disk without room for the journal.
type fullFS struct {
	statefile.FS
	journal *fullFile
}

func (f fullFS) Open(name string) (statefile.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || filepath.Base(name) != "kubewright.journal" {
		return file, err
	}
	f.journal.File = file
	return f.journal, nil
}

// fullFile fails the nth write or the nth sync; 0 fails none.
type fullFile struct {
	statefile.File
	unwritten, unsynced int
}

func (f *fullFile) WriteAt(b []byte, off int64) (int, error) {
	if f.unwritten--; f.unwritten == 0 {
		return 0, syscall.ENOSPC
	}
	return f.File.WriteAt(b, off)
}

func (f *fullFile) Sync() error {
	if f.unsynced--; f.unsynced == 0 {
		return syscall.ENOSPC
	}
	return f.File.Sync()
}
