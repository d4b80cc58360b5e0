package hclconfig

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/kubewright/kubewright/config/diag"
)

// ValuesFile returns the content of a *.kwvars file for the variables that a file of a
// configuration declares: each with its description and its default, and those without a default
// or with a secret as comments. It is nil if the file declares none.
func ValuesFile(name string, src []byte) ([]byte, diag.Diagnostics) {
	file, found := parseText(src, name)
	var b strings.Builder
	if !found.HasErrors() {
		content, _, more := file.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "variable", LabelNames: []string{"name"}}}})
		found = append(found, more...)
		for _, block := range content.Blocks {
			found = append(found, writeValue(&b, block, src)...)
		}
	}
	if found.HasErrors() {
		var diags diag.Diagnostics
		for _, d := range found {
			diags.Append(fromHCL(d, nil, func(string) []byte { return src }))
		}
		return nil, diags
	}
	if b.Len() == 0 {
		return nil, nil
	}
	return Format("values.kwvars", []byte("# Values of the variables that "+name+" declares, instead of their defaults there.\n"+b.String()))
}

// variableBody are the attributes of a variable block that say what its value is.
var variableBody = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "description"}, {Name: "default"}, {Name: "sensitive"}}}

// writeValue writes the value of one variable block, as it is written there.
func writeValue(b *strings.Builder, block *hcl.Block, src []byte) hcl.Diagnostics {
	content, _, diags := block.Body.PartialContent(variableBody)
	b.WriteByte('\n')
	if a := content.Attributes["description"]; a != nil {
		if text, more := a.Expr.Value(nil); !more.HasErrors() && text.Type() == cty.String && !text.IsNull() {
			b.WriteString("# " + strings.ReplaceAll(strings.TrimSpace(text.AsString()), "\n", "\n# ") + "\n")
		}
	}
	name, given := block.Labels[0], content.Attributes["default"]
	if given == nil || content.Attributes["sensitive"] != nil {
		b.WriteString("# Give it as KUBEWRIGHT_VAR_" + name + ", or with -var-file in a file outside of the repository.\n# " + name + " = …\n")
		return diags
	}
	b.WriteString(name + " = " + string(given.Expr.Range().SliceBytes(src)) + "\n")
	return diags
}
