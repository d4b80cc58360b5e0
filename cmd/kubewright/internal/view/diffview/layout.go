package diffview

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
)

// Printer prints changes on a page.
type Printer struct{ *ui.Page }

// NewPrinter returns a printer on a new page.
func NewPrinter(o ui.Options) Printer { return Printer{ui.NewPage(o)} }

// Entry is a line of a plan, or a block of lines, before it is laid out.
type Entry struct {
	Sym ui.Symbol
	// Key and Text are printed as key = text, with = aligned among neighbours; Head replaces
	// Key if there is nothing to align.
	Key, Head, Text string
	// Note is a comment after the text: the line that sets the value.
	Note string
	// Body are the lines of a multi-line value, one level deeper; tail closes it.
	Body []BodyLine
	tail string
	// Kids make the entry a block.
	Kids  []Entry
	Block bool
	// Comment makes the entry a comment line: its text, in the column of symbols, or of text when
	// Indented.
	Comment, Indented bool
	// Of is the change of a new item that the entry shows in brief.
	Of *planner.Change
}

// BodyLine is a line of a multi-line value.
type BodyLine struct {
	Sym  ui.Symbol
	Text string
}

// LaidLine is one line of a plan: a symbol and a text at a depth. A remark, which explains what an
// action means, begins in the column of symbols and has none.
type LaidLine struct {
	Depth  int
	Sym    ui.Symbol
	Text   string
	remark bool
}

// Print prints entries at a depth.
func (p Printer) Print(entries []Entry, depth int) {
	for _, l := range p.Layout(entries, depth) {
		indent := strings.Repeat("    ", l.Depth)
		if l.remark {
			p.Line(indent, "  ", l.Text)
			continue
		}
		p.Line(indent, p.Mark(l.Sym), " ", l.Text)
	}
}

// Layout lays out entries at a depth.
func (p Printer) Layout(entries []Entry, depth int) []LaidLine {
	keys, notes := p.columns(entries)
	var out []LaidLine
	for _, e := range entries {
		out = append(out, p.layoutEntry(e, depth, keys, notes)...)
	}
	return out
}

// columns returns the width of the keys, and where comments begin.
func (p Printer) columns(entries []Entry) (keys, notes int) {
	for _, e := range entries {
		if e.Key != "" && !e.Block {
			keys = max(keys, ansi.StringWidth(e.Key))
		}
	}
	for _, e := range entries {
		if w := ansi.StringWidth(e.Text); e.Note != "" && e.Key != "" && keys+w <= maxNoteColumn {
			notes = max(notes, w)
		}
	}
	return keys, notes
}

// noteGap separates a comment from its value; values longer than maxNoteColumn do not move the
// comments of their neighbours.
const noteGap = 8

func (p Printer) layoutEntry(e Entry, depth, keys, notes int) []LaidLine {
	if e.Comment {
		return p.layoutComment(e, depth)
	}
	var text string
	switch {
	case e.Block:
		text = e.Head + e.Key + e.Text + " {"
	case e.Head != "":
		text = e.Head + e.Text
	default:
		text = ui.Fill(e.Key, keys) + " = " + e.Text
	}
	if e.Note != "" {
		gap := 2
		if w := ansi.StringWidth(e.Text); !e.Block && w <= notes {
			gap = notes - w + noteGap
		}
		text += strings.Repeat(" ", gap) + p.Dim("# "+e.Note)
	}
	out := []LaidLine{{Depth: depth, Sym: e.Sym, Text: text}}
	for _, l := range e.Body {
		out = append(out, LaidLine{Depth: depth + 1, Sym: l.Sym, Text: l.Text})
	}
	if e.tail != "" {
		out = append(out, LaidLine{Depth: depth, Sym: ui.Unchanged, Text: e.tail})
	}
	if e.Block {
		out = append(out, p.Layout(e.Kids, depth+1)...)
		out = append(out, LaidLine{Depth: depth, Sym: ui.Unchanged, Text: "}"})
	}
	return out
}

// layoutComment wraps a comment below its own beginning.
func (p Printer) layoutComment(e Entry, depth int) []LaidLine {
	column := strings.Repeat("    ", depth) + "  "
	if e.Indented {
		column += "  "
	}
	var out []LaidLine
	for i, line := range strings.Split(ui.Wrap(e.Text, p.Width, column+"# "), "\n") {
		if i > 0 {
			line = strings.TrimPrefix(line, column)
		}
		out = append(out, LaidLine{Depth: depth, Sym: ui.Unchanged, Text: p.commentColor(e)(line), remark: !e.Indented})
	}
	return out
}

// commentColor dims counts, and marks what an action means.
func (p Printer) commentColor(e Entry) func(string) string {
	if e.Indented {
		return p.Dim
	}
	return p.Yellow
}
