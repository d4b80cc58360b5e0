package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

// runSignal is the command in a process that sends itself real signals at one of its moments,
// and continues when the command has acknowledged them.
func runSignal() {
	env := console.System(os.Args[1:])
	env.AbortGrace = time.Hour // the command ends by itself, even on a busy machine
	heard := &spoken{Writer: os.Stdout}
	heard.changed = sync.NewCond(&heard.mu)
	env.Stdout = heard
	os.Exit(cli.Main(atMoment(env, func() {
		for i, name := range strings.Fields(os.Getenv(signals)) {
			signal := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}[name]
			if err := kill(signal); err != nil {
				panic(err)
			}
			heard.wait([]string{"Interrupted. ", "Interrupted again. "}[i])
		}
	})))
}

// spoken is a stream that lets a test wait for a text.
type spoken struct {
	io.Writer
	mu      sync.Mutex
	changed *sync.Cond
	text    bytes.Buffer
}

func (s *spoken) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(b)
	s.changed.Broadcast()
	return s.Writer.Write(b)
}

func (s *spoken) wait(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !bytes.Contains(s.text.Bytes(), []byte(text)) {
		s.changed.Wait()
	}
}

// TestApplyStopsOnSignals sends SIGINT and SIGTERM to the command while it works: the first lets the
// running step finish and starts no other, the second interrupts that step. The state is
// accurate, and the same command continues.
func TestApplyStopsOnSignals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, signals string
		// finishes means that the step that was running at the signal completes.
		finishes bool
	}{
		{"one interrupt", "INT", true},
		{"a termination", "TERM", true},
		{"a terminal that is gone", "HUP", true},
		{"two interrupts", "INT INT", false},
		{"a termination, then an interrupt", "TERM INT", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.signals == "HUP" && signal.Ignored(syscall.SIGHUP) {
				t.Skip("SIGHUP is ignored, as under nohup, and child processes inherit that")
			}
			f := blankFolder(t)
			cmd := f.process("kubewright-signal", "apply", "-auto-approve", "-parallelism=1")
			cmd.Env = append(os.Environ(), momentAt+"="+inTheFirstStep.String(), signals+"="+tt.signals)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			f.wantStopped(t, tt.finishes, string(out))
			if code, out := f.run("apply", "-auto-approve"); code != 0 {
				t.Fatalf("the same command again: exit code %d\n%s", code, out)
			}
			f.must(t, "plan", "-detailed-exitcode")
		})
	}
}

// runUnread is the command in a process that reports one of its moments on stderr, and
// continues when it reads a line.
func runUnread() {
	os.Exit(cli.Main(atMoment(console.System(os.Args[1:]), func() {
		os.Stderr.WriteString("now\n")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	})))
}

