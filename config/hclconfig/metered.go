package hclconfig

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// metered is an expression whose evaluation is counted. It embeds parentheses, which have no
// meaning, so that walks over the tree find the inner expression.
type metered struct {
	*hclsyntax.ParenthesesExpr
	meter *meter
	role  role
}

// role is what an expression does, or what its parent does with it: its cost depends on that.
type role int

const (
	plain   role = iota
	maker        // makes a value whose parts others have made
	caller       // calls a function that makes a value
	picker       // calls a function whose value is, or is part of, an argument
	operand      // is inspected by its parent
	unified      // its parent may convert its elements to one type
	listed       // its parent converts its elements, to make a list, a set or a map
	pass         // is evaluated for each element
	loop         // evaluates another one for each element
)

// pickers are the functions whose value is one of their arguments, or a part of one.
var pickers = map[string]bool{
	"coalesce": true, "coalescelist": true, "element": true, "index": true, "lookup": true, "one": true, "try": true,
	"sensitive": true, "nonsensitive": true,
}

// unifiers are the functions that may convert the elements of their arguments to one type.
var unifiers = map[string]bool{
	"coalesce": true, "coalescelist": true, "concat": true, "setproduct": true,
}

// listers are the functions that treat a tuple or an object as a list, a set or a map with
// elements of one type.
var listers = map[string]bool{
	"chunklist": true, "distinct": true, "join": true, "matchkeys": true, "setintersection": true,
	"setsubtract": true, "setunion": true, "tolist": true, "tomap": true, "toset": true,
}

// asCollection returns a list for a tuple, or a map for an object, whose elements have one
// type: otherwise the library compares each with each to find that out.
func asCollection(v cty.Value) cty.Value {
	plain, marks := v.Unmark()
	t := plain.Type()
	if !plain.IsKnown() || plain.IsNull() || !t.IsTupleType() && !t.IsObjectType() || plain.LengthInt() == 0 {
		return v
	}
	types := elementTypes(t)
	if types[0].HasDynamicTypes() || !oneType(types) {
		return v
	}
	if t.IsTupleType() {
		return cty.ListVal(plain.AsValueSlice()).WithMarks(marks)
	}
	return cty.MapVal(plain.AsValueMap()).WithMarks(marks)
}

// elementTypes returns the types of the elements of a tuple or an object.
func elementTypes(t cty.Type) []cty.Type {
	switch {
	case t.IsTupleType():
		return t.TupleElementTypes()
	case t.IsObjectType():
		return slices.Collect(maps.Values(t.AttributeTypes()))
	}
	return nil
}

// oneType reports whether all types are the same.
func oneType(types []cty.Type) bool {
	return !slices.ContainsFunc(types, func(t cty.Type) bool { return !t.Equals(types[0]) })
}

// UnwrapExpression returns the original expression to hcl functions that inspect its syntax.
func (x *metered) UnwrapExpression() hcl.Expression { return x.Expression }

// Value evaluates the expression and counts its cost.
func (x *metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	m, at := x.meter, x.SrcRange
	failures := m.failures
	switch x.role {
	case pass:
		m.spend(stepsOfPass, at)
	case loop:
		m.failures = 0
	default:
		m.spend(1, at)
	}
	v, diags := x.Expression.Value(ctx)
	if m.stopped != nil { // in a function, which has turned it into an error
		if name := m.stopped.at.Filename; name == "" || name == templateText {
			m.stopped.at = at
		}
		panic(m.stopped)
	}
	switch x.role {
	case pass:
		return v, x.fewer(diags)
	case loop:
		m.failures = failures
		m.makeShallow(v, at)
	case maker:
		m.makeShallow(v, at)
	case caller:
		w := m.weigh(v, at)
		m.make(w.elements, w.text, at)
	case picker, operand:
		m.weigh(v, at)
	case unified:
		m.weigh(v, at)
		m.unify(v, at)
	case listed:
		m.weigh(v, at)
		v = asCollection(v)
		m.unify(v, at)
	}
	return v, diags
}

// maxFailures limits how many passes of one loop can report their errors: mostly they are the
// same.
const maxFailures = 20

// fewer drops the findings of a pass if enough others have failed already.
func (x *metered) fewer(diags hcl.Diagnostics) hcl.Diagnostics {
	if !diags.HasErrors() {
		return diags
	}
	x.meter.spend(stepsOfFailure, x.SrcRange)
	if x.meter.failures++; x.meter.failures > maxFailures {
		return nil
	}
	return diags
}

// makeShallow counts a value without its elements, which were counted before.
func (m *meter) makeShallow(v cty.Value, at hcl.Range) {
	v, _ = v.Unmark()
	switch t := v.Type(); {
	case !v.IsKnown() || v.IsNull():
	case t == cty.String:
		m.make(1, len(v.AsString()), at)
	case v.CanIterateElements():
		m.make(1+v.LengthInt(), 0, at)
	}
}

