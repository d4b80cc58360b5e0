package componentflag

import (
	_ "embed" // the list of flags
	"strings"
)

//go:embed flags.txt
var flagList string

// Flag is a known flag.
type Flag struct {
	// Type is how its values are written: a name in Types, one: or some: with the name of a set, or one
	// that only config checks.
	Type string
	// Minors are the minor versions that have it.
	Minors []string
}

// Flags are the flags by component and name.
var Flags = parseFlags(flagList)

func parseFlags(text string) map[string]map[string]Flag {
	out := map[string]map[string]Flag{}
	for component, flags := range parseTable(text) {
		out[component] = map[string]Flag{}
		for name, words := range flags {
			out[component][name] = Flag{words[0], minorsOf(words[1:])}
		}
	}
	return out
}

// minorsOf returns the minor versions that end a line of a table.
func minorsOf(words []string) []string {
	if len(words) == 1 && words[0] == "all" {
		return all
	}
	return words
}

// parseTable parses lines of words: the words after the second, by the first and the second.
func parseTable(text string) map[string]map[string][]string {
	out := map[string]map[string][]string{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		if out[words[0]] == nil {
			out[words[0]] = map[string][]string{}
		}
		out[words[0]][words[1]] = words[2:]
	}
	return out
}

// FlagName returns the name of an argument as the component reads it.
func FlagName(component, name string) string {
	if component == "etcd" {
		return name
	}
	return strings.ReplaceAll(name, "_", "-") // as the flags of Kubernetes do
}