// TestApplyContinuesWithoutReader checks that an apply whose output is no longer read continues: the running step
// is not interrupted.
func TestApplyContinuesWithoutReader(t *testing.T) {
	t.Parallel()
	f := blankFolder(t)
	cmd := f.process("kubewright-unread", "apply", "-auto-approve", "-parallelism=1")
	cmd.Env = append(os.Environ(), momentAt+"="+inTheFirstStep.String())
	stdin, inErr := cmd.StdinPipe()
	stdout, outErr := cmd.StdoutPipe()
	stderr, errErr := cmd.StderrPipe()
	if err := errors.Join(inErr, outErr, errErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	if line, err := lines.ReadString('\n'); err != nil || line != "now\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	stdout.Close()
	_, writeErr := io.WriteString(stdin, "\n")
	said, readErr := io.ReadAll(lines)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || errors.Join(writeErr, readErr) != nil {
		t.Errorf("exit code %d, or the process could not be followed: %v\n%s", code, errors.Join(writeErr, readErr), said)
	}
	f.must(t, "plan", "-detailed-exitcode")
}

// inTheFirstStep is in the middle of the first step that changes a host.
var inTheFirstStep = moment{1, "before effect: issue_certificate /etc/kubernetes/pki/apiserver-kubelet-client"}

// wantStopped checks that the state is written and the journal is empty, and that the output
// has at most the step that ran at the signal, and none after it.
func (f folder) wantStopped(t *testing.T, finishes bool, out string) {
	t.Helper()
	loaded, err := statefile.Load(statefile.DirPaths(string(f)))
	if err != nil {
		t.Fatal(err)
	}
	if loaded.State == nil || loaded.State.Serial == 0 || len(loaded.Recovered) != 0 {
		t.Errorf("the state was not written at the end: %+v", loaded)
	}
	if loaded.State.Nodes[state.NodeKeyTarget("cp", "cp1")] == nil {
		t.Error("the state does not know the host that was changed")
	}
	_, behind, _ := strings.Cut(out, "Interrupted. ")
	if done := strings.Count(behind, ": done after"); done > 1 || (done == 1) != finishes {
		t.Errorf("%d steps were done after the first signal\n%s", done, out)
	}
	for _, said := range []string{": interrupted after", "Error: Step interrupted", " done, 1 interrupted, "} {
		if strings.Contains(behind, said) == finishes {
			t.Errorf("%q is printed, or is missing\n%s", said, out)
		}
	}
	for _, untrue := range []string{"failed", "context canceled"} {
		if strings.Contains(behind, untrue) {
			t.Errorf("the output contains %q, although nothing has failed\n%s", untrue, out)
		}
	}
	if !strings.Contains(out, "kubewright apply") {
		t.Errorf("the output does not say how to continue:\n%s", out)
	}
}

// TestPlanInterrupted checks that a command interrupted before any change makes no plan.
func TestPlanInterrupted(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"plan"}, {"apply", "-auto-approve"}, {"destroy", "-auto-approve"}, {"graph"}} {
		f := newFolder(t, crashConfig)
		interrupts := make(chan os.Signal)
		env, printed := f.env(command...)
		env.Interrupts = interrupts
		env.OpenWorld = func(path string) (*sim.World, error) {
			interrupts <- os.Interrupt
			interrupts <- os.Interrupt // received only after the first has taken effect
			return sim.Open(path)
		}
		if code := cli.Main(env); code != 130 || !strings.Contains(printed(), "Error: Interrupted") {
			t.Errorf("%v: exit code %d\n%s", command, code, printed())
		}
		if _, err := os.Stat(filepath.Join(string(f), "kubewright.sim.json")); !os.IsNotExist(err) {
			t.Errorf("%v: hosts were touched: %v", command, err)
		}
	}
}

// endless is a stream without an end. It calls a function on each read.
type endless func()

func (e endless) Read([]byte) (int, error) {
	e()
	select {}
}

// TestInputInterrupted checks that a command that reads an endless input can be interrupted.
func TestInputInterrupted(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"fmt", "-"}, {"state", "push", "-"}} {
		interrupts := make(chan os.Signal)
		env, printed := newFolder(t, crashConfig).env(command...)
		env.Interrupts, env.Stdin = interrupts, endless(func() { interrupts <- os.Interrupt })
		if code := cli.Main(env); code != 130 || !strings.Contains(printed(), "Error: Interrupted") {
			t.Errorf("%v: exit code %d\n%s", command, code, printed())
		}
	}
}

// TestApplyTerminatedAfterGracePeriod checks that a command that gets SIGTERM while a step hangs interrupts that step
// itself after its grace period.
func TestApplyTerminatedAfterGracePeriod(t *testing.T) {
	t.Parallel()
	f := newFolder(t, crashConfig)
	interrupts := make(chan os.Signal)
	env, printed := f.env("apply", "-auto-approve", "-parallelism=1")
	heard := &spoken{Writer: env.Stdout}
	heard.changed = sync.NewCond(&heard.mu)
	env.Stdout, env.Interrupts, env.TermGrace = heard, interrupts, time.Millisecond
	var once sync.Once
	env.OpenWorld = func(path string) (*sim.World, error) {
		w, err := sim.Open(path)
		if err != nil {
			return nil, err
		}
		w.OnEffect = func(e sim.Effect) error {
			if strings.Contains(e.Detail, "apiserver-kubelet-client") {
				once.Do(func() {
					interrupts <- syscall.SIGTERM
					heard.wait("Time is over. ")
				})
			}
			return nil
		}
		return w, nil
	}
	if code := cli.Main(env); code != 130 {
		t.Errorf("exit code %d\n%s", code, printed())
	}
	for _, want := range []string{"What runs has 1ms to end", `waiting for node.cp["cp1"]/certs: issue certificate`} {
		if !strings.Contains(printed(), want) {
			t.Errorf("%q is missing in the output:\n%s", want, printed())
		}
	}
	f.must(t, "apply", "-auto-approve")
}

