package adopt

import (
	"slices"
	"strconv"
	"strings"
)

// founding are arguments of an etcd member that have no effect once it has data.
var founding = []string{"--initial-cluster=", "--initial-cluster-state="}

func isFounding(word string) bool {
	return slices.ContainsFunc(founding, func(prefix string) bool { return strings.HasPrefix(word, prefix) })
}

// operation is an operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value string `json:"value,omitempty"`
}

// commandLine is a command line that is changed word by word. A test of an existing word precedes
// each operation with an index, so that a version with another order of arguments fails instead of
// being patched wrongly.
type commandLine struct {
	words      []string
	operations []operation
	// own reports whether a word belongs to a single host.
	own func(word string) bool
}

func commandPath(place string) string { return "/spec/containers/0/command/" + place }

func (l *commandLine) do(op string, i int, value string) {
	l.operations = append(l.operations, operation{Op: op, Path: commandPath(strconv.Itoa(i)), Value: value})
}

func (l *commandLine) replace(i int, word string) {
	l.do("test", i, l.words[i])
	l.do("replace", i, word)
	l.words[i] = word
}

func (l *commandLine) remove(i int) {
	l.do("test", i, l.words[i])
	l.do("remove", i, "")
	l.words = slices.Delete(l.words, i, i+1)
}

// insert inserts a word at index i. It tests the word before it or, where only that one belongs to
// a single host, the next one, so that all hosts with the word at this index have the same patch.
// It does not test founding arguments.
func (l *commandLine) insert(i int, word string) {
	if i == len(l.words) {
		l.operations = append(l.operations, operation{Op: "add", Path: commandPath("-"), Value: word})
	} else {
		near := i - 1
		if isFounding(l.words[near]) || l.own(l.words[near]) && !l.own(l.words[i]) && !isFounding(l.words[i]) {
			near = i
		}
		l.do("test", near, l.words[near])
		l.do("add", i, word)
	}
	l.words = slices.Insert(l.words, i, word)
}

// commandPatch returns the operations that turn one command line into another: first changed
// values, then removals from the end, then additions by index. Founding arguments stay unchanged.
// It returns false for another program, which makes it another command line.
func commandPatch(from, to []string, own func(word string) bool) ([]operation, bool) {
	if len(from) == 0 || len(to) == 0 || from[0] != to[0] {
		return nil, false
	}
	to = foundedAs(from, to)
	l := commandLine{words: slices.Clone(from), own: own}
	places := paired(from, to)
	for i, place := range places {
		if place >= 0 && to[place] != from[i] {
			l.replace(i, to[place])
		}
	}
	for i, place := range slices.Backward(places) {
		if place < 0 && !isFounding(from[i]) {
			l.remove(i)
		}
	}
	at := 0
	for _, word := range to {
		next := at
		for next < len(l.words) && isFounding(l.words[next]) && l.words[next] != word {
			next++
		}
		switch {
		case next < len(l.words) && l.words[next] == word:
			at = next + 1
		case !isFounding(word):
			l.insert(at, word)
			at++
		}
	}
	return l.operations, true
}

// foundedAs returns the command line to with the founding arguments of from instead of its own;
// founding arguments that from lacks are dropped.
func foundedAs(from, to []string) []string {
	var out []string
	for _, word := range to {
		if !isFounding(word) {
			out = append(out, word)
		} else if i := slices.IndexFunc(from, func(w string) bool { return argName(w) == argName(word) }); i >= 0 {
			out = append(out, from[i])
		}
	}
	return out
}

// paired returns, for each word of from, its index in to, in ascending order: that of the same word
// or, if missing, that of the same argument with another value; -1 if there is none.
func paired(from, to []string) []int {
	places, last := make([]int, len(from)), -1
	for i, word := range from {
		rest := to[last+1:]
		place := slices.Index(rest, word)
		if place < 0 {
			place = slices.IndexFunc(rest, func(w string) bool { return argName(w) == argName(word) && !slices.Contains(from, w) })
		}
		if places[i] = -1; place >= 0 && !isFounding(word) {
			last += 1 + place
			places[i] = last
		}
	}
	return places
}

func argName(word string) string {
	name, _, _ := strings.Cut(word, "=")
	return name
}
