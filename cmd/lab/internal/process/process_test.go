package process

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestFailureCarriesCommandAndTail(t *testing.T) {
	t.Parallel()
	err := Run(t.Context(), "sh", "-c", "for i in $(seq 30); do echo line $i; done; echo broken >&2; exit 3")
	if err == nil {
		t.Fatal("a failed command succeeded")
	}
	text := err.Error()
	for _, want := range []string{"cannot run sh -c", "exit status 3", "line 30\nbroken"} {
		if !strings.Contains(text, want) {
			t.Errorf("error does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "line 10\n") {
		t.Errorf("error carries all output:\n%s", text)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the exit code is lost: %v", err)
	}
}

func TestOutputIsStandardOutputOnly(t *testing.T) {
	t.Parallel()
	out, err := Output(exec.CommandContext(t.Context(), "sh", "-c", "echo out; echo err >&2"))
	if err != nil || string(out) != "out\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestCancelKillsChildren checks that a cancelled command's children die with it; otherwise this
// would last a minute.
func TestCancelKillsChildren(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if err := Run(ctx, "sh", "-c", "sleep 60 & wait"); err == nil {
		t.Error("a cancelled command succeeded")
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("cancelling took %s", took)
	}
}

func TestUntilWaitsForCondition(t *testing.T) {
	t.Parallel()
	asked := 0
	err := Until(t.Context(), time.Minute, time.Millisecond, "the third time", func(context.Context) error {
		if asked++; asked < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || asked != 3 {
		t.Errorf("got %v after %d times", err, asked)
	}
	reason := errors.New("still starting")
	err = Until(t.Context(), 10*time.Millisecond, time.Millisecond, "something", func(context.Context) error { return reason })
	if !errors.Is(err, reason) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error of a timeout lacks the reason for waiting: %v", err)
	}
}

func TestTailReturnsLastLines(t *testing.T) {
	t.Parallel()
	if got := Tail("a\n\nb \r\nc\n", 2); got != "b\nc" {
		t.Errorf("got %q", got)
	}
}
