//go:build !linux

package attack

import "syscall"

// residentBytes is the most memory that a process has had: BSDs count in KiB, macOS in
// bytes. The smaller reading never fails wrongly.
func residentBytes(u *syscall.Rusage) int64 { return int64(u.Maxrss) }

// confine does nothing: there is no such limit.
func confine(string) {}
