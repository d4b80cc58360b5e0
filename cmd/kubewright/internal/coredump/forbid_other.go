//go:build !linux

package coredump

// Forbid keeps memory, which holds keys and passwords, out of core dumps.
func Forbid() { limitCore() }
