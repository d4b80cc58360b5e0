package state

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Redactor removes known secrets from foreign texts: an API server's error that quotes a value, a
// component's last words. A nil Redactor removes nothing.
type Redactor struct{ words []string }

// Secrets shorter than shortestSecret cannot be distinguished from ordinary text; those shorter
// than certainSecret are only replaced as whole words.
const (
	shortestSecret = 3
	certainSecret  = 6
)

// NewRedactor returns a redactor of secrets. It also finds them in base64, as the API stores
// them, quoted for JSON, Go, HTML and queries, and each line of a multi-line secret.
func NewRedactor(secrets []string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		r.add(s)
		for line := range strings.Lines(s) {
			r.add(strings.TrimSpace(line))
		}
		if len(s) >= shortestSecret {
			r.add(base64.StdEncoding.EncodeToString([]byte(s)))
			if quoted, err := json.Marshal(s); err == nil {
				r.add(string(quoted[1 : len(quoted)-1]))
			}
			if quoted := strconv.Quote(s); len(quoted) > 2 {
				r.add(quoted[1 : len(quoted)-1])
			}
			r.add(html.EscapeString(s))
			r.add(url.QueryEscape(s))
		}
	}
	r.order()
	return r
}

func (r *Redactor) order() {
	slices.SortFunc(r.words, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a) // a word that contains another one goes first
		}
		return strings.Compare(a, b)
	})
	r.words = slices.Compact(r.words)
}

// And returns a redactor of the secrets of both; either may be nil.
func (r *Redactor) And(other *Redactor) *Redactor {
	both := &Redactor{}
	for _, x := range []*Redactor{r, other} {
		if x != nil {
			both.words = append(both.words, x.words...)
		}
	}
	both.order()
	return both
}

// login matches an address with user and password, even one that cannot be parsed because of a /
// in the password.
var login = regexp.MustCompile("([A-Za-z][A-Za-z0-9+.-]*://[^/\\s\"'`@:]*:)([^\\s\"'`]+)@")

// port matches what looks like a password and is a port followed by a path.
var port = regexp.MustCompile(`^[0-9]+/`)

// WithoutPasswords removes the passwords from the addresses in a text, such as
// http://ann:secret@proxy.example.com.
func WithoutPasswords(text string) string {
	return login.ReplaceAllStringFunc(text, func(address string) string {
		part := login.FindStringSubmatch(address)
		if port.MatchString(part[2]) {
			return address
		}
		return part[1] + masked + "@"
	})
}

func (r *Redactor) add(s string) {
	if len(s) >= shortestSecret {
		r.words = append(r.words, s)
	}
}

// IsZero reports whether there is nothing to remove.
func (r *Redactor) IsZero() bool { return r == nil || len(r.words) == 0 }

// Text returns the text without secrets.
func (r *Redactor) Text(text string) string {
	if r == nil {
		return text
	}
	for _, w := range r.words {
		if len(w) >= certainSecret {
			text = strings.ReplaceAll(text, w, masked)
		} else {
			text = replaceWord(text, w)
		}
	}
	return text
}

// Finds reports whether the text contains a secret.
func (r *Redactor) Finds(text string) bool { return r.Text(text) != text }

// replaceWord replaces a word that has no letter or digit next to it.
func replaceWord(text, word string) string {
	var b strings.Builder
	for rest, before := text, rune(0); ; {
		i := strings.Index(rest, word)
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		if i > 0 {
			before, _ = utf8.DecodeLastRuneInString(rest[:i])
		}
		after, _ := utf8.DecodeRuneInString(rest[i+len(word):])
		b.WriteString(rest[:i])
		if isWord(before) || isWord(after) {
			b.WriteString(word)
		} else {
			b.WriteString(masked)
		}
		before, _ = utf8.DecodeLastRuneInString(word)
		rest = rest[i+len(word):]
	}
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
