package hclwriter

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// Values returns the content of a *.kwvars file for the variables that a file of a configuration
// declares: each with its description and its default, and those without a default or with a
// secret as comments. It is nil if the file declares none.
func Values(name string, src []byte) ([]byte, error) {
	file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, fmt.Errorf("cannot read the variables of %w", diags)
	}
	var b strings.Builder
	for _, block := range file.Body.(*hclsyntax.Body).Blocks {
		if block.Type == "variable" && len(block.Labels) == 1 {
			writeValue(&b, block, src)
		}
	}
	if b.Len() == 0 {
		return nil, nil
	}
	return hclwrite.Format([]byte("# Values of the variables that " + name + " declares, instead of their defaults there.\n" + b.String())), nil
}

// writeValue writes the value of one variable block, as it is written there.
func writeValue(b *strings.Builder, block *hclsyntax.Block, src []byte) {
	attrs := block.Body.Attributes
	b.WriteByte('\n')
	if a := attrs["description"]; a != nil {
		if text, diags := a.Expr.Value(nil); !diags.HasErrors() && text.Type() == cty.String && !text.IsNull() {
			b.WriteString("# " + strings.ReplaceAll(strings.TrimSpace(text.AsString()), "\n", "\n# ") + "\n")
		}
	}
	name, given := block.Labels[0], attrs["default"]
	if given == nil || attrs["sensitive"] != nil {
		b.WriteString("# Give it as KUBEWRIGHT_VAR_" + name + ", or with -var-file in a file outside of the repository.\n# " + name + " = …\n")
		return
	}
	b.WriteString(name + " = " + string(given.Expr.Range().SliceBytes(src)) + "\n")
}
