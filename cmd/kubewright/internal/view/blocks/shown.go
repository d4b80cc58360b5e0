package blocks

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/diffview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// ShownItems are the new items that a plan has shown so far. New items are printed in brief but
// compared by their content, without the names and addresses of their nodes: two items with the
// same brief line may differ.
type ShownItems struct {
	// nodes maps a digest of an item and its content to the node that showed it first.
	nodes map[[sha256.Size]byte]string
	// samples maps the name of an item to the first one shown.
	samples map[string]sample
}

// sample is a new item as a node showed it.
type sample struct {
	node string
	own  func(string) string
	attr []planner.AttributeChange
}

// NewShownItems returns an empty record.
func NewShownItems() *ShownItems {
	return &ShownItems{nodes: map[[sha256.Size]byte]string{}, samples: map[string]sample{}}
}

// firstShownOn returns the node that showed the same item with the same content first, or records
// this one.
func (m *ShownItems) firstShownOn(r Resource, own func(string) string, ph, it diffview.Entry) (string, bool) {
	text := diffview.NewPrinter(ui.Options{Width: ui.Endless})
	text.Print([]diffview.Entry{plainEntry(it)}, 0)
	shape := sha256.Sum256([]byte(ph.Head + "\n" + own(text.String()+strings.Join(contents(it), "\n"))))
	where, ok := m.nodes[shape]
	if !ok {
		m.nodes[shape] = r.names.title
	}
	return where, ok && where != r.names.title
}

// compared returns a new item with its differences from the first one of its name, if another node
// has one.
func (m *ShownItems) compared(p diffview.Printer, r Resource, own func(string) string, ph, it diffview.Entry) diffview.Entry {
	if it.Of == nil {
		return it
	}
	name := ph.Head + "\n" + own(it.Head)
	ref, ok := m.samples[name]
	if !ok {
		m.samples[name] = sample{node: r.names.title, own: own, attr: it.Of.Attributes}
		return it
	}
	differing := ref.differences(own, it.Of.Attributes)
	if ref.node == r.names.title || len(differing) == 0 {
		return it
	}
	it.Head, it.Text, it.Block = it.Head+it.Text, "", true
	it.Kids = append([]diffview.Entry{{Comment: true, Indented: true, Text: "# compared with " + ref.node + ":"}},
		p.Entries(diffview.Grow(differing), ui.Changed)...)
	return it
}

// differences returns the attributes that differ from those of the sample, as changes from the
// sample's values. Own replaces the names of the node that has them.
func (s sample) differences(own func(string) string, attr []planner.AttributeChange) []planner.AttributeChange {
	var out []planner.AttributeChange
	for _, a := range attr {
		before := state.Null()
		if i := slices.IndexFunc(s.attr, func(b planner.AttributeChange) bool { return b.Path == a.Path }); i >= 0 {
			before = s.rebased(s.attr[i].After, own, a.After)
		}
		if !before.Equal(a.After) {
			a.Before = before
			out = append(out, a)
		}
	}
	for _, b := range s.attr {
		if !slices.ContainsFunc(attr, func(a planner.AttributeChange) bool { return a.Path == b.Path }) {
			out = append(out, planner.AttributeChange{Path: b.Path, Before: b.After, After: state.Null()})
		}
	}
	return out
}

// rebased returns the sample's value with each part replaced by the other node's if both are
// equal up to the names and addresses of their nodes.
func (s sample) rebased(v state.Value, own func(string) string, other state.Value) state.Value {
	if v.Equal(other) || s.own(canonical(v)) == own(canonical(other)) {
		return other
	}
	switch {
	case v.Kind() == state.KindMap && other.Kind() == state.KindMap:
		out := map[string]state.Value{}
		for k, part := range v.AsMap() {
			out[k] = s.rebased(part, own, other.AsMap()[k])
		}
		return state.Map(out)
	case v.Kind() == state.KindArgs && other.Kind() == state.KindArgs:
		args := slices.Clone(v.AsArgs())
		for i, a := range args {
			for _, b := range other.AsArgs() {
				if b.Name == a.Name && s.own(a.Value) == own(b.Value) {
					args[i] = b
				}
			}
		}
		return state.Args(args)
	}
	return v
}

// contents returns the attributes of the new items that an entry shows in brief, one per line.
func contents(e diffview.Entry) []string {
	var out []string
	if e.Of != nil {
		for _, a := range e.Of.Attributes {
			out = append(out, a.Path+" = "+canonical(a.After))
		}
	}
	for _, k := range e.Kids {
		out = append(out, contents(k)...)
	}
	return out
}

// canonical returns a value as JSON, which is the same for equal values. A pending value has no
// content yet; the step that makes it does not count, since what the first node makes is copied to
// the others.
func canonical(v state.Value) string {
	b, err := resolved(v).MarshalJSON()
	if err != nil {
		return ui.Inline(v)
	}
	return string(b)
}

// resolved returns a value with each pending part reduced to the name of its output.
func resolved(v state.Value) state.Value {
	switch v.Kind() {
	case state.KindPending:
		return state.List(state.String(v.AsPending().Output))
	case state.KindMap:
		out := map[string]state.Value{}
		for k, part := range v.AsMap() {
			out[k] = resolved(part)
		}
		return state.Map(out)
	case state.KindList:
		var out []state.Value
		for _, part := range v.AsList() {
			out = append(out, resolved(part))
		}
		return state.List(out...)
	}
	return v
}
