package state

import "strings"

// ShellWord returns s as one word of a shell command that a user copies: unchanged if it has no
// special characters, otherwise in single quotes. (In double quotes, as Go's %q writes them, a
// shell still expands $ and backticks.)
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./@:=,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ShellWords joins several words with spaces, each as by ShellWord.
func ShellWords(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = ShellWord(w)
	}
	return strings.Join(out, " ")
}
