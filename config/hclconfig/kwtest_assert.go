package hclconfig

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// TestValues are the values that only the conditions of tests can refer to.
type TestValues struct {
	Plan, Hosts state.Value
	// Destroyed reports whether everything was destroyed, so that there are no outputs.
	Destroyed bool
}

// Failure is an assertion that does not hold, or that cannot be evaluated.
type Failure struct {
	Finding *diag.Diagnostic
	// Wrong reports whether it cannot be evaluated.
	Wrong bool
	// Operands are the parts of the condition.
	Operands []Operand
}

// Operand is a part of a condition, as it is written, with its value.
type Operand struct {
	Text  string
	Value state.Value
}

// Failures evaluates the assert blocks of the run in Options.Test, and returns those that do not
// hold.
func (c *Console) Failures(v TestValues) []Failure {
	e := c.loader.eval
	e.meter.again()
	sc := c.testScope(v)
	var out []Failure
	for _, b := range e.all(bind(c.loader.test, "run."+c.loader.test.label, "", sc), "assert") {
		e.diags = nil
		text, broken := e.broken(b)
		for _, d := range e.diags {
			out = append(out, Failure{Finding: c.redacted(d), Wrong: true})
		}
		if !broken {
			continue
		}
		t := b.attrs["condition"]
		d := diag.Errorf("Test assertion failed", "%s", text).At(source(t.expr.Range())).In(source(c.loader.test.at))
		out = append(out, Failure{Finding: c.redacted(d), Operands: operandsOf(e, t.expr, sc)})
	}
	return out
}

// redacted redacts the secrets of the configuration in a finding.
func (c *Console) redacted(d *diag.Diagnostic) *diag.Diagnostic {
	d.Summary, d.Detail = c.config.Secrets.Text(d.Summary), c.config.Secrets.Text(d.Detail)
	return d
}

// testScope holds the names that only conditions of tests have.
func (c *Console) testScope(v TestValues) *scope {
	outputs := map[string]cty.Value{}
	for _, o := range c.config.OutputsFor(c.loader.eval.known) {
		value := testValue(o.Value)
		if o.Sensitive {
			value = value.Mark(sensitive)
		}
		outputs[o.Name] = value
	}
	if v.Destroyed {
		outputs = nil
	}
	sc := &scope{name: "output", value: cty.ObjectVal(outputs)}
	sc = &scope{name: "plan", value: testValue(v.Plan), outer: sc}
	return &scope{name: "hosts", value: testValue(v.Hosts), outer: sc}
}

// testValue is fromState for values of plans, states and hosts. What is not known yet is
// unknown, and what is sensitive has a mark.
func testValue(v state.Value) cty.Value {
	switch v.Kind() {
	case state.KindList:
		return cty.TupleVal(each(v.AsList(), testValue))
	case state.KindArgs:
		return cty.TupleVal(each(v.AsArgs(), func(a state.Arg) cty.Value {
			return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(a.Name), "value": testValue(a.Of())})
		}))
	case state.KindMap:
		out := map[string]cty.Value{}
		for k, e := range v.AsMap() {
			out[k] = testValue(e)
		}
		return cty.ObjectVal(out)
	case state.KindPending:
		return cty.DynamicVal
	case state.KindSensitive:
		return cty.StringVal(v.AsSensitive().Fingerprint).Mark(sensitive)
	}
	return FromState(v)
}

func each[E any](list []E, convert func(E) cty.Value) []cty.Value {
	out := make([]cty.Value, len(list))
	for i, e := range list {
		out[i] = convert(e)
	}
	return out
}

// operandsOf returns the values that decide a condition: the sides of its comparisons, and
// otherwise what it refers to.
func operandsOf(e *evaluator, x hcl.Expression, sc *scope) []Operand {
	var out []Operand
	seen := map[string]bool{}
	add := func(text string, v cty.Value) {
		if plain, marks := v.UnmarkDeep(); !seen[text] && plain.IsWhollyKnown() && !failed(marks) {
			out = append(out, Operand{text, shown(v)})
		}
		seen[text] = true
	}
	for _, leaf := range leaves(x) {
		if leaf.side {
			add(asWritten(e, leaf.Expression), e.eval(leaf.Expression, sc))
			continue
		}
		refs := leaf.Variables()
		ctx, _ := e.context(refs, sc)
		for _, ref := range refs {
			// A whole object says little, and takes many lines.
			if v, diags := ref.TraverseAbs(ctx); !diags.HasErrors() && len(ref) > 1 && !v.Type().IsObjectType() {
				add(traversalString(ref), v)
			}
		}
	}
	return out
}

// asWritten returns an expression as it is written, on one line.
func asWritten(e *evaluator, x hcl.Expression) string {
	r := x.Range()
	return strings.Join(strings.Fields(string(r.SliceBytes(e.text(r.Filename)))), " ")
}

// leaf is a part of a condition.
type leaf struct {
	hcl.Expression
	// side reports whether it is one side of a comparison.
	side bool
}

// logical are the operators whose operands are conditions.
var logical = map[*hclsyntax.Operation]bool{hclsyntax.OpLogicalAnd: true, hclsyntax.OpLogicalOr: true}

// leaves returns the parts of a condition without its logical operators. Literals are not among
// them: their value is what is written.
func leaves(x hcl.Expression) []leaf {
	switch x := x.(type) {
	case *metered:
		return leaves(x.Expression)
	case *hclsyntax.ParenthesesExpr:
		return leaves(x.Expression)
	case *hclsyntax.UnaryOpExpr:
		return leaves(x.Val)
	case *hclsyntax.BinaryOpExpr:
		if logical[x.Op] {
			return append(leaves(x.LHS), leaves(x.RHS)...)
		}
		var out []leaf
		for _, side := range []hclsyntax.Expression{x.LHS, x.RHS} {
			if len(side.Variables()) > 0 {
				out = append(out, leaf{side, true})
			}
		}
		return out
	}
	return []leaf{{x, false}}
}
