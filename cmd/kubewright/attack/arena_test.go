package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// These are a run's limits unless an attack sets others: generous, for a machine that is busy
// with other tests.
const (
	usualBound  = 3 * time.Minute
	usualMemory = 400 << 20 // bytes
	// memoryRoom is the multiple of its limit that a run can allocate before the system refuses
	// more: an attack that succeeds must not exhaust the machine.
	memoryRoom = 4
)

// arena is an operator's folder and home for one attack.
type arena struct {
	*testing.T
	// dir is the working folder; home and outside are next to it.
	dir, home, outside string
	// env are additional environment variables, as NAME=VALUE.
	env []string
	// bound is the time limit of a run, memory its limit in bytes.
	bound  time.Duration
	memory int64
	// caught collects the failures that a control expects; nil for an attack.
	caught *[]string
}

// Errorf fails the attack, or records a failure that a control expects.
func (a *arena) Errorf(format string, args ...any) {
	a.Helper()
	if a.caught != nil {
		*a.caught = append(*a.caught, fmt.Sprintf(format, args...))
		return
	}
	a.T.Errorf(format, args...)
}

// Error fails the attack, or records a failure that a control expects.
func (a *arena) Error(args ...any) {
	a.Helper()
	a.Errorf("%s", fmt.Sprint(args...))
}

// Fatal fails the attack at once, or records a failure that a control expects.
func (a *arena) Fatal(args ...any) {
	a.Helper()
	a.Fatalf("%s", fmt.Sprint(args...))
}

// Fatalf fails the attack at once, or records a failure that a control expects.
func (a *arena) Fatalf(format string, args ...any) {
	a.Helper()
	if a.caught == nil {
		a.T.Fatalf(format, args...)
	}
	a.Errorf(format, args...)
	runtime.Goexit()
}

func newArena(t *testing.T) *arena {
	t.Helper()
	root := t.TempDir()
	a := &arena{
		T: t, dir: filepath.Join(root, "work"), home: filepath.Join(root, "home"), outside: filepath.Join(root, "outside"),
		bound: usualBound, memory: usualMemory,
	}
	for _, dir := range []string{a.dir, a.home, a.outside} {
		a.must(os.MkdirAll(dir, 0o700))
	}
	return a
}

func (a *arena) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

// path returns the path of a file in the working folder.
func (a *arena) path(name string) string { return filepath.Join(a.dir, name) }

// write writes a file in the working folder.
func (a *arena) write(name, text string) {
	a.Helper()
	a.must(os.WriteFile(a.path(name), []byte(text), 0o600))
}

// read returns the content of a file in the working folder.
func (a *arena) read(name string) string {
	a.Helper()
	b, err := os.ReadFile(a.path(name))
	a.must(err)
	return string(b)
}

// victim creates a file outside the working folder that must not change.
func (a *arena) victim(name string) string {
	a.Helper()
	const text = "what the operator needs\n"
	path := filepath.Join(a.outside, name)
	a.must(os.WriteFile(path, []byte(text), 0o600))
	a.Cleanup(func() {
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			a.Errorf("%s is %q now: %v", name, b, err)
		}
	})
	return path
}

// marker returns the path of a file that an attacker's command would create.
func (a *arena) marker() string {
	path := filepath.Join(a.outside, "marker")
	a.Cleanup(func() {
		if _, err := os.Lstat(path); err == nil {
			a.Error("an attacker's command has run on the operator's machine")
		}
	})
	return path
}

// outcome is the result of a run.
type outcome struct {
	code           int
	stdout, stderr string
	// ended is false if the run exceeded its time and was killed.
	ended bool
}

// text returns the whole output with its lines joined.
func (o outcome) text() string { return strings.Join(strings.Fields(o.stdout+" "+o.stderr), " ") }

// raw matches bytes that move a terminal's cursor, colour it, or reverse its text.
var raw = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

// crashed matches the output of a Go program that has crashed.
var crashed = regexp.MustCompile(`(?m)^(panic:|fatal error:|goroutine \d+|runtime: )|internal error|DATA RACE`)

