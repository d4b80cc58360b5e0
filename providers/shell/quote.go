package shell

import "strings"

// Quote quotes s as one word for any POSIX shell: in single quotes only the single quote
// itself is special. (Go's %q would not do: in double quotes a shell still expands $ and
// backticks.) s must not contain NUL, which no shell word can contain.
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// call returns a line of a script that calls a function with these arguments. Only through
// call does variable text get into a script.
func call(function string, args ...string) string {
	var b strings.Builder
	b.WriteString(function)
	for _, a := range args {
		b.WriteString(" " + Quote(a))
	}
	b.WriteString("\n")
	return b.String()
}
