package hclconfig

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// jsonValue returns the value of a JSON expression, as the library does, except that the
// templates in its texts are metered.
func (m *meter) jsonValue(x hcl.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	m.spend(1, x.Range())
	if pairs, diags := hcl.ExprMap(x); !diags.HasErrors() {
		return m.jsonObject(x, pairs, ctx)
	}
	if list, diags := hcl.ExprList(x); !diags.HasErrors() {
		var findings hcl.Diagnostics
		values := make([]cty.Value, len(list))
		for i, e := range list {
			v, diags := m.jsonValue(e, ctx)
			values[i], findings = v, append(findings, diags...)
		}
		m.make(1+len(values), 0, x.Range())
		return cty.TupleVal(values), findings
	}
	v, diags := x.Value(nil)
	if ctx == nil || diags.HasErrors() || v.IsNull() || v.Type() != cty.String {
		return v, diags
	}
	start := x.StartRange().Start // of the quote
	start.Column, start.Byte = start.Column+1, start.Byte+1
	template, diags := hclsyntax.ParseTemplate([]byte(v.AsString()), x.Range().Filename, start)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	return m.as(template, plain).Value(ctx)
}

// jsonObject is jsonValue for an object, whose keys are templates, too.
func (m *meter) jsonObject(x hcl.Expression, pairs []hcl.KeyValuePair, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	values, known := map[string]cty.Value{}, true
	first := map[string]hcl.Range{}
	var (
		findings hcl.Diagnostics
		keyMarks []cty.ValueMarks
	)
	for _, p := range pairs {
		key, diags := m.jsonValue(p.Key, ctx)
		v, more := m.jsonValue(p.Value, ctx)
		findings = append(append(findings, diags...), more...)
		at := p.Key.Range()
		refuse := func(summary, format string, args ...any) {
			findings = append(findings, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: &at, Expression: p.Value, EvalContext: ctx})
		}
		key, err := convert.Convert(key, cty.String)
		switch {
		case err != nil:
			refuse("Invalid object key expression", "The key of an object is a text, and this is none: %s.", err)
			continue
		case key.IsNull():
			refuse("Invalid object key expression", "The key of an object is a text, and this is null.")
			continue
		case !key.IsKnown():
			known = false
			continue
		}
		key, marks := key.Unmark()
		keyMarks = append(keyMarks, marks)
		name := key.AsString()
		if before, twice := first[name]; twice {
			refuse("Duplicate object attribute", "The object has the attribute %q already at %s.", name, place(before))
			continue
		}
		values[name], first[name] = v, at
	}
	if !known {
		return cty.DynamicVal, findings
	}
	m.make(1+len(values), 0, x.Range())
	return cty.ObjectVal(values).WithMarks(keyMarks...), findings
}
