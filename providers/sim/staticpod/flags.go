package staticpod

import (
	"strconv"
	"strings"
)

// FlagIn returns the value of a flag in a file of flags; the last one counts.
func FlagIn(file []byte, name string) string {
	_, quoted, _ := strings.Cut(strings.TrimSpace(string(file)), "=")
	line, err := strconv.Unquote(quoted)
	if err != nil {
		line = quoted
	}
	value := ""
	for word := range strings.FieldsSeq(line) {
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
