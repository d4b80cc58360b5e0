package hclconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/kubewright/kubewright/config/diag"
)

// template is a block as written, with its row of the schema, before any part of it is
// evaluated. A node block with for_each is bound once per element.
type template struct {
	row     *Block
	label   string
	attrs   map[string]*hcl.Attribute
	entries []entry
	at      hcl.Range // the header
	labelAt hcl.Range
	// broken reports whether the block has content that does not belong there, or lacks some.
	broken bool
}

// entry is a nested block, written out or dynamic.
type entry struct {
	block   *template
	dynamic *dynamic
}

// block is a template bound to a scope: its attributes can be evaluated.
type block struct {
	*template
	// owner is the name of the enclosing cluster or node in errors: cluster.prod.
	owner string
	// path is the position within the owner as a key of Origins; "" for the owner itself.
	path     string
	scope    *scope
	attrs    map[string]*thunk
	nested   []*block
	expanded bool
	written  bool
}

// read matches a body against its row of the schema. It reports content that does not fit, and
// missing content at the header of the block.
func (e *evaluator) read(body hcl.Body, row *Block, header hcl.Range) *template {
	t := &template{row: row, attrs: map[string]*hcl.Attribute{}, at: header}
	if row.Free {
		attrs, diags := body.JustAttributes()
		e.report(diags)
		t.attrs = attrs
		return t
	}
	content, diags := body.Content(bodySchema(row))
	for _, d := range diags {
		if d.Subject != nil && *d.Subject == body.MissingItemRange() {
			d.Subject = &header
		}
	}
	e.report(diags)
	t.broken = diags.HasErrors()
	t.attrs = content.Attributes
	refuseComputed(e, t)
	for _, b := range content.Blocks {
		if b.Type == "dynamic" {
			if d := e.readDynamic(b, row); d != nil {
				t.entries = append(t.entries, entry{dynamic: d})
			}
			continue
		}
		nested := e.readBlock(b, row.Block(b.Type))
		t.entries = append(t.entries, entry{block: nested})
	}
	e.checkUnique(t)
	return t
}

// refuseComputed reports attributes that cannot be written, and leaves them out.
func refuseComputed(e *evaluator, t *template) {
	for _, row := range t.row.Attributes {
		if a := t.attrs[row.Name]; a != nil && row.Computed {
			e.errorAt(a.NameRange, "Attribute cannot be set", "The attribute %s of a %s is computed. Remove this line; outputs can refer to it, as in cluster.NAME.%s.", row.Name, t.row.Name, row.Name)
			delete(t.attrs, row.Name)
		}
	}
}

// readBlock reads a block with its labels.
func (e *evaluator) readBlock(b *hcl.Block, row *Block) *template {
	if len(row.Variants) > 0 {
		return e.readVariant(b, row)
	}
	t := e.read(b.Body, row, b.DefRange)
	if row.Label != "" {
		t.label, t.labelAt = b.Labels[0], b.LabelRanges[0]
		if t.label == "" {
			e.errorAt(t.labelAt, "Empty label", "The label of a block of type %s must not be empty.", row.Name)
		}
	}
	return t
}

// readVariant reads a block whose label determines its content.
func (e *evaluator) readVariant(b *hcl.Block, row *Block) *template {
	t := &template{row: row, label: b.Labels[0], labelAt: b.LabelRanges[0], at: b.DefRange}
	variant := row.variant(t.label)
	if variant == nil {
		var names []string
		for _, v := range row.Variants {
			names = append(names, v.Name)
		}
		e.errorAt(t.labelAt, "Unknown "+row.Name, "There is no %s %q.%s There are %s.", row.Name, t.label, suggest(t.label, names), strings.Join(names, ", "))
		return t
	}
	inner := e.read(b.Body, variant, b.DefRange)
	inner.label, inner.labelAt = t.label, t.labelAt
	return inner
}

// bodySchema returns the hcl schema of a block of the row.
func bodySchema(row *Block) *hcl.BodySchema {
	s := &hcl.BodySchema{}
	for _, a := range row.Attributes {
		s.Attributes = append(s.Attributes, hcl.AttributeSchema{Name: a.Name, Required: a.Required})
	}
	for _, b := range row.Blocks {
		h := hcl.BlockHeaderSchema{Type: b.Name}
		if b.Label != "" {
			h.LabelNames = []string{b.Label}
		}
		s.Blocks = append(s.Blocks, h)
	}
	if row != root && row != testRoot && row != testRunBlock && len(row.Blocks) > 0 {
		s.Blocks = append(s.Blocks, hcl.BlockHeaderSchema{Type: "dynamic", LabelNames: []string{"block"}})
	}
	return s
}

