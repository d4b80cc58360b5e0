package verdict

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Mutation is what a user writes for a component: flags, or fields of its configuration.
type Mutation struct {
	Component string
	// Flags are name=value, in the order of the command line.
	Flags []string
	// Config are fields of the component's configuration, as JSON has them.
	Config map[string]any
}

// String returns the mutation as it is kept: the component, and a list of flags or an object.
func (m Mutation) String() string {
	var what any = m.Flags
	if m.Config != nil {
		what = m.Config
	}
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(what); err != nil {
		panic("internal error: a mutation is no JSON: " + err.Error())
	}
	return m.Component + "\t" + strings.TrimSpace(out.String())
}

// parseMutation reads what String returns, without the component.
func parseMutation(component, text string) (Mutation, error) {
	m := Mutation{Component: component}
	var err error
	if strings.HasPrefix(text, "{") {
		err = json.Unmarshal([]byte(text), &m.Config)
	} else {
		err = json.Unmarshal([]byte(text), &m.Flags)
	}
	return m, err
}

// An Answer is what a component did with a mutation.
type Answer string

// A component took a mutation, refused it, or did neither in time.
const (
	Took      Answer = "took"
	Refused   Answer = "refused"
	Undecided Answer = "undecided"
)

// A Verdict is the answer to a mutation, with the component's own words.
type Verdict struct {
	Mutation Mutation
	Answer   Answer
	Reason   string
}

// String returns the verdict as a line of a table.
func (v Verdict) String() string {
	return strings.TrimRight(fmt.Sprintf("%s\t%s\t%s", v.Mutation, v.Answer, v.Reason), "\t")
}

// Parse reads a table of verdicts; lines that begin with # are comments.
func Parse(text string) ([]Verdict, error) {
	var out []Verdict
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, "\t", 4)
		if len(parts) < 3 {
			return nil, fmt.Errorf("no verdict: %q", line)
		}
		m, err := parseMutation(parts[0], parts[1])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		v := Verdict{Mutation: m, Answer: Answer(parts[2])}
		if len(parts) == 4 {
			v.Reason = parts[3]
		}
		out = append(out, v)
	}
	return out, nil
}
