package view

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// style colours text, or leaves it alone.
type style struct{ color bool }

func (s style) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string      { return s.paint("1", text) }
func (s style) red(text string) string       { return s.paint("31", text) }
func (s style) boldRed(text string) string   { return s.paint("1;31", text) }
func (s style) green(text string) string     { return s.paint("32", text) }
func (s style) boldGreen(text string) string { return s.paint("1;32", text) }
func (s style) yellow(text string) string    { return s.paint("33", text) }
func (s style) dim(text string) string       { return s.paint("90", text) }

// wrap breaks text into lines of at most width cells at spaces. Lines that
// begin with a space are preformatted and stay. Each line but the first gets
// the indent in front, which counts towards the width. What a line begins with only
// now is no command either (Clean).
func wrap(text string, width int, indent string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			out = append(out, line)
			continue
		}
		out = append(out, wrapLine(line, width-ansi.StringWidth(indent))...)
	}
	return disarm(strings.Join(out, "\n"+indent))
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

// fill pads text with spaces on the right to the width in cells.
func fill(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

// plural prints a number with its word: 1 file, 2 files.
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	switch {
	case strings.HasSuffix(word, "y") && !strings.HasSuffix(word, "ey") && !strings.HasSuffix(word, "ay"):
		word = strings.TrimSuffix(word, "y") + "ie"
	case strings.HasSuffix(word, "s"), strings.HasSuffix(word, "x"), strings.HasSuffix(word, "ch"):
		word += "e"
	}
	return strconv.Itoa(n) + " " + word + "s"
}

// duration prints whole seconds, minutes and hours: 43s, 2m10s, 1h5m.
func duration(d time.Duration) string {
	if d < 10*time.Second {
		d = d.Round(100 * time.Millisecond)
	} else {
		d = d.Round(time.Second)
	}
	s := d.String()
	if d >= time.Hour {
		s = strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	} else if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	return s
}

// cleaned returns names, each Clean.
func cleaned(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Clean(w)
	}
	return out
}

// list joins names with commas.
func list(names []string) string { return strings.Join(names, ", ") }

// brackets returns the parts in brackets, behind a space; nothing where all are empty.
func brackets(parts []string) string {
	var kept []string
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return " (" + strings.Join(kept, ", ") + ")"
}

// notEmpty leaves out texts that say nothing.
func notEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}
