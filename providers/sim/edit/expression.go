package edit

import (
	"fmt"
	"strings"
)

// expression is the text of an edit, and what is left to parse of it.
type expression struct {
	text string
	rest string
}

// word takes the next word off the expression.
func (e *expression) word(what string) (string, error) {
	word, rest, _ := strings.Cut(e.rest, " ")
	e.rest = strings.TrimSpace(rest)
	if word == "" {
		return "", fmt.Errorf("%q ends where %s is expected", e.text, what)
	}
	return word, nil
}

// words takes as many words as there are names for them.
func (e *expression) words(what ...string) ([]string, error) {
	out := make([]string, len(what))
	for i, name := range what {
		var err error
		if out[i], err = e.word(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pair takes the rest as NAME=VALUE.
func (e *expression) pair(what string) (string, string, error) {
	name, value, ok := strings.Cut(e.rest, "=")
	if !ok || name == "" {
		return "", "", fmt.Errorf("%q is not written %s", e.rest, what)
	}
	e.rest = ""
	return strings.TrimSpace(name), strings.TrimSpace(value), nil
}
