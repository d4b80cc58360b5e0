package ui

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Clean makes text from outside fit for a terminal, on one line. Control characters (C0, DEL, C1),
// line separators, characters that change the direction of writing or have no width, and bytes
// that are not UTF-8 become visible escapes such as \x1b and \u202e. What a CI runner would take
// as a command is escaped in the same way.
func Clean(s string) string { return Disarm(clean(s, false)) }

// CleanText is Clean for text of several lines: line breaks stay, and tabs become spaces.
func CleanText(s string) string { return Disarm(clean(s, true)) }

// CleanDiff is CleanText for a comparison of two files: tabs stay, since the files may differ in
// them.
func CleanDiff(s string) string {
	parts := strings.Split(s, "\t")
	for i, part := range parts {
		parts[i] = clean(part, true)
	}
	return Disarm(strings.Join(parts, "\t"))
}

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

// bracketCommand matches a command in brackets, which a CI service obeys anywhere in a line of its
// log, in any case: ##[COMMAND] of GitHub, ##vso[…] of Azure Pipelines, ##teamcity[…],
// ##octopus[…].
var bracketCommand = regexp.MustCompile(`##([\w.-]*)\[`)

// Disarm escapes what a CI service's runner would obey as a command in a line of its log: a
// bracketCommand, and GitHub's ::COMMAND …:: at the beginning of a line. An IPv6 address has no
// second pair of colons. Sections of GitLab and groups of Buildkite's OSC commands need control
// characters, which are escaped already.
func Disarm(s string) string {
	if strings.Contains(s, "##") {
		s = bracketCommand.ReplaceAllString(s, `#\x23$1[`)
	}
	if !strings.Contains(s, "::") {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		text := strings.TrimLeft(line, " \t")
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
