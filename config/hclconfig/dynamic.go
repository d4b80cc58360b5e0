package hclconfig

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// dynamic is a dynamic block: one nested block per element of a collection.
type dynamic struct {
	row      *Block
	forEach  hcl.Expression
	iterator string
	label    hcl.Expression
	content  *template
	at       hcl.Range
}

var dynamicSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "for_each", Required: true}, {Name: "iterator"}, {Name: "labels"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "content"}},
}

// readDynamic reads a dynamic block inside a block of the row.
func (e *evaluator) readDynamic(b *hcl.Block, parent *Block) *dynamic {
	row := parent.Block(b.Labels[0])
	if row == nil {
		e.errorAt(b.LabelRanges[0], "Unsupported block type", "Blocks of type %q are not expected here.%s", b.Labels[0], instead(b.Labels[0], blockNames(parent)))
		return nil
	}
	content, diags := b.Body.Content(dynamicSchema)
	e.report(diags)
	if diags.HasErrors() {
		return nil
	}
	d := &dynamic{row: row, at: b.DefRange, iterator: row.Name, forEach: content.Attributes["for_each"].Expr}
	if a := content.Attributes["iterator"]; a != nil {
		traversal, diags := hcl.AbsTraversalForExpr(a.Expr)
		if diags.HasErrors() || len(traversal) != 1 {
			e.errorAt(a.Expr.Range(), "Invalid iterator", "The iterator is a name, without quotes.")
			return nil
		}
		d.iterator = traversal.RootName()
	}
	if len(content.Blocks) != 1 {
		e.errorAt(b.DefRange, "Missing content block", "A dynamic block holds exactly one block content { }, which is what each element becomes.")
		return nil
	}
	if a := content.Attributes["labels"]; a != nil {
		d.label = a.Expr
	}
	if (row.Label != "") != (d.label != nil) {
		e.errorAt(b.DefRange, "Wrong number of labels", "%s", labelRule(row))
		return nil
	}
	d.content = e.read(content.Blocks[0].Body, row, content.Blocks[0].DefRange)
	return d
}

func labelRule(row *Block) string {
	if row.Label == "" {
		return article(row.Name) + " " + row.Name + " block has no label: leave out labels."
	}
	return article(row.Name) + " " + row.Name + " block has one label: write labels = [" + row.Name + ".key]."
}

func blockNames(row *Block) []string {
	var names []string
	for _, b := range row.Blocks {
		names = append(names, b.Name)
	}
	return names
}

// expand evaluates the collection and adds a block per element.
func (e *evaluator) expand(d *dynamic, b *block, add func(*template, *scope)) {
	v := e.eval(d.forEach, b.scope)
	v, marks := v.Unmark()
	if failed(marks) {
		return
	}
	if !e.iterable(d.forEach.Range(), v, marks, "A map, a set or a list is needed") {
		return
	}
	if n := v.LengthInt(); n > maxBlocks {
		e.errorAt(d.forEach.Range(), "Too many blocks", "for_each has %d elements. A dynamic block can make %d blocks.", n, maxBlocks)
		return
	}
	if found := e.meter.keepBlocks(v.LengthInt(), len(d.row.Attributes), d.forEach.Range()); found != nil {
		e.report(hcl.Diagnostics{found})
		return
	}
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if v.Type().IsSetType() {
			key = value
		}
		sc := &scope{outer: b.scope, name: d.iterator, value: cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
		t := *d.content
		if d.label != nil {
			label, ok := e.dynamicLabel(d.label, sc)
			if !ok {
				return
			}
			t.label, t.labelAt = label, d.label.Range()
		}
		add(&t, sc)
	}
}

// iterable reports a collection that cannot be iterated over; needed says what can.
func (e *evaluator) iterable(r hcl.Range, v cty.Value, marks cty.ValueMarks, needed string) bool {
	switch {
	case hasPending(marks) || !v.IsKnown():
		e.errorAt(r, "Invalid for_each argument", "The value is known only after an apply. Blocks cannot depend on it.")
	case v.IsNull():
		e.errorAt(r, "Invalid for_each argument", "The value is null. Write an empty collection for no blocks.")
	case !v.CanIterateElements():
		e.errorAt(r, "Invalid for_each argument", "%s, not %s.", needed, v.Type().FriendlyName())
	case marks.Has(sensitive):
		e.errorAt(r, "Invalid for_each argument", "The value is sensitive, and the number of blocks would show in every plan.")
	default:
		return true
	}
	return false
}

// dynamicLabel evaluates labels = [NAME].
func (e *evaluator) dynamicLabel(x hcl.Expression, sc *scope) (string, bool) {
	v, marks := e.eval(x, sc).UnmarkDeep()
	if failed(marks) {
		return "", false
	}
	if marks.Has(sensitive) || !v.IsWhollyKnown() || v.IsNull() || !v.CanIterateElements() || v.LengthInt() != 1 {
		e.errorAt(x.Range(), "Invalid labels", "A list of one string is needed that is known and not sensitive.")
		return "", false
	}
	it := v.ElementIterator()
	it.Next()
	_, label := it.Element()
	s, err := convertTo(label, cty.String)
	if err != nil || s.IsNull() {
		e.errorAt(x.Range(), "Invalid labels", "The label must be a string.")
		return "", false
	}
	return s.AsString(), true
}
