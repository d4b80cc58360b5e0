package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/state/statefile"
)

// hangsAt names the variable with the pipe on which a process hangs.
const hangsAt = "KUBEWRIGHT_TEST_HANGS_AT"

// hang opens a pipe without a writer, which no interrupt ends.
func hang() {
	os.Stderr.WriteString("hangs\n")
	_, _ = os.Open(os.Getenv(hangsAt))
}

// hungFS is a file system that hangs when the state is read.
type hungFS struct{ statefile.FS }

func (hungFS) ReadFile(string) ([]byte, error) {
	hang()
	return nil, errors.New("it has an end")
}

// runHung is the command in a process that hangs at one of its moments, or when it reads the
// state, and reports when an interrupt has taken effect.
func runHung() {
	env := console.System(os.Args[1:])
	if os.Getenv(momentAt) != "" {
		env = atMoment(env, hang)
	} else {
		env.Files = hungFS{statefile.OS()}
	}
	env.Heeded = func() { os.Stderr.WriteString("heeded\n") }
	os.Exit(cli.Main(env))
}

// TestSecondInterruptEndsHungProcess checks that a second interrupt of any kind ends the process, wherever it
// hangs.
func TestSecondInterruptEndsHungProcess(t *testing.T) {
	t.Parallel()
	interrupt, terminate := os.Interrupt, os.Signal(syscall.SIGTERM)
	for name, tt := range map[string]struct {
		args    []string
		at      string
		signals []os.Signal
	}{
		"plan":                 {args: []string{"plan"}, signals: []os.Signal{interrupt, interrupt}},
		"plan, terminated":     {args: []string{"plan"}, signals: []os.Signal{interrupt, terminate}},
		"show":                 {args: []string{"show"}, signals: []os.Signal{terminate, interrupt}},
		"init":                 {args: []string{"init"}, signals: []os.Signal{interrupt, interrupt}},
		"state list":           {args: []string{"state", "list"}, signals: []os.Signal{terminate, terminate}},
		"console":              {args: []string{"console"}, signals: []os.Signal{interrupt, interrupt}},
		"completion":           {args: []string{"__complete", "plan", "-target="}, signals: []os.Signal{interrupt, interrupt}},
		"apply, at the start":  {args: []string{"apply", "-auto-approve"}, signals: []os.Signal{interrupt, interrupt}},
		"apply, within a step": {args: []string{"apply", "-auto-approve", "-parallelism=1"}, at: inTheFirstStep.String(), signals: []os.Signal{interrupt, interrupt}},
		"apply, then a SIGTERM": {
			args: []string{"apply", "-auto-approve", "-parallelism=1"}, at: inTheFirstStep.String(),
			signals: []os.Signal{interrupt, terminate},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, pipe := blankFolder(t), filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := f.process("kubewright-hung", tt.args...)
			cmd.Env = append(os.Environ(), hangsAt+"="+pipe, momentAt+"="+tt.at)
			stdin, stdinErr := cmd.StdinPipe() // kept open: stdin never ends
			stderr, stderrErr := cmd.StderrPipe()
			if err := errors.Join(stdinErr, stderrErr, cmd.Start()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = cmd.Process.Kill(), stdin.Close() })
			lines := bufio.NewReader(stderr)
			hear := func(want string) {
				for {
					line, err := lines.ReadString('\n')
					if strings.TrimSpace(line) == want {
						return
					}
					if err != nil {
						t.Fatalf("%q is missing in the output: %v", want, err)
					}
				}
			}
			hear("hangs")
			for i, s := range tt.signals {
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					hear("heeded")
				}
			}
			said, _ := io.ReadAll(lines)
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(string(said), "Ended at once") {
				t.Errorf("exit code %d\n%s", code, said)
			}
			if tt.at != "" {
				f.must(t, "apply", "-auto-approve")
			}
		})
	}
}

// TestSecondInterruptEndsBlockedOutput checks that a second interrupt also ends a process whose output
// is not read.
func TestSecondInterruptEndsBlockedOutput(t *testing.T) {
	t.Parallel()
	cmd := newFolder(t, fmt.Sprintf("output \"a\" {\n  value = [for i in range(1000) : %q]\n}\n", strings.Repeat("x", 1000))).process("kubewright-process", "console")
	cmd.Stdin = strings.NewReader(strings.Repeat("[for i in range(1000) : i]\n", 1000))
	stdout, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	// The command is running, and its output exceeds the pipe's buffer.
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Process.Signal(syscall.SIGTERM)); err != nil {
		t.Fatal(err)
	}
	state, err := cmd.Process.Wait() // while the pipe is full
	if err != nil || state.ExitCode() != 130 {
		t.Errorf("%v, %v", state, err)
	}
	_ = stdout.Close()
}
