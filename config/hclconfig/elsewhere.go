package hclconfig

import (
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/elsewhere"
)

// didYouMean begins hcl's own suggestion, a name that is similar and allowed here.
const didYouMean = " Did you mean"

// explainElsewhere adds what to write instead of a name that does not belong here: for a name of
// another tool the words of the table, for a misplaced one the block that it belongs to, one of
// a few that have it. A block for an argument, or the reverse, is explained by hcl.
func explainElsewhere(d *diag.Diagnostic, name string) {
	said, hint, suggested := strings.Cut(d.Detail, didYouMean)
	if suggested && strings.HasPrefix(hint, " to define") {
		return
	}
	if instead := elsewhere.Instead(elsewhere.Language, name); instead != "" {
		d.Detail = said + " " + instead
		return
	}
	if suggested {
		return
	}
	own := elsewhere.Normal(name)
	homes := homesOf(root, "", own)
	if len(homes) == 0 || len(homes) > 3 {
		return
	}
	d.Detail += didYouMean + ` "` + own + `" of ` + strings.Join(homes, " or ") + `?`
}

// homesOf returns the paths of blocks that have an argument or a block of a name.
func homesOf(b *Block, path, name string) []string {
	var out []string
	if path != "" && (b.Attribute(name) != nil || b.Block(name) != nil) {
		out = append(out, path)
	}
	for _, kid := range b.Blocks {
		out = append(out, homesOf(kid, strings.TrimPrefix(path+"."+kid.Name, "."), name)...)
	}
	return out
}
