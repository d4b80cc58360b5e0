//go:build !linux

package cli

// noCoreDump keeps memory, in which there are keys and passwords, out of core dumps.
func noCoreDump() { limitCore() }
