package diffview

import (
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

const maxNoteColumn = 56

// branch is a node of the tree that the paths of changed attributes form.
type branch struct {
	key    string
	change *planner.AttributeChange
	kids   []*branch
}

// Grow builds the tree of changed attributes, in their order.
func Grow(changes []planner.AttributeChange) *branch {
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

// Entries turns the tree below a branch into entries; sym is the symbol of blocks.
func (p Printer) Entries(b *branch, sym ui.Symbol) []Entry {
	var out []Entry
	for _, k := range b.kids {
		if k.change != nil {
			out = append(out, p.Attribute(ui.Key(k.key), *k.change))
		}
		if len(k.kids) > 0 {
			out = append(out, Entry{Sym: sym, Key: ui.Key(k.key), Block: true, Kids: p.Entries(k, sym)})
		}
	}
	return out
}

// OutsideNote marks an attribute that changed outside of kubewright, and begins the reason of
// an item with no other change.
const OutsideNote = "changed outside"

// Attribute returns one changed attribute.
func (p Printer) Attribute(name string, c planner.AttributeChange) Entry {
	e := p.difference(name, c)
	if c.Outside {
		e.Note = strings.Join(ui.NonEmpty(e.Note, OutsideNote), ", ")
	}
	return e
}

func (p Printer) difference(name string, c planner.AttributeChange) Entry {
	e := Entry{Key: name, Sym: ui.Changed, Note: ui.SourceNote(c.Origin)}
	before, after := c.Before, c.After
	if !p.Full {
		before, after = ui.ShortDigest(before), ui.ShortDigest(after)
	}
	switch {
	case before.IsNull():
		e.Sym = ui.Added
		return p.oneSided(e, after, partNotes(c.Origins), "")
	case after.IsNull():
		e.Sym = ui.Removed
		return p.oneSided(e, before, nil, "")
	case before.Kind() == state.KindSensitive || after.Kind() == state.KindSensitive:
		e.Text = ui.SecretChange(before, after)
	case ui.Multiline(before) || ui.Multiline(after):
		p.textDiff(&e, before, after)
	case ui.IsList(before) && ui.IsList(after):
		p.listDiff(&e, before, after, partNotes(c.Origins))
	case before.Kind() == state.KindMap && after.Kind() == state.KindMap:
		p.mapDiff(&e, before, after)
	default:
		e.Text = ui.Inline(before) + p.Yellow(" -> ") + ui.Inline(after)
	}
	return e
}

// partNotes returns the lines of the configuration for the parts of a value, if they differ.
func partNotes(origins map[string]state.Source) map[string]string {
	var out map[string]string
	for path, s := range origins {
		if out == nil {
			out = map[string]string{}
		}
		out[path] = ui.SourceNote(s)
	}
	return out
}

// oneSided returns an attribute that is added or removed as a whole, or the value at a path of
// one. If several lines of the configuration set it, each part has its own.
func (p Printer) oneSided(e Entry, v state.Value, notes map[string]string, path string) Entry {
	if notes != nil {
		e.Note = notes[path]
	}
	members, ok := ui.Members(v)
	if !ok && len(v.AsList()) > 0 && areArguments(v) {
		members, ok = argumentMembers(v), true
	}
	if ok {
		e.Block = true
		for _, m := range members {
			e.Kids = append(e.Kids, p.oneSided(Entry{Sym: e.Sym, Key: ui.Key(m.Key)}, m.Value, notes, state.JoinPath(path, m.Key)))
		}
		return e
	}
	if notes != nil && path == "" && ui.IsList(v) {
		e.Text, e.tail = "[", "]"
		for _, line := range elements(v) {
			e.Body = append(e.Body, BodyLine{e.Sym, line})
		}
		p.noteElements(&e, v, notes)
		return e
	}
	if ui.Multiline(v) {
		lines := ui.TextLines(v)
		e.tail = ui.Delimiter(lines)
		e.Text = "<<-" + e.tail
		for _, line := range lines {
			e.Body = append(e.Body, BodyLine{e.Sym, line})
		}
		return e
	}
	e.Text = ui.Inline(v)
	if e.Sym == ui.Removed {
		e.Text += p.Dim(" -> null")
	}
	return e
}

// argumentMembers returns the elements of a list of arguments by name.
func argumentMembers(list state.Value) []ui.Member {
	var out []ui.Member
	for _, x := range list.AsList() {
		out = append(out, ui.Member{Key: x.Get("name").AsString(), Value: x.Get("value")})
	}
	return out
}
