package hclconfig

import (
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// evaluator holds what expressions can refer to, and what was found wrong.
type evaluator struct {
	diags     diag.Diagnostics
	seen      map[[2]any]bool
	text      func(file string) []byte
	functions map[string]function.Function
	variables map[string]*thunk
	locals    map[string]*thunk
	clusters  map[string]*block
	nodes     map[string]*nodeSet
	// stack is what is being evaluated, for the path of a cycle.
	stack []*thunk
}

// scope holds the names that exist only inside a block: each, or the iterator
// of a dynamic block.
type scope struct {
	outer *scope
	name  string
	value cty.Value
}

// find looks a name up from the inside out.
func (s *scope) find(name string) (cty.Value, bool) {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return s.value, true
		}
	}
	return cty.NilVal, false
}

// thunk is an attribute whose value is found when somebody asks.
type thunk struct {
	name  string
	row   *Attribute
	expr  hcl.Expression // nil: default
	at    hcl.Range
	scope *scope
	// derive is the default where it depends on other values.
	derive func() cty.Value
	status thunkStatus
	value  cty.Value
	// circular tells that the value was found to depend on itself.
	circular bool
}

type thunkStatus int

const (
	waiting thunkStatus = iota
	busy
	done
)

// set reports whether the attribute is written.
func (t *thunk) set() bool { return t.expr != nil }

// The marks that values carry. Marks are comparable.
type (
	// sensitiveMark: never print it.
	sensitiveMark struct{}
	// lazyMark: the value was not evaluated, and the result depends on it.
	lazyMark struct{ thunk *thunk }
	// failedMark: an error was reported already.
	failedMark struct{}
	// pendingMark: only an apply can know the value.
	pendingMark struct {
		target state.Target
		name   string
	}
)

var (
	sensitive = sensitiveMark{}
	hasFailed = failedMark{}
)

// failedValue stands for what could not be evaluated.
func failedValue(t cty.Type) cty.Value { return cty.UnknownVal(t).Mark(hasFailed) }

// failed reports whether a value with the marks was reported as an error.
func failed(marks cty.ValueMarks) bool { return marks.Has(hasFailed) }

func hasPending(marks cty.ValueMarks) bool {
	for m := range marks {
		if _, ok := m.(pendingMark); ok {
			return true
		}
	}
	return false
}

// force is the value of an attribute, evaluated now if it was not before.
func (e *evaluator) force(t *thunk) cty.Value {
	switch t.status {
	case done:
		return t.value
	case busy:
		e.cycle(t)
		return failedValue(cty.DynamicPseudoType)
	}
	t.status = busy
	e.stack = append(e.stack, t)
	v := e.evaluate(t)
	e.stack = e.stack[:len(e.stack)-1]
	t.value, t.status = v, done
	return v
}

// cycle reports that a value depends on itself.
func (e *evaluator) cycle(t *thunk) {
	t.circular = true
	start := 0
	for i, s := range e.stack {
		if s == t {
			start = i
		}
	}
	var path []string
	for _, s := range append(e.stack[start:len(e.stack):len(e.stack)], t) {
		path = append(path, s.name+" ("+place(s.at)+")")
	}
	e.errorAt(t.at, "Cycle in the configuration", "The value of %s depends on itself:\n\n  %s\n\nOne of these must be written without the others.", t.name, strings.Join(path, "\n  → "))
}

// evaluate finds the value of an attribute, by its type.
func (e *evaluator) evaluate(t *thunk) cty.Value {
	if t.expr == nil {
		return t.fallback()
	}
	v := e.eval(t.expr, t.scope)
	if t.row == nil {
		return v
	}
	return e.conform(t, v)
}

