package attack

import "syscall"

// residentBytes is the most memory that a process has had: Linux counts in KiB.
func residentBytes(u *syscall.Rusage) int64 { return u.Maxrss << 10 }
