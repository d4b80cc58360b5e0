package hosttest

import (
	"os"
	"syscall"
	"testing"
)

// WriteProgram writes a program that is run in a moment, by its owner and whoever else
// may read it. What another test starts meanwhile would have the file open until it has
// become another program itself, and none runs that is open for writing (ETXTBSY,
// golang.org/issue/22315): nothing is started until it is closed.
func WriteProgram(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
