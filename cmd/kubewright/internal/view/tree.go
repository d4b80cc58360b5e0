package view

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// changePrinter prints changes on a page.
type changePrinter struct{ *page }

// entry is a line of a plan, or a block of lines: what is printed of a
// resource before it is laid out.
type entry struct {
	sym symbol
	// key and text are printed as key = text, with = aligned among neighbours;
	// head is printed instead of key where there is nothing to align.
	key, head, text string
	// note is a comment behind the text: where the value was written.
	note string
	// body are lines of a multi-line value, one level deeper; tail closes it.
	body []bodyLine
	tail string
	// kids make the entry a block.
	kids  []entry
	block bool
	// comment makes the entry a comment line: text, at the column of symbols,
	// or of text when indented.
	comment, indented bool
	// of is the change of a new item that the entry shows in brief.
	of *planner.Change
}

type bodyLine struct {
	sym  symbol
	text string
}

// laidLine is one line of a plan: a symbol and a text at a depth. A remark, which
// says what an action means, stands in the column of symbols and has none.
type laidLine struct {
	depth  int
	sym    symbol
	text   string
	remark bool
}

// print prints entries at a depth.
func (p changePrinter) print(entries []entry, depth int) {
	for _, l := range p.layout(entries, depth) {
		indent := strings.Repeat("    ", l.depth)
		if l.remark {
			p.line(indent, "  ", l.text)
			continue
		}
		p.line(indent, p.mark(l.sym), " ", l.text)
	}
}

// layout lays out entries at a depth.
func (p changePrinter) layout(entries []entry, depth int) []laidLine {
	keys, notes := p.columns(entries)
	var out []laidLine
	for _, e := range entries {
		out = append(out, p.layoutEntry(e, depth, keys, notes)...)
	}
	return out
}

// columns finds how wide the keys are, and where comments begin.
func (p changePrinter) columns(entries []entry) (keys, notes int) {
	for _, e := range entries {
		if e.key != "" && !e.block {
			keys = max(keys, ansi.StringWidth(e.key))
		}
	}
	for _, e := range entries {
		if w := ansi.StringWidth(e.text); e.note != "" && e.key != "" && keys+w <= maxNoteColumn {
			notes = max(notes, w)
		}
	}
	return keys, notes
}

// A comment behind a value stands this far from it; values longer than the
// second figure do not push the comments of their neighbours away.
const (
	noteGap       = 8
	maxNoteColumn = 56
)

func (p changePrinter) layoutEntry(e entry, depth, keys, notes int) []laidLine {
	if e.comment {
		return p.layoutComment(e, depth)
	}
	var text string
	switch {
	case e.block:
		text = e.head + e.key + " {"
	case e.head != "":
		text = e.head + e.text
	default:
		text = fill(e.key, keys) + " = " + e.text
	}
	if e.note != "" {
		gap := 2
		if w := ansi.StringWidth(e.text); !e.block && w <= notes {
			gap = notes - w + noteGap
		}
		text += strings.Repeat(" ", gap) + p.dim("# "+e.note)
	}
	out := []laidLine{{depth: depth, sym: e.sym, text: text}}
	for _, l := range e.body {
		out = append(out, laidLine{depth: depth + 1, sym: l.sym, text: l.text})
	}
	if e.tail != "" {
		out = append(out, laidLine{depth: depth, sym: unchanged, text: e.tail})
	}
	if e.block {
		out = append(out, p.layout(e.kids, depth+1)...)
		out = append(out, laidLine{depth: depth, sym: unchanged, text: "}"})
	}
	return out
}

// layoutComment wraps a comment under itself.
func (p changePrinter) layoutComment(e entry, depth int) []laidLine {
	column := strings.Repeat("    ", depth) + "  "
	if e.indented {
		column += "  "
	}
	var out []laidLine
	for i, line := range strings.Split(wrap(e.text, p.width, column+"# "), "\n") {
		if i > 0 {
			line = strings.TrimPrefix(line, column)
		}
		out = append(out, laidLine{depth: depth, sym: unchanged, text: p.commentColor(e)(line), remark: !e.indented})
	}
	return out
}

// commentColor dims what only counts, and marks what an action means.
func (p changePrinter) commentColor(e entry) func(string) string {
	if e.indented {
		return p.dim
	}
	return p.yellow
}

