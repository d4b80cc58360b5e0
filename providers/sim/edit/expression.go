package edit

import (
	"fmt"
	"strings"
)

// expression is the text of an edit, with the part that is left to parse.
type expression struct {
	text string
	rest string
}

// word removes the next word from the expression and returns it.
func (e *expression) word(what string) (string, error) {
	word, rest, _ := strings.Cut(e.rest, " ")
	e.rest = strings.TrimSpace(rest)
	if word == "" {
		return "", fmt.Errorf("%q ends where %s is expected", e.text, what)
	}
	return word, nil
}

// words takes as many words as it gets names for them.
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
