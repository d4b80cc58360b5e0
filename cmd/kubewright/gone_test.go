package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
)

// TestStateGoneMeanwhile: a state file that somebody removes while an apply runs is not
// made anew of what that run alone has done. All of it is kept aside, and good to be put
// back.
func TestStateGoneMeanwhile(t *testing.T) {
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
		t.Error("a state was made of a part of it")
	}
	if code, out := f.run("plan"); code != 1 || !strings.Contains(out, "Error: State file is missing") {
		t.Errorf("without a state: exit code %d\n%s", code, out)
	}
	if err := os.Rename(path("kubewright.errored.state.json"), path("kubewright.state.json")); err != nil {
		t.Fatal(err)
	}
	if code, out := f.run("plan", "-detailed-exitcode"); code != 0 || !strings.Contains(out, "No changes.") {
		t.Errorf("with what was kept aside: exit code %d\n%s", code, out)
	}
}
