// Package flaghelp prints what help says: flags with one dash, and texts that fit into a terminal.
package flaghelp

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/pflag"
)

// width is the width of help: the usual minimum width of a terminal.
const width = 80

// Prose wraps the paragraphs of a help text and keeps indented lines.
func Prose(text string) string {
	parts := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, part := range parts {
		if !strings.HasPrefix(part, "  ") && !strings.Contains(part, "\n  ") {
			parts[i] = strings.Join(wrapped(part, width), "\n")
		}
	}
	return strings.Join(parts, "\n\n")
}

// wrapped breaks a text between words into lines of at most that width.
func wrapped(text string, most int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case ansi.StringWidth(line)+1+ansi.StringWidth(word) > most:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// Help is Text with texts that do not fit after a flag on lines of their own.
func Help(set *pflag.FlagSet) string {
	heads, texts, wide := Parts(set)
	for i := range heads {
		indent := strings.Repeat(" ", wide+3)
		heads[i] += indent[ansi.StringWidth(heads[i]):] + strings.Join(wrapped(texts[i], max(30, width-len(indent))), "\n"+indent)
	}
	return strings.Join(heads, "\n")
}

// Text lists flags: -name=VALUE, the description, and the default if it says something.
func Text(set *pflag.FlagSet) string {
	heads, texts, wide := Parts(set)
	for i := range heads {
		heads[i] += strings.Repeat(" ", wide-ansi.StringWidth(heads[i])+3) + texts[i]
	}
	return strings.Join(heads, "\n")
}

// Parts returns the flags as a user writes them, their descriptions, and the width of the
// widest flag.
func Parts(set *pflag.FlagSet) (heads, texts []string, wide int) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, text := pflag.UnquoteUsage(f)
		if own := map[string]string{"help": "print this help", "version": "print the version"}[f.Name]; own != "" && f.Value.Type() == "bool" {
			text = own
		}
		head := "  -" + f.Name
		switch {
		case f.DefValue == "true": // the flag is for turning it off
			head, text = head+"=false", "do not "+text
		case f.Value.Type() == "bool":
		default:
			head += "=" + strings.ToUpper(value)
			if !slices.Contains([]string{"", "[]", "0", "0s"}, f.DefValue) {
				text += " (default " + f.DefValue + ")"
			}
		}
		heads, texts = append(heads, head), append(texts, text)
		wide = max(wide, ansi.StringWidth(head))
	})
	return heads, texts, wide
}
