package refusal

import (
	"cmp"
	"compress/gzip"
	_ "embed" // the verdicts
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kubewright/kubewright/config/componentflag"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/state"
)

// verdictList has a line for each verdict: MINORS COMPONENT MUTATION [REASON], separated by tabs. A
// mutation is a list of flags or an object of fields, as JSON; without a reason the component took
// it. A line of two words is the version of etcd of a minor version.
//
//go:embed verdicts.txt.gz
var verdictList string

// Text returns the verdicts as text.
func Text() (string, error) {
	r, err := gzip.NewReader(strings.NewReader(verdictList))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}

// A verdict is what a component did with what it was given.
type verdict struct {
	given  []string // sorted
	minors []string
	reason string // why it exited; empty if it took it
}

// verdicts are the verdicts by component and by one of what it was given.
type verdicts struct {
	by   map[[2]string][]verdict
	etcd map[string]int // minor versions of Kubernetes by version of etcd
}

var known = sync.OnceValue(func() verdicts {
	text, err := Text()
	out := verdicts{map[[2]string][]verdict{}, map[string]int{}}
	for line := range strings.Lines(text) {
		err = cmp.Or(err, out.read(strings.Split(strings.TrimSuffix(line, "\n"), "\t")))
	}
	if err != nil {
		panic("internal error: verdicts.txt.gz: " + err.Error())
	}
	return out
})

// read reads one line.
func (v *verdicts) read(words []string) error {
	switch {
	case len(words) == 2:
		minor, err := strconv.Atoi(words[0])
		v.etcd[words[1]] = minor
		return err
	case len(words) < 3:
		return fmt.Errorf("no verdict: %q", words)
	}
	x := verdict{minors: strings.Split(words[0], ",")}
	if len(words) > 3 {
		x.reason = words[3]
	}
	component, mutation := words[1], words[2]
	if strings.HasPrefix(mutation, "{") {
		tree, err := file.ParseYAML([]byte(mutation))
		if err != nil {
			return err
		}
		x.given = fieldsOf(state.FromGo(tree))
	} else {
		var flags []string
		if err := json.Unmarshal([]byte(mutation), &flags); err != nil {
			return err
		}
		x.given = flagsOf(component, flags)
	}
	if len(x.given) == 0 {
		return fmt.Errorf("an empty mutation: %q", words)
	}
	slices.Sort(x.given)
	at := [2]string{component, x.given[0]}
	v.by[at] = append(v.by[at], x)
	return nil
}

// flagsOf returns NAME=VALUE of flags, with the names that the component reads.
func flagsOf(component string, flags []string) []string {
	out := make([]string, 0, len(flags))
	for _, f := range flags {
		name, value, given := strings.Cut(strings.TrimPrefix(f, "--"), "=")
		if !given {
			value = "true" // of a switch
		}
		out = append(out, componentflag.FlagName(component, name)+"="+value)
	}
	return out
}

// fieldsOf returns .PATH=VALUE of the fields of a configuration that hold no fields.
func fieldsOf(v state.Value) []string {
	var out []string
	var add func(path string, v state.Value)
	add = func(path string, v state.Value) {
		if fields := v.AsMap(); len(fields) > 0 {
			for _, name := range v.Keys() {
				add(path+"."+name, fields[name])
			}
			return
		}
		text, err := v.MarshalJSON()
		if err != nil {
			panic("internal error: a value is no JSON: " + err.Error())
		}
		out = append(out, path+"="+string(text))
	}
	add("", v)
	return out
}

func nameOf(given string) string {
	name, _, _ := strings.Cut(given, "=")
	return name
}