// unify counts the cost of finding one type for several elements: each is compared with each.
func (m *meter) unify(v cty.Value, at hcl.Range) {
	if steps := comparisons(v.Type()); steps > 0 {
		m.spend(int(min(steps, float64(m.max.steps)+1)), at)
	}
}

// unifies counts the cost of converting a value to a type that leaves the types of elements
// open. It returns the finding if that is too much.
func (m *meter) unifies(t cty.Type, v cty.Value, at hcl.Range) *hcl.Diagnostic {
	if !t.HasDynamicTypes() || t == cty.DynamicPseudoType {
		return nil
	}
	return m.guard(at, func() { m.unify(v, at) })
}

// comparisons returns the steps of comparing the types of elements. Different types take more
// steps, and memory.
func comparisons(t cty.Type) float64 {
	if t.IsCollectionType() {
		return comparisons(t.ElementType())
	}
	types, steps := elementTypes(t), 0.0
	for _, e := range types {
		steps += comparisons(e)
	}
	n := float64(len(types))
	if oneType(types) {
		return steps + n*n/32
	}
	return steps + n*n/2
}

// metered returns the expression with all its costs counted. Its parts are replaced in place,
// once.
func (m *meter) metered(x hclsyntax.Expression) hclsyntax.Expression {
	if x, ok := x.(*metered); ok {
		return x
	}
	if done := m.native[x]; done != nil {
		return done
	}
	out := m.as(x, plain)
	m.native[x] = out
	return out
}

// as is metered for an expression in a role that its parent assigns.
func (m *meter) as(x hclsyntax.Expression, given role) hclsyntax.Expression {
	own := m.inside(x)
	switch given {
	case pass, operand, unified, listed:
		if own != plain {
			x = m.wrap(x, own)
		}
		return m.wrap(x, given)
	}
	if own == plain {
		return x
	}
	return m.wrap(x, own)
}

func (m *meter) wrap(x hclsyntax.Expression, r role) hclsyntax.Expression {
	return &metered{ParenthesesExpr: &hclsyntax.ParenthesesExpr{Expression: x, SrcRange: x.Range()}, meter: m, role: r}
}

// inside meters the parts of an expression, and returns the role of the expression itself.
func (m *meter) inside(x hclsyntax.Expression) role {
	in := func(part *hclsyntax.Expression, r role) {
		if *part != nil {
			*part = m.as(*part, r)
		}
	}
	switch x := x.(type) {
	case *hclsyntax.ForExpr:
		in(&x.CollExpr, plain)
		in(&x.KeyExpr, pass)
		in(&x.ValExpr, pass)
		in(&x.CondExpr, pass)
		return loop
	case *hclsyntax.SplatExpr:
		in(&x.Source, plain)
		in(&x.Each, pass)
		return loop
	case *hclsyntax.FunctionCallExpr:
		for i := range x.Args {
			in(&x.Args[i], roleOfArguments(x.Name))
		}
		if pickers[x.Name] {
			return picker
		}
		return caller
	case *hclsyntax.TupleConsExpr:
		for i := range x.Exprs {
			in(&x.Exprs[i], plain)
		}
		return maker
	case *hclsyntax.ObjectConsExpr:
		for i := range x.Items {
			if key, ok := x.Items[i].KeyExpr.(*hclsyntax.ObjectConsKeyExpr); ok {
				in(&key.Wrapped, plain)
			} else {
				in(&x.Items[i].KeyExpr, plain)
			}
			in(&x.Items[i].ValueExpr, plain)
		}
		return maker
	case *hclsyntax.TemplateExpr:
		return m.insideTemplate(x)
	case *hclsyntax.TemplateJoinExpr:
		in(&x.Tuple, plain)
		return maker
	case *hclsyntax.TemplateWrapExpr:
		in(&x.Wrapped, plain)
	case *hclsyntax.BinaryOpExpr:
		in(&x.LHS, operand)
		in(&x.RHS, operand)
	case *hclsyntax.UnaryOpExpr:
		in(&x.Val, operand)
	case *hclsyntax.ConditionalExpr:
		in(&x.Condition, plain)
		in(&x.TrueResult, unified)
		in(&x.FalseResult, unified)
	case *hclsyntax.IndexExpr:
		in(&x.Collection, plain)
		in(&x.Key, plain)
	case *hclsyntax.RelativeTraversalExpr:
		in(&x.Source, plain)
	case *hclsyntax.ParenthesesExpr:
		in(&x.Expression, plain)
	}
	return plain
}

// roleOfArguments returns what a function does with its arguments.
func roleOfArguments(function string) role {
	switch {
	case unifiers[function]:
		return unified
	case listers[function]:
		return listed
	}
	return operand
}

// insideTemplate is inside for a template. A text without interpolation stays as it is.
func (m *meter) insideTemplate(x *hclsyntax.TemplateExpr) role {
	if x.IsStringLiteral() {
		return plain
	}
	for i, part := range x.Parts {
		if _, literal := part.(*hclsyntax.LiteralValueExpr); !literal {
			x.Parts[i] = m.as(part, plain)
		}
	}
	return maker
}
