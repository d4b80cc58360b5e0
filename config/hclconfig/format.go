package hclconfig

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig/sourcetext"
	"github.com/kubewright/kubewright/state/safefile"
)

// FilesToFormat lists the .hcl and .kwvars files of a folder, and with recursive those of the
// folders below it. JSON files have no canonical form, and files that are not read as
// configuration, hidden or left behind by an editor, are not formatted either.
func FilesToFormat(fsys fs.FS, recursive bool) ([]string, error) {
	var out []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (!recursive || ignoredName(d.Name())):
			return fs.SkipDir
		case !d.IsDir() && !ignoredName(d.Name()) && (strings.HasSuffix(name, ".hcl") || strings.HasSuffix(name, ".kwvars")):
			out = append(out, name)
		}
		return nil
	})
	return out, err
}

// ReadFile reads a file to format: a regular one of at most MaxFile. A link may lead to another
// file of its folder.
func ReadFile(name string) ([]byte, error) {
	return safefile.ReadBelow(filepath.Dir(name), filepath.Base(name), MaxFile)
}

// Format returns the text of a .hcl file in its canonical form: indentation and spaces, and no
// template around a single expression. A text that cannot be parsed is reported and not
// changed; name is its name in the report.
func Format(name string, src []byte) ([]byte, diag.Diagnostics) {
	if d := sourcetext.Check(src, name); d != nil {
		return src, diag.Diagnostics{fromHCL(d, nil, func(string) []byte { return src })}
	}
	file, diags := hclwrite.ParseConfig(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		return src, unparsed(name, src, diags)
	}
	unwrapBody(file.Body())
	return hclwrite.Format(file.Bytes()), nil
}

// unparsed returns why a text cannot be parsed. It is unknown here which variables are
// sensitive.
func unparsed(name string, src []byte, diags hcl.Diagnostics) diag.Diagnostics {
	var out diag.Diagnostics
	covered := Cover(Options{}, name, src)
	for _, d := range diags {
		f := fromHCL(d, nil, func(string) []byte { return src })
		withoutCovered(f, src, covered)
		out.Append(f)
	}
	return out
}

// unwrapBody removes templates that only wrap an expression.
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

// unwrap returns x for "${x}", in parentheses if it spans lines; nil for any other tokens.
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