// kubewright runs the command, and fails the test if the command does not end in time, uses too
// much memory, panics, or prints raw bytes.
func (a *arena) kubewright(args ...string) outcome {
	a.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), a.bound)
	defer cancel()
	cmd, stdout, stderr := a.command(ctx, args)
	err := cmd.Run()
	o := outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), ctx.Err() == nil}
	var exit *exec.ExitError
	switch {
	case !o.ended:
		a.Errorf("%v has not ended after %v", args, a.bound)
	case err != nil && !errors.As(err, &exit):
		a.Fatal(err)
	case o.code < 0 || o.code > 3:
		a.Errorf("%v ended by %v\n%s", args, err, clip(o.stderr))
	}
	if m := crashed.FindString(o.stdout + "\n" + o.stderr); m != "" {
		a.Errorf("%v: %q in the output\n%s", args, m, clip(o.stderr))
	}
	if m := raw.FindString(o.stdout + o.stderr); m != "" {
		a.Errorf("%v: %q in the output", args, m)
	}
	if o.ended && o.code >= 0 {
		a.measure(cmd)
	}
	return o
}

// command returns kubewright as a separate process with its own environment.
func (a *arena) command(ctx context.Context, args []string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	a.Helper()
	self, err := os.Executable()
	a.must(err)
	cmd = exec.CommandContext(ctx, self, args...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Dir = a.dir
	cmd.Env = append([]string{
		peakVariable + "=" + filepath.Join(a.T.TempDir(), "peak"),
		commandVariable + "=" + fmt.Sprint(memoryRoom*a.memory), "PATH=" + os.Getenv("PATH"), "HOME=" + a.home, "TMPDIR=" + a.outside,
		"GORACE=atexit_sleep_ms=0", "KUBEWRIGHT_INPUT=0",
	}, a.env...)
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// measure checks the memory of a run that has ended by itself.
func (a *arena) measure(cmd *exec.Cmd) {
	a.Helper()
	text, err := os.ReadFile(peakOf(cmd))
	if err != nil {
		a.Errorf("the memory of %v was not measured: %v", cmd.Args[1:], err)
		return
	}
	used, err := strconv.ParseInt(string(text), 10, 64)
	a.must(err)
	most := a.memory
	if watched {
		most *= 4
	}
	if used > most {
		a.Errorf("%d MiB of memory, more than %d", used>>20, most>>20)
	}
}

// peakOf returns the file to which a command writes its peak memory.
func peakOf(cmd *exec.Cmd) string {
	for _, v := range cmd.Env {
		if file, ok := strings.CutPrefix(v, peakVariable+"="); ok {
			return file
		}
	}
	return ""
}

func clip(s string) string { return s[:min(len(s), 2000)] }

// refused checks that a run has ended with an error that contains these texts.
func (a *arena) refused(o outcome, texts ...string) {
	a.Helper()
	if o.code != 1 || !strings.Contains(o.stderr, "Error: ") {
		a.Errorf("exit code %d, and not an error\n%s%s", o.code, clip(o.stdout), clip(o.stderr))
	}
	for _, text := range texts {
		if !strings.Contains(o.text(), text) {
			a.Errorf("%q is missing\n%s%s", text, clip(o.stdout), clip(o.stderr))
		}
	}
}

// founded is a folder with the quickstart's simulated cluster, applied.
var founded = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kubewright-attack-")
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "quickstart", "main.hcl"))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.hcl"), text, 0o600); err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(self, "apply", "-auto-approve", "-no-color")
	cmd.Dir, cmd.Env = dir, []string{commandVariable + "=0", "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GORACE=atexit_sleep_ms=0"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return dir, nil
})

// These are files of a working folder.
const (
	stateFile   = "kubewright.state.json"
	journalFile = "kubewright.journal"
	lockFile    = "kubewright.state.lock"
	simFile     = "kubewright.sim.json"
)

// quickstart copies the applied quickstart into the working folder.
func (a *arena) quickstart() {
	a.Helper()
	dir, err := founded()
	a.must(err)
	for _, name := range []string{"main.hcl", stateFile, simFile} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		a.must(err)
		a.write(name, string(b))
	}
}
