package ui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Style colours text; without Color it returns text as it is.
type Style struct{ Color bool }

func (s Style) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s Style) Bold(text string) string { return s.paint("1", text) }

func (s Style) Red(text string) string { return s.paint("31", text) }

func (s Style) BoldRed(text string) string { return s.paint("1;31", text) }

func (s Style) Green(text string) string { return s.paint("32", text) }

func (s Style) BoldGreen(text string) string { return s.paint("1;32", text) }

func (s Style) Yellow(text string) string { return s.paint("33", text) }

func (s Style) Dim(text string) string { return s.paint("90", text) }

// Wrap breaks text at spaces into lines of at most width cells. Lines that begin with a space are
// preformatted and stay. Each line but the first is indented, and the indent counts towards the
// width. A line that begins with a command only after wrapping is disarmed as in Clean.
func Wrap(text string, width int, indent string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			out = append(out, line)
			continue
		}
		out = append(out, wrapLine(line, width-ansi.StringWidth(indent))...)
	}
	return Disarm(strings.Join(out, "\n"+indent))
}

func wrapLine(line string, width int) []string {
	var out []string
	var current string
	for word := range strings.FieldsSeq(line) {
		switch {
		case current == "":
			current = word
		case ansi.StringWidth(current)+1+ansi.StringWidth(word) > width:
			out = append(out, current)
			current = word
		default:
			current += " " + word
		}
	}
	return append(out, current)
}

// Fill pads text with spaces on the right to the width in cells.
func Fill(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}
