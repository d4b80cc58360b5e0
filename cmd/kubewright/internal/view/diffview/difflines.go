package diffview

import (
	"maps"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// contextLines is the number of unchanged lines that are shown around a changed one.
const contextLines = 3

// textDiff shows two texts of several lines as one, line by line.
func (p Printer) textDiff(e *Entry, before, after state.Value) {
	was, is := ui.TextLines(before), ui.TextLines(after)
	e.tail = ui.Delimiter(was, is)
	e.Text = "<<-" + e.tail
	e.Body = p.diffLines(was, is, "line")
	if len(e.Body) == 0 {
		e.Text += " # only the last line break differs"
	}
}

// listDiff shows two lists: by the names of their elements if all have one, on one line if both
// are short and one line of the configuration sets the new one, else by element. If only
// sensitive parts differ, it shows nothing else.
func (p Printer) listDiff(e *Entry, before, after state.Value, notes map[string]string) {
	if ui.Inline(before) == ui.Inline(after) && after.HasSensitive() {
		e.Text = ui.SensitiveValue
		return
	}
	if p.namedDiff(e, before, after, notes) {
		return
	}
	short := ui.Inline(before) + p.Yellow(" -> ") + ui.Inline(after)
	if ansi.StringWidth(short) <= shortList && notes == nil {
		e.Text = short
		return
	}
	e.Text, e.tail = "[", "]"
	e.Body = p.diffLines(elements(before), elements(after), "element")
	p.noteElements(e, after, notes)
}

// noteElements adds, after each new element, the line of the configuration that sets it.
func (p Printer) noteElements(e *Entry, list state.Value, notes map[string]string) {
	if notes == nil {
		return
	}
	e.Note = ""
	of := map[string]string{}
	for i, line := range elements(list) {
		if list.Kind() == state.KindArgs {
			of[line] = notes[state.JoinPath("", list.AsArgs()[i].Name)]
		} else if key := state.ElementKey(list.AsList()[i]); key != "" {
			of[line] = notes[state.JoinPath("", key)]
		}
	}
	column := 0
	for _, l := range e.Body {
		if w := ansi.StringWidth(l.Text); w <= maxNoteColumn && l.Sym == ui.Added {
			column = max(column, w)
		}
	}
	for i, l := range e.Body {
		if note := of[l.Text]; note != "" && l.Sym == ui.Added {
			gap := max(2, column-ansi.StringWidth(l.Text)+noteGap)
			e.Body[i].Text += strings.Repeat(" ", gap) + p.Dim("# "+note)
		}
	}
}

// mapDiff shows two maps: side by side if both are short, else the keys that differ.
func (p Printer) mapDiff(e *Entry, before, after state.Value) {
	short := ui.Inline(before) + p.Yellow(" -> ") + ui.Inline(after)
	if ansi.StringWidth(short) <= shortList {
		e.Text = short
		return
	}
	was, is := before.AsMap(), after.AsMap()
	keys := slices.Compact(slices.Sorted(slices.Values(append(before.Keys(), after.Keys()...))))
	p.keyedDiff(e, keys, was, is, nil)
}

// keyedDiff makes a block of the keys whose values differ.
func (p Printer) keyedDiff(e *Entry, keys []string, was, is map[string]state.Value, notes map[string]string) {
	e.Block = true
	same := 0
	for _, k := range keys {
		if was[k].Equal(is[k]) {
			same++
			continue
		}
		kid := p.Attribute(ui.Key(k), planner.AttributeChange{Before: was[k], After: is[k]})
		kid.Note = notes[state.JoinPath("", k)]
		e.Kids = append(e.Kids, kid)
	}
	if same > 0 {
		e.Kids = append(e.Kids, Entry{Comment: true, Indented: true, Text: "# (" + ui.Plural(same, "unchanged element") + " hidden)"})
	}
}

// namedDiff shows two lists whose elements have names, such as the clusters of a kubeconfig or
// arguments, as a block of the elements that differ. It does not show lists whose order changes,
// since order may have a meaning.
func (p Printer) namedDiff(e *Entry, before, after state.Value, notes map[string]string) bool {
	had, was := byName(before)
	names, is := byName(after)
	if was == nil || is == nil {
		return false
	}
	names, ok := mergedOrder(had, names)
	if !ok {
		return false
	}
	if areArguments(before) && areArguments(after) {
		was, is = valuesOf(was), valuesOf(is)
	}
	if notes != nil {
		e.Note = ""
	}
	p.keyedDiff(e, names, was, is, notes)
	return true
}

// byName returns the names of a list's elements, in their order, and the elements without their
// names; nothing if an element has no name or two have the same.
func byName(list state.Value) ([]string, map[string]state.Value) {
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

// mergedOrder returns the names of two lists in one order; ok is false if the lists order them
// differently.
func mergedOrder(had, has []string) ([]string, bool) {
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

// areArguments reports whether the elements of a list have a name and a value and nothing else,
// like kubeadm's extraArgs.
func areArguments(list state.Value) bool {
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

// shortList is the width up to which two lists or maps share a line.
const shortList = 50

// elements returns the elements of a list, each on a line with its comma.
func elements(v state.Value) []string {
	list := v.AsList()
	if v.Kind() == state.KindArgs {
		list = ui.ArgStrings(v.AsArgs())
	}
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = ui.Inline(x) + ","
	}
	return out
}

// diffLines compares line by line; unchanged lines away from a change are counted.
func (p Printer) diffLines(before, after []string, what string) []BodyLine {
	a, b := joinLines(before), joinLines(after)
	u, err := udiff.ToUnifiedDiff("", "", a, udiff.Lines(a, b), contextLines)
	if err != nil || len(u.Hunks) == 0 {
		return nil
	}
	var out []BodyLine
	line := 1 // in before
	for _, h := range u.Hunks {
		out = p.hidden(out, h.FromLine-line, what)
		line = h.FromLine
		for _, l := range h.Lines {
			text := strings.TrimSuffix(l.Content, "\n")
			switch l.Kind {
			case udiff.Insert:
				out = append(out, BodyLine{ui.Added, text})
			case udiff.Delete:
				out = append(out, BodyLine{ui.Removed, text})
				line++
			default:
				out = append(out, BodyLine{ui.Unchanged, text})
				line++
			}
		}
	}
	return p.hidden(out, len(before)+1-line, what)
}

func (p Printer) hidden(out []BodyLine, n int, what string) []BodyLine {
	if n <= 0 {
		return out
	}
	return append(out, BodyLine{ui.Unchanged, p.Dim("# (" + ui.Plural(n, "unchanged "+what) + " hidden)")})
}

func joinLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
