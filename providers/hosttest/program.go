package hosttest

import (
	"os"
	"syscall"
	"testing"
)

// WriteProgram writes a program that is about to run, by its owner and every user who may
// read it. A process that another test starts at the same time would have the file open
// until it executes another program, and a program that is open for writing cannot be
// executed (ETXTBSY, golang.org/issue/22315): no process is started until the file is
// closed.
func WriteProgram(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
