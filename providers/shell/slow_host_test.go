package shell_test

import (
	"context"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/providers/local"
	"github.com/kubewright/kubewright/providers/shell"
	"github.com/kubewright/kubewright/state"
)

// TestHungHostIsGivenUpWhileObserved checks that a host that accepts the login but whose commands hang is
// given up while it is observed, for each of the callers; not while it is changed, since a
// change may take its time.
func TestHungHostIsGivenUpWhileObserved(t *testing.T) {
	t.Parallel()
	h := shell.New("cp1", hung{}, shell.Options{Unprivileged: true})
	h.GiveUpAfter(time.Second)
	const want = "cannot observe cp1: it lets us in, and then nothing has come from it for 1s: a command hangs there, as where a disk or a network file system does not answer. " +
		"See what the kernel's log says (dmesg) and which processes are in state D (ps), mend that or restart the machine, and try again"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := h.Observe(ctx, state.Query{})
	if own, ok := err.(*providers.Error); !ok || own.Kind != providers.ErrTimeout || err.Error() != want {
		t.Errorf("got %v", err)
	}
	_, err = h.ReadSecrets(ctx, []string{"/etc/a"})
	says(t, "a secret", err, want)

	h, root, _ := newHost(t)
	h.GiveUpAfter(100 * time.Millisecond)
	if err := os.MkdirAll(root+"/usr/local/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	hosttest.WriteProgram(t, root+"/usr/local/bin/systemctl", "#!/bin/sh\nsleep 0.5\n")
	if _, err := perform(t, h, planner.Unit{Unit: "kubelet.service", Action: "stop"}); err != nil {
		t.Error(err)
	}
}

// hung is this machine as a transport whose commands print something and then hang.
type hung struct{ local.Machine }

func (h hung) Exec(ctx context.Context, _ string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	return h.Machine.Exec(ctx, "echo hello; sleep 600", stdin, stdout, stderr)
}

// TestSlowHostIsReadToTheEnd checks that a host that keeps sending is read to the end, and so is
// one whose command begins late, as after others when sshd grants few sessions.
func TestSlowHostIsReadToTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const patience = time.Second
		h := shell.New("cp1", late{after: patience * 3 / 2, step: patience / 10}, shell.Options{Root: t.TempDir(), Unprivileged: true})
		h.GiveUpAfter(patience)
		began := time.Now()
		if _, err := h.Observe(t.Context(), state.Query{}); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 3*patience {
			t.Errorf("it took only %s", took)
		}
	})
}

// late is this machine as a transport whose commands begin and end late.
type late struct {
	local.Machine
	after, step time.Duration
}

func (l late) Exec(ctx context.Context, command string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	time.Sleep(l.after)
	const noise = "a greeting without end\n"
	for i := range noise {
		time.Sleep(l.step)
		_, _ = io.WriteString(stderr, noise[i:i+1])
	}
	return l.Machine.Exec(ctx, command, stdin, stdout, stderr)
}
