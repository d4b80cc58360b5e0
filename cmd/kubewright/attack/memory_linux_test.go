package attack

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// peak returns the peak memory of this process, in bytes.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	_, rest, _ := strings.Cut(string(status), "\nVmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		panic(err)
	}
	return kib << 10
}

// confine limits the memory that this process may allocate, in bytes. The race detector itself
// maps more than that.
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
