package hclconfig

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/kubewright/kubewright/config/diag"
)

// secretsBehind returns the names of sensitive values in a failed expression. Functions quote
// their arguments in their errors, already cut, decoded and escaped, so that a search for the
// secret's own text does not find them. whole is the enclosing expression, or nil: inside a for
// or a splat, elements of a sensitive value are not marked as sensitive.
func secretsBehind(d *hcl.Diagnostic, whole hcl.Expression) []string {
	var out []string
	for _, part := range partsOf(d, whole) {
		for _, ref := range part.Variables() {
			if isSecret(ref, d.EvalContext) {
				out = append(out, traversalString(ref))
			}
		}
		if n, ok := part.(hclsyntax.Node); ok {
			_ = hclsyntax.VisitAll(n, func(n hclsyntax.Node) hcl.Diagnostics {
				if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && call.Name == "sensitive" {
					out = append(out, "sensitive(…)")
				}
				return nil
			})
		}
	}
	return slices.Compact(sorted(out))
}

// partsOf returns the expressions whose values an error may quote: the failed one, the call
// around it, and the collection of each for and splat around it.
func partsOf(d *hcl.Diagnostic, whole hcl.Expression) []hcl.Expression {
	var parts []hcl.Expression
	if d.Expression != nil {
		parts = append(parts, d.Expression)
	}
	node, native := whole.(hclsyntax.Node)
	if !native || d.Subject == nil {
		if whole != nil { // JSON, whose templates cannot be walked
			parts = append(parts, whole)
		}
		return parts
	}
	var call hcl.Expression
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		if !encloses(n.Range(), *d.Subject) {
			return nil
		}
		switch n := n.(type) {
		case *hclsyntax.ForExpr:
			parts = append(parts, n.CollExpr)
		case *hclsyntax.SplatExpr:
			parts = append(parts, n.Source)
		case *hclsyntax.FunctionCallExpr:
			call = n // the innermost comes last
		}
		return nil
	})
	if call != nil {
		parts = append(parts, call)
	}
	return parts
}

func encloses(outer, inner hcl.Range) bool {
	return outer.Filename == inner.Filename && outer.Start.Byte <= inner.Start.Byte && inner.End.Byte <= outer.End.Byte
}

// isSecret reports whether a reference leads to something sensitive. If it leads nowhere, its
// root counts.
func isSecret(ref hcl.Traversal, ctx *hcl.EvalContext) bool {
	v, diags := ref.TraverseAbs(ctx)
	for c := ctx; diags.HasErrors() && c != nil; c = c.Parent() {
		if root, ok := c.Variables[ref.RootName()]; ok {
			v, diags = root, nil
		}
	}
	if diags.HasErrors() || v == cty.NilVal {
		return false
	}
	_, marks := v.UnmarkDeep()
	return marks.Has(sensitive)
}

// saysNoValue are hcl's findings whose text has types and source text in it, and no value.
var saysNoValue = map[string]bool{
	"Call to unknown function": true, "Not enough function arguments": true, "Too many function arguments": true,
	"Unknown variable": true, "Unsupported attribute": true, "Missing map element": true, "Unsupported operator": true,
	"Attempt to index null value": true, "Attempt to get attribute from null value": true, "Splat of null value": true,
	"Iteration over null value": true, "Iteration over non-iterable value": true, "Condition is null": true, "Null condition": true,
	"Invalid operand": true, "Invalid template interpolation value": true, "Incorrect condition type": true,
}

// withhold removes from a finding what it says about sensitive values.
func withhold(out *diag.Diagnostic, d *hcl.Diagnostic, secrets []string) {
	out.Values = nil
	for _, name := range secrets {
		out.Values = append(out.Values, name+" has a sensitive value")
	}
	if saysNoValue[d.Summary] {
		return
	}
	what := "This expression"
	if called, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d); ok && called.CalledFunctionName() != "" {
		what = "The function " + called.CalledFunctionName()
	}
	out.Detail = what + " failed. The reason is not shown, for it can quote what is sensitive here: " + strings.Join(secrets, ", ") +
		". See whether that has the value you mean; to read the reason, evaluate the same expression in kubewright console with a value that is no secret."
}

var quotedWord = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)

// withoutCovered keeps a parser's finding from quoting what an excerpt covers: in a file of
// values each value may be a secret.
func withoutCovered(d *diag.Diagnostic, text, covered []byte) {
	shown, hidden := parted(d, text, covered)
	withoutQuotes(d, shown, hidden)
}

// withoutQuotes keeps a finding from quoting hidden text, unless it is also shown.
func withoutQuotes(d *diag.Diagnostic, shown, hidden string) {
	secret := func(said string) bool {
		for _, m := range quotedWord.FindAllStringSubmatch(said, -1) {
			words := []string{m[1]}
			if plain, err := strconv.Unquote(m[0]); err == nil {
				words = append(words, plain)
			}
			if slices.ContainsFunc(words, func(w string) bool { return w != "" && strings.Contains(hidden, w) && !strings.Contains(shown, w) }) {
				return true
			}
		}
		return false
	}
	if secret(d.Detail) {
		d.Detail = "What is wrong stands in a value that may be a secret, so it is not quoted. A text is written in quotes, and in it a $ or a % before { twice."
	}
}

// parted returns the lines that a finding is about: the shown parts of them, and the hidden
// ones.
func parted(d *diag.Diagnostic, text, covered []byte) (shown, hidden string) {
	var s, h strings.Builder
	line := 1
	for i, b := range text {
		if line >= d.Subject.Line && line <= max(d.Subject.Line, d.Subject.EndLine) {
			if covered[i] == diag.Covered {
				h.WriteByte(b)
			} else {
				s.WriteByte(b)
			}
		}
		if b == '\n' {
			line++
		}
	}
	return s.String(), h.String()
}