// branch is a node of the tree that the paths of changed attributes make.
type branch struct {
	key    string
	change *planner.AttributeChange
	kids   []*branch
}

// grow builds the tree of changed attributes, in their order.
func grow(changes []planner.AttributeChange) *branch {
	root := &branch{}
	for i := range changes {
		b := root
		for _, k := range state.SplitPath(changes[i].Path) {
			b = b.kid(k)
		}
		b.change = &changes[i]
	}
	return root
}

func (b *branch) kid(key string) *branch {
	for _, k := range b.kids {
		if k.key == key {
			return k
		}
	}
	k := &branch{key: key}
	b.kids = append(b.kids, k)
	return k
}

// entries turns the tree below a branch into entries; sym is that of blocks.
func (p changePrinter) entries(b *branch, sym symbol) []entry {
	var out []entry
	for _, k := range b.kids {
		if k.change != nil {
			out = append(out, p.attribute(key(k.key), *k.change))
		}
		if len(k.kids) > 0 {
			out = append(out, entry{sym: sym, key: key(k.key), block: true, kids: p.entries(k, sym)})
		}
	}
	return out
}

// outsideNote is behind an attribute that somebody else has changed, and begins the
// reason of an item of which nothing else changes.
const outsideNote = "changed outside"

// attribute returns one changed attribute.
func (p changePrinter) attribute(name string, c planner.AttributeChange) entry {
	e := p.difference(name, c)
	if c.Outside {
		e.note = strings.Join(notEmpty(e.note, outsideNote), ", ")
	}
	return e
}

func (p changePrinter) difference(name string, c planner.AttributeChange) entry {
	e := entry{key: name, sym: changed, note: sourceNote(c.Origin)}
	before, after := c.Before, c.After
	if !p.full {
		before, after = shortDigest(before), shortDigest(after)
	}
	switch {
	case before.IsNull():
		e.sym = added
		return p.oneSided(e, after, partNotes(c.Origins), "")
	case after.IsNull():
		e.sym = removed
		return p.oneSided(e, before, nil, "")
	case before.Kind() == state.KindSensitive || after.Kind() == state.KindSensitive:
		e.text = secretChange(before, after)
	case multiline(before) || multiline(after):
		p.textDiff(&e, before, after)
	case isList(before) && isList(after):
		p.listDiff(&e, before, after, partNotes(c.Origins))
	case before.Kind() == state.KindMap && after.Kind() == state.KindMap:
		p.mapDiff(&e, before, after)
	default:
		e.text = inline(before) + p.yellow(" -> ") + inline(after)
	}
	return e
}

// partNotes returns the lines that want the parts of a value, where they are not the same.
func partNotes(origins map[string]state.Source) map[string]string {
	var out map[string]string
	for path, s := range origins {
		if out == nil {
			out = map[string]string{}
		}
		out[path] = sourceNote(s)
	}
	return out
}

// oneSided returns an attribute that comes or goes as a whole, or what is at a path in one.
// Where several lines want it, each part has its own.
func (p changePrinter) oneSided(e entry, v state.Value, notes map[string]string, path string) entry {
	if notes != nil {
		e.note = notes[path]
	}
	members, ok := nested(v)
	if !ok && len(v.AsList()) > 0 && arguments(v) {
		members, ok = argumentsOf(v), true
	}
	if ok {
		e.block = true
		for _, m := range members {
			e.kids = append(e.kids, p.oneSided(entry{sym: e.sym, key: key(m.key)}, m.value, notes, state.JoinPath(path, m.key)))
		}
		return e
	}
	if notes != nil && path == "" && isList(v) {
		e.text, e.tail = "[", "]"
		for _, line := range elements(v) {
			e.body = append(e.body, bodyLine{e.sym, line})
		}
		p.noteElements(&e, v, notes)
		return e
	}
	if multiline(v) {
		lines := textLines(v)
		e.tail = delimiter(lines)
		e.text = "<<-" + e.tail
		for _, line := range lines {
			e.body = append(e.body, bodyLine{e.sym, line})
		}
		return e
	}
	e.text = inline(v)
	if e.sym == removed {
		e.text += p.dim(" -> null")
	}
	return e
}

// argumentsOf returns the elements of a list of arguments, each by its name.
func argumentsOf(list state.Value) []member {
	var out []member
	for _, x := range list.AsList() {
		out = append(out, member{key: x.Get("name").AsString(), value: x.Get("value")})
	}
	return out
}
