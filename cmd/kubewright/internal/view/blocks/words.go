package blocks

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// replacer returns a function that replaces names wherever they are whole words.
func replacer(words []string, with string) func(string) string {
	words = slices.Clone(words)
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	return func(line string) string {
		for _, w := range words {
			line = replaceWord(line, w, with)
		}
		return line
	}
}

func replaceWord(line, word, with string) string {
	var b strings.Builder
	for {
		i := strings.Index(line, word)
		if i < 0 {
			b.WriteString(line)
			return b.String()
		}
		end := i + len(word)
		before, _ := utf8.DecodeLastRuneInString(line[:i])
		after, _ := utf8.DecodeRuneInString(line[end:])
		b.WriteString(line[:i])
		if wordRune(before) || wordRune(after) {
			b.WriteString(word)
		} else {
			b.WriteString(with)
		}
		line = line[end:]
	}
}

// words is a set of words to be found in a line in one pass.
type words struct {
	known   map[string]bool
	lengths []int // the longest first
}

func newWords(list []string) words {
	w := words{known: map[string]bool{}}
	for _, s := range list {
		w.known[s] = true
		w.lengths = append(w.lengths, len(s))
	}
	slices.SortFunc(w.lengths, func(a, b int) int { return b - a })
	w.lengths = slices.Compact(w.lengths)
	return w
}

// replace replaces each word wherever it is a whole word, the longest if several begin at the
// same place.
func (w words) replace(line, with string) string {
	var b strings.Builder
	before := utf8.RuneError
	for i := 0; i < len(line); {
		n := 0
		if !wordRune(before) {
			n = w.at(line[i:])
		}
		if n > 0 {
			b.WriteString(with)
			before, _ = utf8.DecodeLastRuneInString(line[i : i+n])
			i += n
			continue
		}
		before, n = utf8.DecodeRuneInString(line[i:])
		b.WriteString(line[i : i+n])
		i += n
	}
	return b.String()
}

// at returns the length of the word at the beginning of a text; 0 for none.
func (w words) at(text string) int {
	for _, n := range w.lengths {
		if n == 0 || n > len(text) || !w.known[text[:n]] {
			continue
		}
		if after, _ := utf8.DecodeRuneInString(text[n:]); !wordRune(after) {
			return n
		}
	}
	return 0
}

func wordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}
