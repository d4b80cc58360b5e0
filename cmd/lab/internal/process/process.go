// Package process runs commands and waits for conditions. It never sleeps for a fixed time, but
// polls the condition.
package process

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// TailLines is how many last lines of a failed command's output its error contains: enough for
// the error of a compiler or a package manager.
const TailLines = 12

// Output runs a command and returns its standard output. The error of a failure contains the
// command and the tail of its output.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	KillGroupOnCancel(cmd)
	if err := cmd.Run(); err != nil {
		// Which of the two has the cause depends on the program.
		said := Tail(stdout.String(), TailLines/2) + "\n" + Tail(stderr.String(), TailLines)
		return stdout.Bytes(), commandError(cmd, err, said)
	}
	return stdout.Bytes(), nil
}

// Run is Output for a command whose output matters only when it fails.
func Run(ctx context.Context, name string, args ...string) error {
	_, err := Output(exec.CommandContext(ctx, name, args...))
	return err
}

// KillGroupOnCancel makes a cancelled command die with its children: nsenter, debootstrap and go
// all work in child processes, which would otherwise continue and hold the output open.
func KillGroupOnCancel(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if cmd.Cancel == nil {
		return // created without a context
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
}

func commandError(cmd *exec.Cmd, err error, out string) error {
	line := strings.Join(cmd.Args, " ")
	if len(line) > 200 {
		line = line[:200] + " …"
	}
	if out = strings.TrimSpace(out); out == "" {
		return fmt.Errorf("cannot run %s: %w", line, err)
	}
	return fmt.Errorf("cannot run %s: %w:\n%s", line, err, out)
}

// Tail returns the last n lines of a text that are not blank.
func Tail(text string, n int) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

// Until polls a condition until it holds or the time is up. The error of a timeout contains the
// last reason for waiting.
func Until(ctx context.Context, limit, every time.Duration, what string, holds func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		err := holds(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot wait for %s: %w: %w", what, ctx.Err(), err)
		case <-ticker.C:
		}
	}
}