// fallback is the value of what was not written.
func (t *thunk) fallback() cty.Value {
	switch {
	case t.derive != nil:
		return t.derive()
	case t.row == nil:
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return t.row.value()
}

// eval is the value of an expression. Whatever it refers to is evaluated
// first; of collections referred to as a whole only what the result needs.
func (e *evaluator) eval(x hcl.Expression, sc *scope) cty.Value {
	refs := x.Variables()
	if !e.resolve(refs, sc) {
		return failedValue(cty.DynamicPseudoType)
	}
	for {
		ctx, lazies := e.context(refs, sc)
		v, diags := x.Value(ctx)
		if diags.HasErrors() {
			if _, marks := v.UnmarkDeep(); !failed(marks) && !failedIn(refs, ctx) {
				e.report(diags)
			}
			return failedValue(cty.DynamicPseudoType)
		}
		e.report(diags)
		if !e.settle(v, lazies) {
			return v
		}
	}
}

// settle evaluates what the value turned out to depend on. It reports whether
// there was anything.
func (e *evaluator) settle(v cty.Value, lazies []*thunk) bool {
	_, marks := v.UnmarkDeep()
	if failed(marks) {
		return false
	}
	any := false
	for m := range marks {
		if l, ok := m.(lazyMark); ok {
			e.force(l.thunk)
			any = true
		}
	}
	if any || v.IsWhollyKnown() || hasPending(marks) {
		return any
	}
	// A function such as try lost the marks with the value.
	for _, t := range lazies {
		if t.status != done {
			e.force(t)
			any = true
		}
	}
	return any
}

// failedIn reports whether the expression refers to something that is wrong already.
func failedIn(refs []hcl.Traversal, ctx *hcl.EvalContext) bool {
	for _, ref := range refs {
		v, ok := ctx.Variables[ref.RootName()]
		if !ok {
			continue
		}
		if _, marks := v.UnmarkDeep(); failed(marks) {
			return true
		}
	}
	return false
}

// context gives an expression the values that it refers to, and lists the
// attributes among them that are not evaluated yet.
func (e *evaluator) context(refs []hcl.Traversal, sc *scope) (*hcl.EvalContext, []*thunk) {
	c := contextBuilder{e: e, vars: map[string]cty.Value{}}
	groups := map[string][]hcl.Traversal{}
	for _, ref := range refs {
		name := ref.RootName()
		if v, ok := sc.find(name); ok {
			c.vars[name] = v
			continue
		}
		groups[name] = append(groups[name], ref)
	}
	for name, group := range groups {
		switch name {
		case "var":
			c.vars[name] = c.named(e.variables, group)
		case "local":
			c.vars[name] = c.named(e.locals, group)
		case "cluster":
			c.vars[name] = c.allClusters(group)
		case "node":
			c.vars[name] = c.allNodes(group)
		case "path":
			c.vars[name] = cty.ObjectVal(map[string]cty.Value{"module": cty.StringVal("."), "root": cty.StringVal(".")})
		}
	}
	return &hcl.EvalContext{Variables: c.vars, Functions: e.functions}, c.lazies
}

// contextBuilder makes the objects that expressions refer to.
type contextBuilder struct {
	e      *evaluator
	vars   map[string]cty.Value
	lazies []*thunk
}

// named is the object var or local, with the names that are referred to.
func (c *contextBuilder) named(all map[string]*thunk, refs []hcl.Traversal) cty.Value {
	out := map[string]cty.Value{}
	for _, ref := range refs {
		name, ok := stepName(ref, 1)
		if t := all[name]; ok && t != nil {
			out[name] = c.value(t)
		}
	}
	return cty.ObjectVal(out)
}

// value is the value of an attribute, or an unknown one that says so.
func (c *contextBuilder) value(t *thunk) cty.Value {
	if t.status == done {
		return t.value
	}
	if t.circular {
		return failedValue(cty.DynamicPseudoType)
	}
	c.lazies = append(c.lazies, t)
	typ := cty.DynamicPseudoType
	if t.row != nil {
		typ = t.row.Type.cty
	}
	return cty.UnknownVal(typ).Mark(lazyMark{t})
}

func (c *contextBuilder) allClusters(refs []hcl.Traversal) cty.Value {
	out := map[string]cty.Value{}
	for _, ref := range refs {
		name, ok := stepName(ref, 1)
		for label, b := range c.e.clusters {
			if !ok || label == name {
				out[label] = c.object(b)
			}
		}
	}
	return cty.ObjectVal(out)
}

// allNodes is the object node. Of a set of nodes that is only referred to by
// constant keys it holds those keys alone, so that many references to one of
// many nodes cost little.
func (c *contextBuilder) allNodes(refs []hcl.Traversal) cty.Value {
	wanted := map[string]map[string]bool{} // nil: all keys
	for _, ref := range refs {
		label, ok := stepName(ref, 1)
		if !ok {
			for l := range c.e.nodes {
				wanted[l] = nil
			}
			continue
		}
		key, exact := stepName(ref, 2)
		keys, seen := wanted[label]
		switch {
		case !exact:
			wanted[label] = nil
		case !seen:
			wanted[label] = map[string]bool{key: true}
		case keys != nil:
			keys[key] = true
		}
	}
	out := map[string]cty.Value{}
	for label, keys := range wanted {
		if set := c.e.nodes[label]; set != nil {
			out[label] = c.nodeSet(set, keys)
		}
	}
	return cty.ObjectVal(out)
}

// nodeSet is node.LABEL: an object of the node, or of nodes by key.
func (c *contextBuilder) nodeSet(set *nodeSet, keys map[string]bool) cty.Value {
	if !c.e.instances(set) {
		return failedValue(cty.DynamicPseudoType)
	}
	if !set.keyed {
		return c.object(set.nodes[0].block)
	}
	out := map[string]cty.Value{}
	if keys != nil {
		for key := range keys {
			if n := set.byKey[key]; n != nil {
				out[key] = c.object(n.block)
			}
		}
		return cty.ObjectVal(out)
	}
	for _, n := range set.nodes {
		out[n.key] = c.object(n.block)
	}
	return cty.ObjectVal(out)
}

// object is a block as a value: its attributes and single blocks.
func (c *contextBuilder) object(b *block) cty.Value {
	out := map[string]cty.Value{}
	for name, t := range b.attrs {
		if referable(t.row) {
			out[name] = c.value(t)
		}
	}
	for _, row := range b.row.Blocks {
		if row.single() && row.Name != connectionBlock.Name {
			out[row.Name] = c.object(c.e.one(b, row.Name))
		}
	}
	maps.Copy(out, b.constants())
	return cty.ObjectVal(out)
}

// constants are what other blocks see of static attributes.
func (b *block) constants() map[string]cty.Value {
	if b.row != nodeBlock {
		return nil
	}
	label := ""
	if a := b.template.attrs["cluster"]; a != nil {
		label = referenceLabel(a.Expr, "cluster")
	}
	return map[string]cty.Value{"cluster": cty.StringVal(label)}
}

// referable reports whether other expressions can refer to the attribute.
func referable(row *Attribute) bool { return row.Name != "for_each" && !row.Sensitive }

// stepName is the name or constant string key at a place of a traversal.
func stepName(ref hcl.Traversal, i int) (string, bool) {
	if i >= len(ref) {
		return "", false
	}
	switch s := ref[i].(type) {
	case hcl.TraverseAttr:
		return s.Name, true
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String && s.Key.IsKnown() && !s.Key.IsNull() {
			return s.Key.AsString(), true
		}
	}
	return "", false
}
