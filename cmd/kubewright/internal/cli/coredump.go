package cli

// wantsCoreDump reports whether an environment asks the Go runtime for a core dump when
// the program crashes (GOTRACEBACK=crash), as for debugging.
func wantsCoreDump(getenv func(string) string) bool { return getenv("GOTRACEBACK") == "crash" }
