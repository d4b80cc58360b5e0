package view

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Clean makes text from elsewhere fit for a terminal, on one line: control
// characters (C0, DEL, C1), line separators, characters that turn the direction
// of writing or have no width, and bytes that are no UTF-8 become visible
// escapes such as \x1b and \u202e. What a CI runner would take as a command is
// disarmed in the same way.
func Clean(s string) string { return disarm(clean(s, false)) }

// CleanText is Clean for text of several lines: line breaks stay, and tabs
// become spaces.
func CleanText(s string) string { return disarm(clean(s, true)) }

func clean(s string, lines bool) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case lines && r == '\n':
			b.WriteByte('\n')
		case lines && r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case lines && r == '\t':
			b.WriteString("    ")
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += size
	}
	return b.String()
}

// disarm escapes what makes a line a command to GitHub's runner, which reads
// every log: ::COMMAND …:: behind nothing but spaces, and ##[COMMAND] anywhere.
// An IPv6 address has no second pair of colons.
func disarm(s string) string {
	if !strings.Contains(s, "::") && !strings.Contains(s, "##[") {
		return s
	}
	lines := strings.Split(strings.ReplaceAll(s, "##[", `#\x23[`), "\n")
	for i, line := range lines {
		text := strings.TrimLeft(line, " ")
		if command, ok := strings.CutPrefix(text, "::"); ok && strings.Contains(command, "::") {
			lines[i] = line[:len(line)-len(text)] + `\x3a:` + command
		}
	}
	return strings.Join(lines, "\n")
}

func isClean(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			return false
		}
	}
	return true
}

func itoa(n int) string { return strconv.Itoa(n) }
