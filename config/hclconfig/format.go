package hclconfig

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/kubewright/kubewright/config/diag"
)

// Format puts the text of a .hcl file in the usual format. A text that cannot
// be parsed is left alone and reported; name is what the report calls it.
func Format(src []byte, name string) ([]byte, diag.Diagnostics) {
	_, parsed := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	var diags diag.Diagnostics
	for _, d := range parsed {
		diags = append(diags, fromHCL(d, func(string) []byte { return src }))
	}
	if diags.HasErrors() {
		return src, diags
	}
	return hclwrite.Format(src), diags
}
