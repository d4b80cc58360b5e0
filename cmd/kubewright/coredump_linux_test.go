package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"
)

var coreLimit = regexp.MustCompile(`(?m)^Max core file size +(\S+) `)

// TestNoCoreDump checks that a running command dumps no core unless asked to.
func TestNoCoreDump(t *testing.T) {
	t.Parallel()
	f := newFolder(t, "")
	running := func(more ...string) string {
		t.Helper()
		cmd := f.process("sh", "-c", `ulimit -S -c "$(ulimit -H -c)"; exec kubewright-process console`)
		cmd.Env = append(os.Environ(), more...)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(stdin, "1 + 2\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "3\n" {
			t.Errorf("got %q, %v", line, err)
		}
		limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		if err := stdin.Close(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		return string(limits)
	}
	var may unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &may); err != nil {
		t.Fatal(err)
	}
	if m := coreLimit.FindStringSubmatch(running()); m == nil || m[1] != "0" {
		t.Errorf("the limit of a running command: %v", m)
	}
	if m := coreLimit.FindStringSubmatch(running("GOTRACEBACK=crash")); m == nil || may.Max != 0 && m[1] == "0" {
		t.Errorf("the limit of a command that is to be debugged: %v", m)
	}
}
