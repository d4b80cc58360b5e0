package sshconfig

import "strings"

// blank are the characters between the words of a line.
const blank = " \t\r\n"

// keyword splits a line into its keyword and the text after it. One = may stand between them.
func keyword(line string) (word, rest string, ok bool) {
	i := strings.IndexAny(line, blank+`"=`)
	if i < 0 {
		return line, "", true
	}
	if line[i] == '"' {
		end := strings.IndexByte(line[i+1:], '"')
		if end < 0 {
			return "", "", false
		}
		return line[:i] + line[i+1:i+1+end], strings.TrimLeft(line[i+end+2:], blank), true
	}
	rest = strings.TrimLeft(line[i+1:], blank)
	if after, found := strings.CutPrefix(rest, "="); found && line[i] != '=' {
		rest = strings.TrimLeft(after, blank)
	}
	return line[:i], rest, true
}

// words splits the text after a keyword into its arguments: quotes keep blanks together, a
// backslash keeps a quote, a backslash or a blank as it is, and # begins a comment where a word
// could. It reports false where a quotation does not end.
func words(text string) (out []string, ok bool) {
	for {
		text = strings.TrimLeft(text, " \t")
		if text == "" || text[0] == '#' {
			return out, true
		}
		word, length, ok := first(text)
		if !ok {
			return nil, false
		}
		out, text = append(out, word), text[length:]
	}
}

// first returns the first word of a text, and how many bytes of the text it takes.
func first(text string) (word string, length int, ok bool) {
	var b strings.Builder
	var quote byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text) && (strings.IndexByte(`'"\`, text[i+1]) >= 0 || quote == 0 && text[i+1] == ' '):
			i++
			b.WriteByte(text[i])
		case quote == 0 && (c == ' ' || c == '\t'):
			return b.String(), i, true
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), len(text), quote == 0
}

// matches reports whether a text matches a pattern of * and ?.
func matches(text, pattern string) bool {
	// back is where the last * of the pattern was, and where the text that it has not taken begins.
	at, backPattern, backText := 0, -1, 0
	for i := 0; i < len(text); {
		switch {
		case at < len(pattern) && pattern[at] == '*':
			backPattern, backText = at, i
			at++
		case at < len(pattern) && (pattern[at] == '?' || pattern[at] == text[i]):
			at++
			i++
		case backPattern >= 0:
			backText++
			i, at = backText, backPattern+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[at:], "*") == ""
}

// InList reports whether a text matches a list of patterns (ssh_config(5), PATTERNS), separated by
// commas: one of them, and none of those after a !.
func InList(text, list string) bool {
	found := false
	for pattern := range strings.SplitSeq(list, ",") {
		pattern, negated := strings.CutPrefix(pattern, "!")
		if matches(text, pattern) {
			if negated {
				return false
			}
			found = true
		}
	}
	return found
}
