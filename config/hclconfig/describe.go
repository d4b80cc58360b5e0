package hclconfig

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/kubewright/kubewright/config"
)

// describeVariables describes the variables of an expression, except secrets.
func describeVariables(x hcl.Expression, ctx *hcl.EvalContext) []string {
	var out []string
	seen := map[string]bool{}
	for _, ref := range x.Variables() {
		v, diags := ref.TraverseAbs(ctx)
		name := traversalString(ref)
		if diags.HasErrors() || seen[name] {
			continue
		}
		seen[name] = true
		if s := describe(v); s != "" {
			out = append(out, name+" "+s)
		}
	}
	return sorted(out)
}

// secretsOf lists the sensitive texts inside a value.
func secretsOf(v cty.Value, inside bool) []string {
	v, marks := v.Unmark()
	inside = inside || marks.Has(sensitive)
	switch {
	case !v.IsKnown() || v.IsNull():
	case v.Type() == cty.String:
		if inside && len(v.AsString()) > 2 {
			return []string{v.AsString()}
		}
	case v.Type() == cty.Number:
		if inside {
			return []string{v.AsBigFloat().Text('f', -1)}
		}
	case v.CanIterateElements():
		var out []string
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			out = append(out, secretsOf(e, inside)...)
		}
		return out
	}
	return nil
}

// describe returns a statement about a value; empty if there is nothing to say.
func describe(v cty.Value) string {
	plain, marks := v.UnmarkDeep()
	t := plain.Type()
	switch {
	case marks.Has(sensitive):
		return "has a sensitive value"
	case failed(marks):
		return ""
	case hasPending(marks):
		return "is known only after an apply"
	case !plain.IsKnown():
		return ""
	case plain.IsNull():
		return "is null"
	case t == cty.String:
		return "is " + config.Quote(plain.AsString())
	case t == cty.Number:
		return "is " + plain.AsBigFloat().Text('f', -1)
	case t == cty.Bool:
		return fmt.Sprintf("is %t", plain.True())
	case t.IsObjectType():
		return fmt.Sprintf("is object with %d attributes", len(t.AttributeTypes()))
	case plain.CanIterateElements():
		return fmt.Sprintf("is %s with %d elements", t.FriendlyName(), plain.LengthInt())
	}
	return "is " + t.FriendlyName()
}

// traversalString returns a reference as it is written.
func traversalString(ref hcl.Traversal) string {
	var b strings.Builder
	for _, step := range ref {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(s.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + s.Name)
		case hcl.TraverseIndex:
			if s.Key.Type() == cty.String {
				fmt.Fprintf(&b, "[%q]", s.Key.AsString())
			} else {
				b.WriteString("[" + s.Key.AsBigFloat().Text('f', -1) + "]")
			}
		}
	}
	return b.String()
}
