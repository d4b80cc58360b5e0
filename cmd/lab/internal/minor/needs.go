package minor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Needs is the table of the gates that need others: GATE MINORS STAGE DEFAULT NEEDED...
type Needs struct {
	head []string
	// in are the minor versions of each line, which is GATE STAGE DEFAULT NEEDED...
	in map[string][]int
}

// ParseNeeds reads the table.
func ParseNeeds(text string) (*Needs, error) {
	n := &Needs{in: map[string][]int{}}
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		if strings.HasPrefix(l, "#") {
			n.head = append(n.head, l)
			continue
		}
		words := strings.Fields(l)
		if len(words) < 4 {
			return nil, fmt.Errorf("no gate with its needs: %q", l)
		}
		what := strings.Join(slices.Concat(words[:1], words[2:]), " ")
		for w := range strings.SplitSeq(words[1], ",") {
			m, err := strconv.Atoi(w)
			if err != nil {
				return nil, fmt.Errorf("no minor version: %q in %q", w, l)
			}
			n.in[what] = append(n.in[what], m)
		}
	}
	return n, nil
}

// Remove takes a minor version out.
func (n *Needs) Remove(minor int) {
	for what, minors := range n.in {
		if n.in[what] = slices.DeleteFunc(minors, func(m int) bool { return m == minor }); len(n.in[what]) == 0 {
			delete(n.in, what)
		}
	}
}

// ofFields returns the gates of a minor version that are listed though they neither need others nor are
// needed by one: fields and flags need them.
func (n *Needs) ofFields(minor int) map[string]bool {
	listed, needed := map[string]bool{}, map[string]bool{}
	for what, minors := range n.in {
		words := strings.Fields(what)
		if !slices.Contains(minors, minor) {
			continue
		}
		listed[words[0]] = len(words) == 3
		for _, other := range words[3:] {
			needed[other] = true
		}
	}
	maps.DeleteFunc(listed, func(name string, alone bool) bool { return !alone || needed[name] })
	return listed
}

// Add writes the gates of a minor version that need others or are needed, and those that fields and flags
// need in the minor version before. Gates that are locked are left out.
func (n *Needs) Add(minor int, gates map[string]Gate) {
	listed := n.ofFields(minor - 1)
	n.Remove(minor)
	free := func(name string) bool { g, known := gates[name]; return known && g.Locked == "" }
	needed := map[string][]string{}
	for name, g := range gates {
		for _, other := range g.Needs {
			if free(name) && free(other) {
				needed[name] = append(needed[name], other)
				listed[name], listed[other] = true, true
			}
		}
	}
	for name := range listed {
		if g := gates[name]; free(name) {
			on := map[bool]string{true: "on", false: "off"}[g.Default]
			slices.Sort(needed[name])
			what := strings.Join(append([]string{name, g.Stage, on}, needed[name]...), " ")
			n.in[what] = append(n.in[what], minor)
		}
	}
}

// String returns the table as text, its lines sorted.
func (n *Needs) String() string {
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(n.in)) {
		words := strings.Fields(what)
		slices.Sort(n.in[what])
		var minors []string
		for _, m := range n.in[what] {
			minors = append(minors, strconv.Itoa(m))
		}
		lines = append(lines, strings.Join(slices.Concat(words[:1], []string{strings.Join(minors, ",")}, words[1:]), " "))
	}
	slices.Sort(lines)
	return strings.Join(append(slices.Clone(n.head), lines...), "\n") + "\n"
}
