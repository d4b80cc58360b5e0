package attack

import (
	"strconv"
	"syscall"
)

// residentBytes is the most memory that a process has had: Linux counts in KiB.
func residentBytes(u *syscall.Rusage) int64 { return u.Maxrss << 10 }

// confine limits how many bytes of memory this process may ask for. The race detector maps
// more than that for itself.
func confine(room string) {
	n, err := strconv.ParseUint(room, 10, 64)
	if err != nil {
		panic(err)
	}
	if n == 0 || watched {
		return
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
		panic(err)
	}
}
