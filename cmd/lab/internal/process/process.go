// Package process runs commands and waits for conditions. Nothing in it sleeps:
// what is waited for is asked for.
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

// TailLines is how many last lines of a failed command's output its error
// carries: enough for a compiler's or a package manager's complaint.
const TailLines = 12

// Output runs a command to its end and answers its standard output. A failure
// carries the command and the tail of what it wrote.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	KillGroupOnCancel(cmd)
	if err := cmd.Run(); err != nil {
		// Which of the two tells the cause depends on the program.
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

// KillGroupOnCancel makes a cancelled command die with its children: nsenter,
// debootstrap and go all do their work in child processes, which would
// otherwise go on and hold the output open.
func KillGroupOnCancel(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if cmd.Cancel == nil {
		return // made without a context
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

// Until asks a condition again and again until it holds, it fails for good, or
// the time is up. The error of a timeout carries the last reason for waiting.
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
