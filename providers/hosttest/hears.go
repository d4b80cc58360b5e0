package hosttest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

// fakeClient is a slow client of a runtime: it prints a line, signals that it has, and
// continues on a signal. An image with broken in its name cannot be pulled.
const fakeClient = `#!/bin/sh
case $* in
*inspecti*) exit 1 ;;
*pull*) ;;
*) exit 2 ;;
esac
printf 'resolving\n\nlayer 1\rlayer \033[1m2\033[0m: \a\000half \303\n'
while ! [ -e ROOT/go-on ]; do sleep 0.02; done
case $* in
*broken*) echo 'no such image'; exit 3 ;;
esac
`

// testHears checks that the output of a running command is reported, in one line without
// terminal sequences, and is no part of the outcome. Nothing is reported after Perform.
func testHears(t *testing.T, s *subject) {
	if s.Root != "" {
		client := strings.ReplaceAll(fakeClient, "ROOT", s.Root)
		if err := errors.Join(os.MkdirAll(s.Root+"/usr/local/bin", 0o755), os.WriteFile(s.Root+"/usr/local/bin/crictl", []byte(client), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	pull := planner.LoadImage{Image: "registry.example.com/app:1", Socket: "unix:///run/runtime.sock"}
	lines, outcomes, err := s.hear(t, s.write(folder+"/before", "1"), pull, s.write(folder+"/behind", "2"))
	if err != nil || len(outcomes) != 3 || !outcomes[1].Changed || outcomes[1].Output != "" {
		t.Errorf("got %+v, %v", outcomes, err)
	}
	wantFile(t, s.look(t, folder+"/behind"), "2", "0600", s.Owner)
	if len(lines) == 0 || len(lines) > 3 || s.Root != "" && (len(lines) != 1 || lines[0] != `layer 2: \x07half \xc3`) {
		t.Errorf("heard %q", lines)
	}
	// Without a listener it does the same.
	if _, err := s.Host.Perform(t.Context(), s.batch(pull)); err != nil {
		t.Error(err)
	}
	if s.Root == "" {
		return
	}
	pull.Image = "registry.example.com/broken:1"
	lines, outcomes, err = s.hear(t, pull, s.write(folder+"/behind", "3"))
	command, ok := errors.AsType[*providers.CommandError](err)
	if !ok || command.ExitCode != 3 || !strings.Contains(strings.Join(command.Stderr, "\n"), "no such image\n") || len(outcomes) != 1 || len(lines) != 0 {
		t.Errorf("heard %q, got %+v, %v", lines, outcomes, err)
	}
}

// hear performs operations of which the second one's command waits until its output was
// reported.
func (s *subject) hear(t *testing.T, ops ...planner.Operation) ([]string, []providers.Outcome, error) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	ended := false
	b := s.batch(ops...)
	b.Hear = func(op int, line string) {
		mu.Lock()
		defer mu.Unlock()
		if _, is := ops[op].(planner.LoadImage); !is || ended {
			t.Errorf("heard %q of operation %d, ended: %v", line, op, ended)
		}
		lines = append(lines, line)
		if s.Root != "" {
			if err := os.WriteFile(filepath.Join(s.Root, "go-on"), nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	outcomes, err := s.Host.Perform(t.Context(), b)
	mu.Lock()
	defer mu.Unlock()
	ended = true
	return lines, outcomes, err
}