// checkUnique reports blocks that are allowed only once, or once per label.
func (e *evaluator) checkUnique(t *template) {
	first := map[[2]string]*template{}
	t.entries = slices.DeleteFunc(t.entries, func(en entry) bool {
		b := en.block
		if b == nil || b.row.Repeat {
			return false
		}
		key := [2]string{b.row.Name, b.label}
		if before, ok := first[key]; ok {
			e.add(duplicate(b, before))
			return true
		}
		first[key] = b
		return false
	})
}

// duplicate returns the error of a second block, with the position of the first.
func duplicate(b, before *template) *diag.Diagnostic {
	what := article(b.row.Name) + " " + b.row.Name + " block"
	why := "There can be only one"
	if b.row.Label != "" {
		what = fmt.Sprintf("%s %s %q", article(b.row.Name), b.row.Name, b.label)
		why = "Names must be unique"
	}
	return diag.Errorf("Duplicate "+b.row.Name+" block", "%s was already declared at %s. %s.", what, place(before.at), why).At(source(b.at))
}

// place formats a range as FILE:LINE.
func place(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line) }

// bind makes the attributes of a template evaluable in a scope.
func bind(t *template, owner, path string, sc *scope) *block {
	b := &block{template: t, owner: owner, path: path, scope: sc, attrs: make(map[string]*thunk, len(t.row.Attributes)), written: true}
	for i := range t.row.Attributes {
		row := &t.row.Attributes[i]
		if row.Type.Static {
			continue
		}
		th := &thunk{name: joinName(owner, path, row.Name), row: row, scope: sc, at: t.at}
		if a := t.attrs[row.Name]; a != nil {
			th.expr, th.at = a.Expr, a.Range
		}
		b.attrs[row.Name] = th
	}
	return b
}

// joinName returns an attribute's name for the report of a cycle.
func joinName(owner, path, name string) string {
	if path != "" {
		owner += "." + path
	}
	return owner + "." + name
}

// absent returns a block that is not written: all its attributes have defaults.
func absent(row *Block, owner, path string) *block {
	b := bind(&template{row: row}, owner, path, nil)
	b.written, b.expanded = false, true
	return b
}

// children returns the nested blocks in their written order, dynamic ones in their place.
func (e *evaluator) children(b *block) []*block {
	if b.expanded {
		return b.nested
	}
	b.expanded = true
	count := map[string]int{}
	add := func(t *template, sc *scope) {
		path := t.row.Name
		switch {
		case t.row.Label != "":
			path += "[" + strconv.Quote(t.label) + "]"
		case t.row.Repeat:
			path += "[" + strconv.Itoa(count[path]) + "]"
			count[t.row.Name]++
		}
		if b.path != "" {
			path = b.path + "." + path
		}
		b.nested = append(b.nested, bind(t, b.owner, path, sc))
	}
	for _, en := range b.entries {
		if en.block != nil {
			add(en.block, b.scope)
			continue
		}
		e.expand(en.dynamic, b, add)
	}
	e.dropDuplicates(b)
	return b.nested
}

// dropDuplicates reports blocks that dynamic blocks made although there is one already.
func (e *evaluator) dropDuplicates(b *block) {
	first := map[[2]string]*block{}
	b.nested = slices.DeleteFunc(b.nested, func(c *block) bool {
		if c.row.Repeat || !c.written {
			return false
		}
		key := [2]string{c.row.Name, c.label}
		if before, ok := first[key]; ok {
			e.add(duplicate(c.template, before.template))
			return true
		}
		first[key] = c
		return false
	})
}

// one returns the nested block of a name, or an absent one.
func (e *evaluator) one(b *block, name string) *block {
	for _, c := range e.children(b) {
		if c.row.Name == name {
			return c
		}
	}
	row := b.row.Block(name)
	if row == nil {
		panic("internal error: the schema of " + b.row.Name + " has no block " + name)
	}
	path := name
	if b.path != "" {
		path = b.path + "." + name
	}
	c := absent(row, b.owner, path)
	b.nested = append(b.nested, c)
	return c
}

// all returns the nested blocks of a name.
func (e *evaluator) all(b *block, name string) []*block {
	if b.row.Block(name) == nil {
		panic("internal error: the schema of " + b.row.Name + " has no block " + name)
	}
	var out []*block
	for _, c := range e.children(b) {
		if c.row.Name == name {
			out = append(out, c)
		}
	}
	return out
}

// checkName reports a label that cannot be part of an address.
func (e *evaluator) checkName(t *template) bool {
	if hclsyntax.ValidIdentifier(t.label) {
		return true
	}
	e.errorAt(t.labelAt, "Invalid name", "%q is no name for %s %s: it must begin with a letter and may hold letters, digits, underscores and hyphens, because other blocks and the command line refer to it.", t.label, strings.ToLower(article(t.row.Name)), t.row.Name)
	return false
}
