package hclconfig

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// duplicateKeys finds keys that an object has twice: in HCL's native syntax the last value
// would silently win, and a for_each would lose a node. The JSON syntax and a for in braces
// refuse duplicates themselves. Computed keys are not checked.
func duplicateKeys(x any) hcl.Diagnostics {
	node, native := x.(hclsyntax.Node)
	if !native {
		return nil
	}
	return hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		object, ok := n.(*hclsyntax.ObjectConsExpr)
		if !ok {
			return nil
		}
		var diags hcl.Diagnostics
		first := map[string]hcl.Range{}
		for _, item := range object.Items {
			key, at := literalKey(item.KeyExpr), item.KeyExpr.Range()
			before, twice := first[key]
			switch {
			case key == "":
			case !twice:
				first[key] = at
			default:
				diags = append(diags, &hcl.Diagnostic{
					Severity: hcl.DiagError, Summary: "Duplicate key", Subject: &at,
					Detail: fmt.Sprintf("The object has this key already at %s, and only one of its values would count. In a for_each each key is a node, and one would be missing. Give one of them another key, or remove it.", place(before)),
				})
			}
		}
		return diags
	})
}

// literalKey returns a key that is written out; empty for a computed one.
func literalKey(x hclsyntax.Expression) string {
	if len(x.Variables()) > 0 || computed(x) {
		return ""
	}
	v, diags := x.Value(nil)
	if diags.HasErrors() {
		return ""
	}
	s, err := convertTo(v, cty.String)
	if err != nil || s.IsNull() || !s.IsKnown() {
		return ""
	}
	return s.AsString()
}

// computed reports whether an expression evaluates another one more than once.
func computed(x hclsyntax.Expression) bool {
	return hclsyntax.VisitAll(x, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n.(type) {
		case *hclsyntax.ForExpr, *hclsyntax.SplatExpr:
			return hcl.Diagnostics{{Severity: hcl.DiagError}}
		}
		return nil
	}).HasErrors()
}
