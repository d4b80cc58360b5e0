// Package coredump keeps the command's memory, which holds keys and passwords, out of core
// dumps.
package coredump

// Wanted reports whether an environment asks the Go runtime for a core dump if the program
// crashes (GOTRACEBACK=crash), as for debugging.
func Wanted(getenv func(string) string) bool { return getenv("GOTRACEBACK") == "crash" }
