package elsewhere

import (
	"regexp"
	"strings"
	"sync"
)

// Kind is where a name is written.
type Kind int

// The kinds of names.
const (
	// Language is a block, an argument, or the beginning of a reference.
	Language Kind = iota
	// Command is the first word of a command line.
	Command
	// Flag is a flag of any command, without its dashes.
	Flag
)

// entry is what is written here in the place of names that mean the same.
type entry struct {
	// names are separated by spaces.
	names string
	// instead is one or more sentences.
	instead string
	// code is what to write, if that can be written down.
	code Code
}

// Code is a line of the language.
type Code struct {
	// Block is the type of the block that the line belongs to: cluster, node, or empty for the
	// top of a file.
	Block, Line string
}

// text returns the sentences, and the code on a line of its own, where it can be copied.
func (e entry) text() string {
	if e.code.Line == "" {
		return e.instead
	}
	where := "Write:"
	if e.code.Block != "" {
		where = "Write in the " + e.code.Block + " block:"
	}
	return strings.TrimSpace(e.instead+" "+where) + "\n\n  " + e.code.Line
}

// Instead returns what to write in the place of a name: sentences, and perhaps code below them.
// It is empty if no other tool is known to have the name.
func Instead(kind Kind, name string) string { return index()[kind][Normal(name)] }

// Codes returns all code of the tables.
func Codes() []Code {
	var out []Code
	for _, kind := range []Kind{Language, Command, Flag} {
		for _, e := range tables[kind] {
			if e.code.Line != "" {
				out = append(out, e.code)
			}
		}
	}
	return out
}

// Names returns the names of a kind, in the order of the table.
func Names(kind Kind) []string {
	var out []string
	for _, e := range tables[kind] {
		out = append(out, strings.Fields(e.names)...)
	}
	return out
}

// hump matches the beginning of a word in a camelCase name.
var hump = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// Normal returns a name in the spelling of the language: kubeadm's podSubnet and the flag
// pod-network-cidr are pod_subnet and pod_network_cidr.
func Normal(name string) string {
	return strings.ReplaceAll(strings.ToLower(hump.ReplaceAllString(name, "${1}_${2}")), "-", "_")
}

var tables = map[Kind][]entry{Language: language, Command: commands, Flag: flags}

// index is the entries by their normal names; most runs need none.
var index = sync.OnceValue(func() map[Kind]map[string]string { return indexed(tables) })

// indexed returns the entries of each kind by their normal names.
func indexed(tables map[Kind][]entry) map[Kind]map[string]string {
	out := map[Kind]map[string]string{}
	for kind, entries := range tables {
		out[kind] = map[string]string{}
		for _, e := range entries {
			for _, name := range strings.Fields(e.names) {
				out[kind][Normal(name)] = e.text()
			}
		}
	}
	return out
}
