package minor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Table is the lines of a table by minor version: words, and the minor versions that have them.
type Table struct {
	head []string // comments
	// keys and words are how many words name a line, and come before its minor versions.
	keys, words int
	// lines are the lines by the words that name them.
	lines map[string]*line
	all   []int // what the word all stands for
}

type line struct {
	words []string
	// minors are the minor versions that have it, with the value to which a gate is locked there.
	minors map[int]string
}

// Parse reads a table, in which the word all stands for the minor versions from first to last.
func Parse(text string, keys, words, first, last int) (*Table, error) {
	t := &Table{keys: keys, words: words, lines: map[string]*line{}}
	for m := first; m <= last; m++ {
		t.all = append(t.all, m)
	}
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		parts := strings.Fields(l)
		switch {
		case strings.HasPrefix(l, "#"):
			t.head = append(t.head, l)
			continue
		case len(parts) <= words:
			return nil, fmt.Errorf("no line of a table: %q", l)
		}
		x := &line{parts[:words:words], map[int]string{}}
		for _, w := range parts[words:] {
			if w == "all" {
				for _, m := range t.all {
					x.minors[m] = ""
				}
				continue
			}
			number, locked, _ := strings.Cut(w, "=")
			m, err := strconv.Atoi(number)
			if err != nil {
				return nil, fmt.Errorf("no minor version: %q in %q", w, l)
			}
			x.minors[m] = locked
		}
		t.lines[strings.Join(parts[:keys], " ")] = x
	}
	return t, nil
}

// Remove takes a minor version out.
func (t *Table) Remove(minor int) {
	t.all = slices.DeleteFunc(t.all, func(m int) bool { return m == minor })
	for key, x := range t.lines {
		if delete(x.minors, minor); len(x.minors) == 0 {
			delete(t.lines, key)
		}
	}
}

// Add writes what a minor version has: the value to which each line is locked, by what names it. A line
// that no minor version had gets the rest of its words from others. It returns the names of these.
func (t *Table) Add(minor int, has map[string]string, others func(key string) []string) []string {
	if !slices.Contains(t.all, minor) {
		t.all = append(t.all, minor)
		slices.Sort(t.all)
	}
	for key, x := range t.lines {
		delete(x.minors, minor)
		if _, there := has[key]; !there && len(x.minors) == 0 {
			delete(t.lines, key)
		}
	}
	var made []string
	for _, key := range slices.Sorted(maps.Keys(has)) {
		if t.lines[key] == nil {
			t.lines[key] = &line{append(strings.Fields(key), others(key)...), map[int]string{}}
			made = append(made, key)
		}
		t.lines[key].minors[minor] = has[key]
	}
	return made
}

// Had returns what a minor version has, as Add takes it.
func (t *Table) Had(minor int) map[string]string {
	out := map[string]string{}
	for key, x := range t.lines {
		if locked, there := x.minors[minor]; there {
			out[key] = locked
		}
	}
	return out
}

// String returns the table as text, its lines sorted.
func (t *Table) String() string {
	var lines []string
	for _, x := range t.lines {
		lines = append(lines, strings.Join(append(slices.Clone(x.words), t.minors(x)...), " "))
	}
	slices.Sort(lines)
	return strings.Join(append(slices.Clone(t.head), lines...), "\n") + "\n"
}

func (t *Table) minors(x *line) []string {
	var out []string
	everywhere := true
	for _, m := range t.all {
		locked, there := x.minors[m]
		everywhere = everywhere && there && locked == ""
		switch {
		case there && locked != "":
			out = append(out, strconv.Itoa(m)+"="+locked)
		case there:
			out = append(out, strconv.Itoa(m))
		}
	}
	if everywhere {
		return []string{"all"}
	}
	return out
}
