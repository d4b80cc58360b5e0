//go:build unix

package coredump

import "golang.org/x/sys/unix"

// limitCore sets the soft limit of the size of core dumps to 0, and keeps the hard limit.
func limitCore() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &limit) // lowering a limit is always allowed
	}
}
