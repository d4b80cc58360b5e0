package coredump

import "golang.org/x/sys/unix"

// Forbid keeps memory, in which there are keys and passwords, out of core dumps, also
// of those that a handler takes whatever the limit is, and out of reach of debuggers of
// the same user. Programs that are started inherit the limit alone; they may raise it.
func Forbid() {
	limitCore()
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // fails for no known reason, and nothing depends on it
}
