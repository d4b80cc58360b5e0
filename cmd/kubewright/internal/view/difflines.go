package view

import (
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// contextLines is how many unchanged lines are shown around a changed one.
const contextLines = 3

// textDiff shows two texts of several lines as one, line by line.
func (p changePrinter) textDiff(e *entry, before, after state.Value) {
	was, is := textLines(before), textLines(after)
	e.tail = delimiter(was, is)
	e.text = "<<-" + e.tail
	e.body = p.diffLines(was, is, "line")
	if len(e.body) == 0 {
		e.text += " # only the last line break differs"
	}
}

// listDiff shows two lists: by the names of their elements where all have one, on one
// line when both are short and one line of the configuration wants what is new, else by
// element. Where only what is sensitive differs
// there is nothing else to say.
func (p changePrinter) listDiff(e *entry, before, after state.Value, notes map[string]string) {
	if inline(before) == inline(after) && after.HasSensitive() {
		e.text = sensitiveValue
		return
	}
	if p.namedDiff(e, before, after, notes) {
		return
	}
	short := inline(before) + p.yellow(" -> ") + inline(after)
	if ansi.StringWidth(short) <= shortList && notes == nil {
		e.text = short
		return
	}
	e.text, e.tail = "[", "]"
	e.body = p.diffLines(elements(before), elements(after), "element")
	p.noteElements(e, after, notes)
}

// noteElements puts the line that wants an element behind each one that is new.
func (p changePrinter) noteElements(e *entry, list state.Value, notes map[string]string) {
	if notes == nil {
		return
	}
	e.note = ""
	of := map[string]string{}
	for i, line := range elements(list) {
		if list.Kind() == state.KindArgs {
			of[line] = notes[state.JoinPath("", list.AsArgs()[i].Name)]
		} else if key := state.ElementKey(list.AsList()[i]); key != "" {
			of[line] = notes[state.JoinPath("", key)]
		}
	}
	column := 0
	for _, l := range e.body {
		if w := ansi.StringWidth(l.text); w <= maxNoteColumn && l.sym == added {
			column = max(column, w)
		}
	}
	for i, l := range e.body {
		if note := of[l.text]; note != "" && l.sym == added {
			gap := max(2, column-ansi.StringWidth(l.text)+noteGap)
			e.body[i].text += strings.Repeat(" ", gap) + p.dim("# "+note)
		}
	}
}

// mapDiff is a map of which keys come, go or change: two that are short side by
// side, of others what changes.
func (p changePrinter) mapDiff(e *entry, before, after state.Value) {
	short := inline(before) + p.yellow(" -> ") + inline(after)
	if ansi.StringWidth(short) <= shortList {
		e.text = short
		return
	}
	was, is := before.AsMap(), after.AsMap()
	keys := slices.Compact(slices.Sorted(slices.Values(append(before.Keys(), after.Keys()...))))
	p.keyedDiff(e, keys, was, is, nil)
}

// keyedDiff makes a block of what differs of two values that have these keys.
func (p changePrinter) keyedDiff(e *entry, keys []string, was, is map[string]state.Value, notes map[string]string) {
	e.block = true
	same := 0
	for _, k := range keys {
		if was[k].Equal(is[k]) {
			same++
			continue
		}
		kid := p.attribute(key(k), planner.AttributeChange{Before: was[k], After: is[k]})
		kid.note = notes[state.JoinPath("", k)]
		e.kids = append(e.kids, kid)
	}
	if same > 0 {
		e.kids = append(e.kids, entry{comment: true, indented: true, text: "# (" + plural(same, "unchanged element") + " hidden)"})
	}
}

// namedDiff shows two lists whose elements go by their names, as clusters of a
// kubeconfig and arguments do, as a block of those that differ. In which order they
// stand means something: lists in which it changes are not shown so.
func (p changePrinter) namedDiff(e *entry, before, after state.Value, notes map[string]string) bool {
	had, was := named(before)
	names, is := named(after)
	if was == nil || is == nil {
		return false
	}
	names, ok := merged(had, names)
	if !ok {
		return false
	}
	if arguments(before) && arguments(after) {
		was, is = valuesOf(was), valuesOf(is)
	}
	if notes != nil {
		e.note = ""
	}
	p.keyedDiff(e, names, was, is, notes)
	return true
}

// named returns the names of a list's elements, in their order, and what the elements are
// beside; nothing where one has no name or two have the same.
func named(list state.Value) ([]string, map[string]state.Value) {
	if list.Kind() != state.KindList {
		return nil, nil
	}
	var names []string
	out := map[string]state.Value{}
	for _, x := range list.AsList() {
		name := state.ElementKey(x)
		if _, twice := out[name]; twice || name == "" || x.Kind() != state.KindMap {
			return nil, nil
		}
		rest := maps.Clone(x.AsMap())
		delete(rest, "name")
		names, out[name] = append(names, name), state.Map(rest)
	}
	return names, out
}

// merged returns the names of two lists, in their order; not where that is another one.
func merged(had, has []string) ([]string, bool) {
	var names []string
	for _, name := range had {
		i := slices.Index(has, name)
		switch {
		case i >= 0:
			names, has = append(names, has[:i+1]...), has[i+1:]
		case slices.Contains(names, name):
			return nil, false
		default:
			names = append(names, name)
		}
	}
	return append(names, has...), true
}

// arguments reports whether all that the elements of a list have is a name and a value, as
// those of kubeadm's extraArgs.
func arguments(list state.Value) bool {
	return list.Kind() == state.KindList && !slices.ContainsFunc(list.AsList(), func(x state.Value) bool {
		return x.Kind() != state.KindMap || len(x.AsMap()) != 2 || x.Get("name").AsString() == "" || x.Get("value").IsNull()
	})
}

func valuesOf(named map[string]state.Value) map[string]state.Value {
	out := map[string]state.Value{}
	for name, x := range named {
		out[name] = x.Get("value")
	}
	return out
}

// shortList is how wide two lists or maps may be to share a line.
const shortList = 50

// elements returns the elements of a list, each on a line with its comma.
func elements(v state.Value) []string {
	list := v.AsList()
	if v.Kind() == state.KindArgs {
		list = argStrings(v.AsArgs())
	}
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = inline(x) + ","
	}
	return out
}

// diffLines compares line by line and counts what is unchanged and far away.
func (p changePrinter) diffLines(before, after []string, what string) []bodyLine {
	a, b := joinLines(before), joinLines(after)
	u, err := udiff.ToUnifiedDiff("", "", a, udiff.Lines(a, b), contextLines)
	if err != nil || len(u.Hunks) == 0 {
		return nil
	}
	var out []bodyLine
	line := 1 // of before
	for _, h := range u.Hunks {
		out = p.hidden(out, h.FromLine-line, what)
		line = h.FromLine
		for _, l := range h.Lines {
			text := strings.TrimSuffix(l.Content, "\n")
			switch l.Kind {
			case udiff.Insert:
				out = append(out, bodyLine{added, text})
			case udiff.Delete:
				out = append(out, bodyLine{removed, text})
				line++
			default:
				out = append(out, bodyLine{unchanged, text})
				line++
			}
		}
	}
	return p.hidden(out, len(before)+1-line, what)
}

func (p changePrinter) hidden(out []bodyLine, n int, what string) []bodyLine {
	if n <= 0 {
		return out
	}
	return append(out, bodyLine{unchanged, p.dim("# (" + plural(n, "unchanged "+what) + " hidden)")})
}

func joinLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
