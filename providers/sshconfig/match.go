package sshconfig

import (
	"errors"
	"fmt"
	"strings"
)

// A criterion is one of those of a Match.
type criterion struct {
	// name is in lower case.
	name, argument string
	negated        bool
}

// arguments are the criteria of Match in ssh_config(5), by whether they have an argument.
var arguments = map[string]bool{
	"all": false, "canonical": false, "final": false,
	"host": true, "originalhost": true, "user": true, "localuser": true, "tagged": true,
	"exec": true, "localnetwork": true, "version": true, "sessiontype": true, "command": true,
}

// criteria reads those of a Match.
func criteria(text string) ([]criterion, error) {
	var out []criterion
	for text != "" && text[0] != '#' {
		word, rest, ok := keyword(text)
		if !ok {
			return nil, errors.New("a quotation does not end")
		}
		text = rest
		c := criterion{name: strings.ToLower(word)}
		c.name, c.negated = strings.CutPrefix(c.name, "!")
		argument, known := arguments[c.name]
		switch {
		case !known:
			return nil, fmt.Errorf("criterion %q of Match is not known", word)
		case c.name == "all" && (text != "" && text[0] != '#' || len(out) > 1):
			return nil, errors.New("criterion all of Match stands beside others")
		case argument:
			if c.argument, text, ok = keyword(text); !ok {
				return nil, errors.New("a quotation does not end")
			}
			if c.argument == "" || c.argument[0] == '#' {
				return nil, fmt.Errorf("criterion %s of Match has no value", word)
			}
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, errors.New("no criterion follows Match")
	}
	return out, nil
}

// An activity is whether a block applies to a host: if because is set, nothing here can decide
// that.
type activity struct {
	on      bool
	because string
}

// matching returns whether a Match applies. Criteria are conjunctions: one that does not hold
// decides even where others cannot be evaluated.
func (e *evaluation) matching(l line) activity {
	out := activity{on: true}
	for _, c := range l.criteria {
		holds, evaluated := e.criterion(c)
		switch {
		case evaluated && holds == c.negated:
			out.on = false
		case !evaluated && out.because == "":
			out.because = fmt.Sprintf("Match %s (%s) is not evaluated", c.name, l.place)
		}
	}
	if !out.on {
		return activity{}
	}
	return out
}

// criterion returns whether a criterion holds, regardless of a negation, and whether it can be
// evaluated.
func (e *evaluation) criterion(c criterion) (holds, evaluated bool) {
	switch c.name {
	case "all":
		return true, true
	case "final":
		e.again = true
		return e.final, true
	case "canonical":
		return e.final, true
	case "host":
		return InList(strings.ToLower(e.destination()), strings.ToLower(c.argument)), true
	case "originalhost":
		return InList(strings.ToLower(e.asked.Name), strings.ToLower(c.argument)), true
	case "user":
		return InList(e.user(), c.argument), true
	case "localuser":
		return InList(e.asked.LocalUser, c.argument), true
	case "tagged":
		tag := ""
		if v := e.out.values["tag"]; len(v) > 0 {
			tag = v[0]
		}
		return InList(tag, c.argument), true
	}
	return false, false
}

// hosts returns whether a Host applies.
func (e *evaluation) hosts(l line) activity {
	on := false
	for _, pattern := range l.values {
		pattern, negated := strings.CutPrefix(pattern, "!")
		if matches(e.host, pattern) {
			if negated {
				return activity{}
			}
			on = true
		}
	}
	return activity{on: on}
}