// interrupted is an apply that gets signals in the middle of its first step, each after the
// command has acknowledged the previous one. Its hosts call look for each observation after
// the last signal, or after the last step if there is no signal.
type interrupted struct {
	env     *console.Env
	printed func() string
	signals chan os.Signal
	heard   *spoken
}

func newInterrupted(f folder, args []string, sent []os.Signal, look func(ctx context.Context) error) *interrupted {
	i := &interrupted{signals: make(chan os.Signal)}
	i.env, i.printed = f.env(args...)
	var after atomic.Bool
	if len(sent) == 0 {
		once(i.env, "[37/37]", func() { after.Store(true) })
	}
	i.heard = &spoken{Writer: i.env.Stdout}
	i.heard.changed = sync.NewCond(&i.heard.mu)
	i.env.Stdout, i.env.Interrupts = i.heard, i.signals
	var met sync.Once
	i.env.OpenWorld = func(path string) (*sim.World, error) {
		w, err := sim.Open(path)
		if err != nil {
			return nil, err
		}
		w.OnEffect = func(e sim.Effect) error {
			if len(sent) > 0 && strings.Contains(e.Detail, "apiserver-kubelet-client") {
				met.Do(func() {
					for n, s := range sent {
						i.signals <- s
						i.heard.wait([]string{"Interrupted. ", "Interrupted again. "}[n])
					}
					after.Store(true)
				})
			}
			return nil
		}
		w.OnObserve = func(ctx context.Context, _ string) error {
			if !after.Load() {
				return nil
			}
			return look(ctx)
		}
		return w, nil
	}
	return i
}

// TestStoppedApplySkipsVerification checks that a run that is stopped at once, or by a SIGTERM that a SIGKILL may
// follow, writes its state without another query to a host, because a host may not answer.
func TestStoppedApplySkipsVerification(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string][]os.Signal{
		"two interrupts": {os.Interrupt, os.Interrupt}, "a termination": {syscall.SIGTERM}, "a termination, then an interrupt": {syscall.SIGTERM, os.Interrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t, crashConfig)
			var looks atomic.Int64
			i := newInterrupted(f, []string{"apply", "-auto-approve", "-parallelism=1"}, sent, func(context.Context) error {
				looks.Add(1)
				return errors.New("no answer")
			})
			if code := cli.Main(i.env); code != 130 || looks.Load() > 0 {
				t.Errorf("exit code %d, and %d observations of hosts\n%s", code, looks.Load(), i.printed())
			}
			f.wantStopped(t, len(sent) == 1, i.printed())
			f.must(t, "apply", "-auto-approve")
			f.must(t, "plan", "-detailed-exitcode")
		})
	}
}

// TestVerificationInterrupted checks that an interrupt ends the final verification, after an interrupted
// run as well as after a complete one, also while it waits for components to restart.
func TestVerificationInterrupted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sent []os.Signal
		code int
		says string
	}{
		"of a stopped run":  {[]os.Signal{os.Interrupt}, 130, "it observes the hosts first and plans what is left"},
		"of a complete run": {nil, 0, "Final verification was interrupted All steps are done and the state is saved, but the hosts were not re-checked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t, crashConfig)
			var i *interrupted
			var once sync.Once
			ended := make(chan error, 10)
			i = newInterrupted(f, []string{"apply", "-auto-approve", "-parallelism=1"}, tt.sent, func(ctx context.Context) error {
				once.Do(func() { i.signals <- os.Interrupt; i.signals <- os.Interrupt })
				<-ctx.Done()
				ended <- ctx.Err()
				return ctx.Err()
			})
			code := cli.Main(i.env)
			if out := strings.Join(strings.Fields(i.printed()), " "); code != tt.code || !strings.Contains(out, tt.says) {
				t.Errorf("exit code %d, and the output does not contain %q\n%s", code, tt.says, i.printed())
			}
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the observation ended by itself: %v", err)
			}
			f.must(t, "apply", "-auto-approve")
			f.must(t, "plan", "-detailed-exitcode")
		})
	}
}
