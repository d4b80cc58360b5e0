package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
)

// twoPlanes has a warning, which goes to stdout: two etcd members tolerate no more failures
// than one.
const twoPlanes = `
cluster "prod" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.example.com:6443"
}

connection { type = "sim" }

node "cp" {
  for_each = { cp1 = "10.0.0.11", cp2 = "10.0.0.12" }
  cluster  = cluster.prod
  role     = "control-plane"
  address  = each.value
}
`

// streams runs the command on streams of these widths; 0 means no terminal.
func (f folder) streams(environment map[string]string, out, err int, args ...string) (stdout, stderr string) {
	var o, e bytes.Buffer
	env, _ := f.env(args...)
	env.Stdout, env.Stderr = &o, &e
	env.Getenv = func(name string) string { return environment[name] }
	env.Size = func() (int, int) {
		if out == 0 {
			return 0, 0
		}
		return out, 24
	}
	env.ErrorWidth = func() int { return err }
	cli.Main(env)
	return o.String(), e.String()
}

// TestOutputColour checks that each stream is coloured if it is a terminal, unless the environment
// says otherwise; -no-color and NO_COLOR take precedence.
func TestOutputColour(t *testing.T) {
	t.Parallel()
	const terminal, pipe = 80, 0
	warns, wrong := newFolder(t, twoPlanes), newFolder(t, twoPlanes+"nonsense {}\n")
	type set map[string]string
	for _, tt := range []struct {
		name        string
		environment set
		noColor     bool
		out, err    int
		// colours is whether stdout and stderr are coloured.
		colours [2]bool
	}{
		{"two pipes", nil, false, pipe, pipe, [2]bool{false, false}},
		{"two terminals", nil, false, terminal, terminal, [2]bool{true, true}},
		{"errors into a file", nil, false, terminal, pipe, [2]bool{true, false}},
		{"output into a file", nil, false, pipe, terminal, [2]bool{false, true}},
		{"NO_COLOR", set{"NO_COLOR": "1"}, false, terminal, terminal, [2]bool{false, false}},
		{"NO_COLOR of any value", set{"NO_COLOR": "0"}, false, terminal, terminal, [2]bool{false, false}},
		{"NO_COLOR of no value", set{"NO_COLOR": ""}, false, terminal, terminal, [2]bool{true, true}},
		{"-no-color", nil, true, terminal, terminal, [2]bool{false, false}},
		{"CLICOLOR_FORCE", set{"CLICOLOR_FORCE": "1"}, false, pipe, pipe, [2]bool{true, true}},
		{"CLICOLOR_FORCE=0", set{"CLICOLOR_FORCE": "0"}, false, pipe, pipe, [2]bool{false, false}},
		{"CLICOLOR_FORCE=0 on a terminal", set{"CLICOLOR_FORCE": "0"}, false, terminal, terminal, [2]bool{true, true}},
		{"NO_COLOR and CLICOLOR_FORCE", set{"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, false, terminal, pipe, [2]bool{false, false}},
		{"-no-color and CLICOLOR_FORCE", set{"CLICOLOR_FORCE": "1"}, true, terminal, pipe, [2]bool{false, false}},
		{"a dumb terminal", set{"TERM": "dumb"}, false, terminal, terminal, [2]bool{false, false}},
		{"a dumb terminal and CLICOLOR_FORCE", set{"TERM": "dumb", "CLICOLOR_FORCE": "1"}, false, terminal, pipe, [2]bool{true, true}},
		{"another terminal", set{"TERM": "xterm-256color"}, false, terminal, terminal, [2]bool{true, true}},
	} {
		args := []string{"validate"}
		if tt.noColor {
			args = append(args, "-no-color")
		}
		stdout, none := warns.streams(tt.environment, tt.out, tt.err, args...)
		_, stderr := wrong.streams(tt.environment, tt.out, tt.err, args...)
		if !strings.Contains(stdout, "Warning: ") && !strings.Contains(stdout, "Warning") || !strings.Contains(stderr, "Error") || none != "" {
			t.Fatalf("%s: no warning, or no error:\n%s\n%s\n%s", tt.name, stdout, none, stderr)
		}
		if got := [2]bool{strings.Contains(stdout, "\x1b["), strings.Contains(stderr, "\x1b[")}; got != tt.colours {
			t.Errorf("%s: stdout and stderr are coloured %v, want %v\n%q\n%q", tt.name, got, tt.colours, stdout, stderr)
		}
	}
}

// TestOutputRedrawnOnlyOnTerminal checks that output is redrawn only on a terminal that can move its cursor and
// to which no log is written.
func TestOutputRedrawnOnlyOnTerminal(t *testing.T) {
	t.Parallel()
	from := changedFolder(t)
	for _, tt := range []struct {
		name        string
		environment map[string]string
		width       int
		redrawn     bool
	}{
		{"a terminal", nil, 80, true},
		{"a terminal without colours", map[string]string{"NO_COLOR": "1"}, 80, true},
		{"a dumb terminal", map[string]string{"TERM": "dumb"}, 80, false},
		{"a terminal with a log", map[string]string{"KUBEWRIGHT_LOG": "info"}, 80, false},
		{"a terminal with a log elsewhere", map[string]string{"KUBEWRIGHT_LOG": "info", "KUBEWRIGHT_LOG_PATH": "run.log"}, 80, true},
		{"a pipe", map[string]string{"CLICOLOR_FORCE": "1"}, 0, false},
	} {
		stdout, _ := from.copy(t).streams(tt.environment, tt.width, tt.width, "apply", "-auto-approve")
		if !strings.Contains(stdout, ": done after") && !strings.Contains(stdout, "done\x1b[0m after") && !strings.Contains(stdout, "done\x1b[m after") {
			t.Errorf("%s: the apply did not run:\n%s", tt.name, stdout)
		}
		if redrawn := strings.Contains(stdout, "\x1b[J") || strings.Contains(stdout, "\x1b[0J"); redrawn != tt.redrawn {
			t.Errorf("%s: redrawn: %v\n%q", tt.name, redrawn, stdout)
		}
	}
}

// TestOutputWidth checks that prose fills the width of its own stream, or 80 columns if the stream
// is not a terminal.
func TestOutputWidth(t *testing.T) {
	t.Parallel()
	warns, wrong := newFolder(t, twoPlanes), newFolder(t, strings.Replace(twoPlanes, "1.36.3", "1.99.9", 1))
	for _, tt := range []struct{ out, err, wide, errorsWide int }{
		{0, 0, 80, 80}, {60, 60, 60, 60}, {100, 100, 100, 100}, {100, 0, 100, 80}, {0, 100, 80, 100}, {60, 100, 60, 100}, {100, 60, 100, 60},
	} {
		stdout, _ := warns.streams(map[string]string{"NO_COLOR": "1"}, tt.out, tt.err, "validate")
		_, stderr := wrong.streams(map[string]string{"NO_COLOR": "1"}, tt.out, tt.err, "validate")
		fills(t, "stdout", stdout, tt.wide)
		fills(t, "stderr", stderr, tt.errorsWide)
	}
}

// fills checks that the longest line of a text has no room for one more word.
func fills(t *testing.T, what, text string, width int) {
	t.Helper()
	const longestWord = 24
	longest := 0
	for line := range strings.Lines(text) {
		longest = max(longest, len([]rune(strings.TrimSuffix(line, "\n"))))
	}
	if longest > width || longest < width-longestWord {
		t.Errorf("the longest line of %s has %d columns of %d:\n%s", what, longest, width, text)
	}
}

// fullDisk accepts a limited number of bytes.
type fullDisk struct{ room int }

func (d *fullDisk) Write(b []byte) (int, error) {
	n := min(len(b), d.room)
	d.room -= n
	if n < len(b) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// TestCommandsFailWhenOutputIsLost checks that a command whose output cannot be written fails, and reports
// that once, on stderr.
func TestCommandsFailWhenOutputIsLost(t *testing.T) {
	t.Parallel()
	f := newFolder(t, twoPlanes)
	write(t, filepath.Join(string(f), "more.hcl"), "locals {a=1}\n")
	for _, tt := range []struct {
		room    int
		command string
	}{
		{0, "-help"},
		{0, "plan -help"},
		{100, "plan -help"},
		{0, "-version"},
		{0, "version"},
		{0, "completion bash"},
		{100, "schema -json"},
		{0, "validate"},
		{0, "validate -json"},
		{0, "plan"},
		{100, "plan"},
		{0, "plan -json"},
		{100, "plan -json -detailed-exitcode"},
		{0, "plan -detailed-exitcode"},
		{1000, "apply -auto-approve"}, // a plan that could not be printed is not applied
		{len(f.must(t, "plan")) + 500, "apply -auto-approve"},
		{0, "show"},
		{0, "state list"},
		{0, "fmt -check"},
	} {
		env, _ := f.env(strings.Fields(tt.command)...)
		var stderr bytes.Buffer
		env.Stdout, env.Stderr = &fullDisk{tt.room}, &stderr
		code := cli.Main(env)
		if said := stderr.String(); code != 1 || strings.Count(said, "Output cannot be written") != 1 || strings.Count(said, "no space left on device") != 1 {
			t.Errorf("%s after %d bytes: exit code %d\n%s", tt.command, tt.room, code, stderr.String())
		}
	}
	if out := f.must(t, "plan"); !strings.Contains(out, "No changes.") {
		t.Errorf("the apply whose plan was printed in full, but not its own output, did not complete:\n%s", out)
	}
}
