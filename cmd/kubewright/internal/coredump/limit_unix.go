//go:build unix

package coredump

import "golang.org/x/sys/unix"

// limitCore sets the size of core dumps to 0, and leaves alone how far it may be raised.
func limitCore() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &limit) // to lower a limit is always allowed
	}
}
