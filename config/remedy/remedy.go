// Package remedy says as data what to do about a finding: run which command on what, with which
// options. The planner writes remedies into its texts; the command line, which alone knows its
// commands and flags, spells them there.
//
// Texts are composed by many functions, so a remedy stands in them as a mark that holds all of
// it, such as ⟨apply +replace=node.w1⟩. Textf is the only way to write one: in everything else
// that is formatted, which may come from a host, the sign that opens a mark is replaced.
package remedy

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Action is what a command does.
type Action string

// The actions.
const (
	Apply    Action = "apply"
	Plan     Action = "plan"
	Destroy  Action = "destroy"
	Import   Action = "import"
	Uncordon Action = "uncordon"
	// Restore recreates etcd from a snapshot, Snapshot takes one, Members shows the members of
	// etcd, and Defragment frees the space of its databases.
	Restore    Action = "restore"
	Snapshot   Action = "snapshot"
	Members    Action = "members"
	Defragment Action = "defragment"
	// Forget removes an entry from the state, List prints the entries, and Recover rebuilds the
	// state from the hosts.
	Forget  Action = "forget"
	List    Action = "list"
	Recover Action = "recover"
)

// Option is one option of a command.
type Option struct {
	Kind Kind `json:"kind"`
	// Value is what the option is about, such as the address of a node; empty if it has no
	// value, or where a text is about the option itself.
	Value string `json:"value,omitempty"`
}

// Kind is what an option does.
type Kind string

// The kinds of options.
const (
	// Replace removes a node and joins it again, Rotate replaces a CA.
	Replace Kind = "replace"
	Rotate  Kind = "rotate"
	// NewHost accepts that a node's host is another machine than before.
	NewHost Kind = "new-host"
	// GoneHost removes a node whose host is gone for good.
	GoneHost Kind = "gone-host"
	// Only restricts a plan to a target, Except leaves one out, and SkipPhase a phase.
	Only      Kind = "only"
	Except    Kind = "except"
	SkipPhase Kind = "skip-phase"
	// WithoutSilent proceeds without hosts that do not answer.
	WithoutSilent Kind = "without-silent"
	// OlderState proceeds with a state that is older than the hosts.
	OlderState Kind = "older-state"
	// Overwrite replaces the data of an etcd that works.
	Overwrite Kind = "overwrite"
	// Backup names a backup, State a state file.
	Backup Kind = "backup"
	State  Kind = "state"
	// Approve approves the plan with this digest.
	Approve Kind = "approve"
)

// Of returns the option with what it is about, such as the address of a node.
func (k Kind) Of(what fmt.Stringer) Option { return Option{k, what.String()} }

// Remedy is a command: what to do, on what, and how. Without an action it is options of the
// command that the user runs.
type Remedy struct {
	Action Action `json:"action"`
	// On is what the command is about: a file, a cluster, an address.
	On      []string `json:"on,omitempty"`
	Options []Option `json:"options,omitempty"`
}

// On returns the action on something.
func (a Action) On(what ...string) Remedy { return Remedy{Action: a, On: what} }

// With returns the action with options.
func (a Action) With(options ...Option) Remedy { return Remedy{Action: a, Options: options} }

// With returns the remedy with options.
func (r Remedy) With(options ...Option) Remedy {
	r.Options = append(r.Options[:len(r.Options):len(r.Options)], options...)
	return r
}

// With returns options of the command that the user runs.
func With(options ...Option) Remedy { return Remedy{Options: options} }

// The signs around a mark.
const (
	opening = "⟨"
	closing = "⟩"
	// option begins each option in a mark.
	option = "+"
)

// String returns the mark of the action.
func (a Action) String() string { return Remedy{Action: a}.String() }

// String returns the mark of the option.
func (o Option) String() string { return With(o).String() }

// String returns the mark of the option without a value.
func (k Kind) String() string { return Option{Kind: k}.String() }

// String returns the mark of the remedy.
func (r Remedy) String() string {
	var words []string
	if r.Action != "" {
		words = append(words, string(r.Action))
	}
	for _, o := range r.Options {
		word := option + string(o.Kind)
		if o.Value != "" {
			word += "=" + quoted(o.Value)
		}
		words = append(words, word)
	}
	for _, on := range r.On {
		words = append(words, quoted(on))
	}
	return opening + strings.Join(words, " ") + closing
}

// bare matches what stands in a mark without quotes.
var bare = regexp.MustCompile(`^[\w./-][^\s⟨⟩]*$`)

func quoted(value string) string {
	if bare.MatchString(value) {
		return value
	}
	return strconv.QuoteToASCII(value)
}

// Text is a text in which remedies may stand; an error as well.
type Text string

// Error returns the text, with marks.
func (t Text) Error() string { return string(t) }

// Textf formats a text. Remedies among the arguments, and texts with remedies, keep their marks.
func Textf(format string, args ...any) Text {
	if len(args) == 0 {
		return Text(format)
	}
	safe := make([]any, len(args))
	for i, a := range args {
		safe[i] = a
		switch a.(type) {
		case Action, Kind, Option, Remedy, Text:
		default:
			if text := fmt.Sprint(a); strings.Contains(text, opening) {
				safe[i] = strings.ReplaceAll(text, opening, "<")
			}
		}
	}
	return Text(fmt.Sprintf(format, safe...))
}

var (
	// mark matches a mark, and what is between its signs.
	mark = regexp.MustCompile(opening + `([^` + opening + closing + `\n]+)` + closing)
	// word matches the next word of a mark: the kind of an option, and a value.
	word = regexp.MustCompile(`^(?:\+([a-z-]+)=?)?("(?:[^"\\]|\\.)*"|[^\s"]\S*)?(?: |$)`)
)

// Spell returns a text with commands in place of its marks, and their remedies in order. What looks
// like a mark and is none stays.
func Spell(text string, line func(Remedy) string) (string, []Remedy) {
	var found []Remedy
	spelled := mark.ReplaceAllStringFunc(text, func(m string) string {
		r, ok := parse(mark.FindStringSubmatch(m)[1])
		if !ok {
			return m
		}
		found = append(found, r)
		return line(r)
	})
	return spelled, found
}

// parse reads what String wrote between the signs.
func parse(text string) (Remedy, bool) {
	var r Remedy
	for first := true; text != ""; first = false {
		m := word.FindStringSubmatch(text)
		if m == nil {
			return r, false
		}
		text = text[len(m[0]):]
		value := m[2]
		if strings.HasPrefix(value, `"`) {
			unquoted, err := strconv.Unquote(value)
			if err != nil {
				return r, false
			}
			value = unquoted
		}
		switch {
		case m[1] != "":
			r.Options = append(r.Options, Option{Kind(m[1]), value})
		case first:
			r.Action = Action(value)
		default:
			r.On = append(r.On, value)
		}
	}
	return r, true
}
