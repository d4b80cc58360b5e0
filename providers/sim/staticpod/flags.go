package staticpod

import (
	"strconv"
	"strings"
)

// FlagsIn returns the flags in a file of flags.
func FlagsIn(file []byte) []string {
	_, quoted, _ := strings.Cut(strings.TrimSpace(string(file)), "=")
	line, err := strconv.Unquote(quoted)
	if err != nil {
		line = quoted
	}
	return strings.Fields(line)
}

// FlagIn returns the value of a flag in a file of flags; the last one counts.
func FlagIn(file []byte, name string) string {
	value := ""
	for _, word := range FlagsIn(file) {
		if n, v, _ := strings.Cut(strings.TrimPrefix(word, "--"), "="); n == name {
			value = v
		}
	}
	return value
}

// Number returns the number in a text, or 0.
func Number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
