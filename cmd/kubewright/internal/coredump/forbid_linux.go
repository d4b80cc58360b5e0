package coredump

import "golang.org/x/sys/unix"

// Forbid keeps memory, which holds keys and passwords, out of core dumps, including those that
// a core_pattern handler takes whatever the limit is, and out of reach of debuggers of the same
// user. Child processes inherit only the limit; they may raise it.
func Forbid() {
	limitCore()
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // no failure is known, and nothing depends on it
}
