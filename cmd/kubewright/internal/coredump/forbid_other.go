//go:build !linux

package coredump

// Forbid keeps memory, in which there are keys and passwords, out of core dumps.
func Forbid() { limitCore() }
