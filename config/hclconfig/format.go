package hclconfig

import (
	"bytes"
	"io/fs"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/kubewright/kubewright/config/diag"
)

// Formatted is a file and its canonical form.
type Formatted struct {
	Name   string
	Before []byte
	After  []byte
}

// Changed reports whether the file is not in its canonical form.
func (f Formatted) Changed() bool { return !bytes.Equal(f.Before, f.After) }

// Diff is the difference as a unified diff, empty when there is none.
func (f Formatted) Diff() string {
	return udiff.Unified("old/"+f.Name, "new/"+f.Name, string(f.Before), string(f.After))
}

// FormatFolder formats the .hcl and .kwvars files of a folder, and with
// recursive those of the folders below it. It writes nothing. Files in JSON
// have no canonical form.
func FormatFolder(fsys fs.FS, recursive bool) ([]Formatted, diag.Diagnostics) {
	var (
		out   []Formatted
		diags diag.Diagnostics
	)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name != "." && (!recursive || strings.HasPrefix(d.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		case strings.HasPrefix(d.Name(), ".") || !strings.HasSuffix(name, ".hcl") && !strings.HasSuffix(name, ".kwvars"):
			return nil
		}
		b, err := readLimited(fsys, name)
		if err != nil {
			diags.Append(diag.Errorf("Cannot read file", "%s: %s.", name, withoutPath(err)))
			return nil
		}
		after, more := Format(name, b)
		diags = append(diags, more...)
		if !more.HasErrors() {
			out = append(out, Formatted{Name: name, Before: b, After: after})
		}
		return nil
	})
	if err != nil {
		diags.Append(diag.Errorf("Cannot read the configuration folder", "%s.", withoutPath(err)))
	}
	return out, diags
}

// Format puts the text of a .hcl file into its canonical form: indentation and
// spaces, and no template around a single expression. A text that cannot be
// parsed is left alone and reported; name is what the report calls it.
func Format(name string, src []byte) ([]byte, diag.Diagnostics) {
	text := func(string) []byte { return src }
	if d := tooDeep(src, name); d != nil {
		return src, diag.Diagnostics{fromHCL(d, text)}
	}
	file, diags := hclwrite.ParseConfig(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		var out diag.Diagnostics
		for _, d := range diags {
			out.Append(fromHCL(d, text))
		}
		return src, out
	}
	unwrapBody(file.Body())
	return hclwrite.Format(file.Bytes()), nil
}

// unwrapBody takes templates away that only wrap an expression.
func unwrapBody(body *hclwrite.Body) {
	for name, attr := range body.Attributes() {
		tokens := attr.Expr().BuildTokens(nil)
		if inner := unwrap(tokens); inner != nil {
			body.SetAttributeRaw(name, inner)
		}
	}
	for _, b := range body.Blocks() {
		unwrapBody(b.Body())
	}
}

// unwrap makes x of "${x}", in parentheses when it spans lines; nil when the
// tokens are anything else.
func unwrap(tokens hclwrite.Tokens) hclwrite.Tokens {
	n := len(tokens)
	if n < 5 || tokens[0].Type != hclsyntax.TokenOQuote || tokens[1].Type != hclsyntax.TokenTemplateInterp ||
		tokens[n-2].Type != hclsyntax.TokenTemplateSeqEnd || tokens[n-1].Type != hclsyntax.TokenCQuote {
		return nil
	}
	inner := tokens[2 : n-2]
	depth, lines := 0, false
	for _, t := range inner {
		switch t.Type {
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenTemplateSeqEnd:
			depth--
		case hclsyntax.TokenNewline, hclsyntax.TokenComment:
			lines = true
		}
		if depth < 0 {
			return nil // two expressions side by side
		}
	}
	inner[0].SpacesBefore = 0
	if !lines {
		return inner
	}
	open := &hclwrite.Token{Type: hclsyntax.TokenOParen, Bytes: []byte("(")}
	shut := &hclwrite.Token{Type: hclsyntax.TokenCParen, Bytes: []byte(")")}
	return append(append(hclwrite.Tokens{open}, inner...), shut)
}
