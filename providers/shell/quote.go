package shell

import "strings"

// Quote makes one word of s for any POSIX shell: in single quotes nothing is
// special but the single quote itself. (Go's %q would not do: in double quotes
// a shell still expands $ and backticks.) s must not contain NUL, which no
// shell word can.
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// call returns a line of a script that calls a function of it with these arguments.
// It is the only way in which anything but fixed text gets into a script.
func call(function string, args ...string) string {
	var b strings.Builder
	b.WriteString(function)
	for _, a := range args {
		b.WriteString(" " + Quote(a))
	}
	b.WriteString("\n")
	return b.String()
}
