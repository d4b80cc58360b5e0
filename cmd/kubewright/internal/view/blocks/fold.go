package blocks

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/diffview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Printer prints resources as blocks.
type Printer struct{ diffview.Printer }

// NewPrinter returns a printer on a new page.
func NewPrinter(o ui.Options) Printer { return Printer{diffview.NewPrinter(o)} }

// PrintResources prints each resource once. Nodes whose blocks are the same up to their own names
// and addresses are named below the first of them.
func (p Printer) PrintResources(resources []Resource) {
	nodes, repeating := SplitRepeating(resources, p.Full)
	groups := p.Fold(nodes)
	last := lastNode(groups)
	seen := NewShownItems()
	for i, g := range groups {
		first := p.Elide(g[0], seen)
		for _, c := range first.comments {
			p.Line("  # ", c)
		}
		p.Print([]diffview.Entry{first.Entry}, 0)
		p.Line()
		var notes []string
		if len(g) > 1 {
			notes = append(notes, "the same for "+ui.NodeRanges(p.Others(g[1:])))
		}
		if i == last {
			notes = append(notes, repeating...)
		}
		if len(notes) > 0 {
			p.Line("  (", ui.Wrap(strings.Join(notes, "; "), p.Width-3, "   "), ")")
			p.Line()
		}
	}
}

// Elide removes from a new node the items that a node printed before has as well, up to names and
// addresses, and notes that node. New items that differ show the difference.
func (p Printer) Elide(r Resource, seen *ShownItems) Resource {
	if r.Target.Type != state.TypeNode || p.Full {
		return r
	}
	own := replacer(r.names.all, "<self>")
	var kept []diffview.Entry
	var phases itemsByNode
	for _, ph := range r.Entry.Kids {
		rest, repeated := p.splitRepeated(r, own, ph, seen)
		switch {
		case r.Action != planner.Create:
		case ph.Block && len(rest) == 0 && len(repeated.nodes) == 1:
			phases.add(repeated.nodes[0], ph.Head)
			continue
		case repeated.largest() >= minElided || len(rest) == 0 && ph.Block:
			for _, first := range repeated.nodes {
				rest = append(rest, sameAsNote(ui.Plural(len(repeated.items[first]), "item"), first))
			}
			ph.Kids = rest
			kept = append(kept, ph)
			continue
		}
		kids := make([]diffview.Entry, len(ph.Kids))
		for i, it := range ph.Kids {
			kids[i] = seen.compared(p.Printer, r, own, ph, it)
		}
		ph.Kids = kids
		kept = append(kept, ph)
	}
	for _, first := range phases.nodes {
		kept = append(kept, sameAsNote(ui.CommaList(phases.items[first]), first))
	}
	r.Entry.Kids = kept
	return r
}

func sameAsNote(what, first string) diffview.Entry {
	return diffview.Entry{Comment: true, Indented: true, Text: "# (" + what + " as on " + first + ")"}
}

// splitRepeated separates new items of a phase from those that another node has shown with the
// same content, and remembers the new ones.
func (p Printer) splitRepeated(r Resource, own func(string) string, ph diffview.Entry, seen *ShownItems) (rest []diffview.Entry, repeated itemsByNode) {
	for _, it := range ph.Kids {
		if where, ok := seen.firstShownOn(r, own, ph, it); ok {
			repeated.add(where, it.Head)
			continue
		}
		rest = append(rest, seen.compared(p.Printer, r, own, ph, it))
	}
	return rest, repeated
}

// minElided is the number of lines that a comment has to save.
const minElided = 3

// itemsByNode collects repeated items by the node that showed them first, in the order of their
// discovery.
type itemsByNode struct {
	nodes []string
	items map[string][]string
}

func (t *itemsByNode) add(where, what string) {
	if t.items == nil {
		t.items = map[string][]string{}
	}
	if t.items[where] == nil {
		t.nodes = append(t.nodes, where)
	}
	t.items[where] = append(t.items[where], what)
}

func (t *itemsByNode) largest() int {
	n := 0
	for _, w := range t.items {
		n = max(n, len(w))
	}
	return n
}

// SplitRepeating removes the clusters that only repeat the changes of their nodes, and returns a
// sentence for each.
func SplitRepeating(resources []Resource, full bool) (rest []Resource, sentences []string) {
	for _, r := range resources {
		if len(r.repeatedObjects) == 0 || full {
			rest = append(rest, r)
			continue
		}
		verb := " changes with them"
		if len(r.repeatedObjects) > 1 {
			verb = " change with them"
		}
		sentences = append(sentences, ui.Clean(r.Target.String())+": "+strings.Join(r.repeatedObjects, ", ")+verb)
	}
	return rest, sentences
}

// lastNode returns the index of the last group of nodes that are updated, or -1.
func lastNode(groups [][]Resource) int {
	last := -1
	for i, g := range groups {
		if g[0].Target.Type == state.TypeNode && g[0].Action == planner.Update {
			last = i
		}
	}
	return last
}

// Others returns short names of folded nodes. A replacement or an unusual reason is part of the
// comment lines, which are the same for all of them.
func (p Printer) Others(rs []Resource) []string {
	out := make([]string, len(rs))
	for i, r := range rs {
		out[i] = r.names.title
	}
	return out
}

// Fold groups resources that look the same, in the order of the first of each group.
func (p Printer) Fold(resources []Resource) [][]Resource {
	var groups [][]Resource
	place := map[string]int{}
	var all []string
	for _, r := range resources {
		all = append(all, r.names.all...)
	}
	other := newWords(all)
	for _, r := range resources {
		shape := ""
		if r.Target.Type == state.TypeNode && !p.Full {
			shape = p.shape(r, other)
		}
		if i, ok := place[shape]; ok && shape != "" {
			groups[i] = append(groups[i], r)
			continue
		}
		place[shape] = len(groups)
		groups = append(groups, []Resource{r})
	}
	return groups
}

// shape returns the resource's text without its own names and addresses. In comments, such as
// which nodes stay up meanwhile, the names of other nodes are removed too; in values they count.
func (p Printer) shape(r Resource, other words) string {
	text := diffview.NewPrinter(ui.Options{Width: ui.Endless})
	for _, c := range r.comments {
		text.Line("# ", ansi.Strip(c))
	}
	text.Print([]diffview.Entry{plainEntry(r.Entry)}, 0)
	own := replacer(r.names.all, "<self>")
	lines := append(strings.Split(text.String(), "\n"), contents(r.Entry)...)
	for i, line := range lines {
		line = own(line)
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			line = other.replace(line, "<other>")
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// plainEntry removes colour from an entry.
func plainEntry(e diffview.Entry) diffview.Entry {
	e.Text, e.Head, e.Key = ansi.Strip(e.Text), ansi.Strip(e.Head), ansi.Strip(e.Key)
	e.Text = strings.Join(strings.Fields(e.Text), " ")
	kids := make([]diffview.Entry, len(e.Kids))
	for i, k := range e.Kids {
		kids[i] = plainEntry(k)
	}
	body := make([]diffview.BodyLine, len(e.Body))
	for i, l := range e.Body {
		body[i] = diffview.BodyLine{Sym: l.Sym, Text: ansi.Strip(l.Text)}
	}
	e.Kids, e.Body = kids, body
	return e
}
