// Package coredump keeps the memory of the command, in which there are keys and passwords,
// out of core dumps.
package coredump

// Wanted reports whether an environment asks the Go runtime for a core dump when
// the program crashes (GOTRACEBACK=crash), as for debugging.
func Wanted(getenv func(string) string) bool { return getenv("GOTRACEBACK") == "crash" }
