package hclconfig

import (
	"regexp"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
)

// hump matches the beginning of a word in kubeadm's camelCase names.
var hump = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// ourName converts a name of kubeadm's configuration to this language's spelling.
func ourName(name string) string {
	return strings.ToLower(hump.ReplaceAllString(name, "${1}_${2}"))
}

// argumentBlocks are names that users try for the arguments of a component: kubeadm's, and
// those of other tools.
var argumentBlocks = map[string]bool{"args": true, "extra_args": true, "arguments": true, "flags": true}

// explainElsewhere adds, for a misplaced name, the block that it belongs to: one of a few that
// have it.
func explainElsewhere(d *diag.Diagnostic, name string) {
	if strings.Contains(d.Detail, "Did you mean") {
		return
	}
	own := ourName(name)
	if argumentBlocks[own] {
		d.Detail += ` Arguments of a component are blocks: arg "NAME" { value = "VALUE" }.`
		return
	}
	homes := homesOf(root, "", own)
	if len(homes) == 0 || len(homes) > 3 {
		return
	}
	d.Detail += ` Did you mean "` + own + `" of ` + strings.Join(homes, " or ") + `?`
}

// homesOf returns the paths of blocks that have an argument or a block of a name.
func homesOf(b *Block, path, name string) []string {
	var out []string
	if path != "" && (b.attribute(name) != nil || b.block(name) != nil) {
		out = append(out, path)
	}
	for _, kid := range b.Blocks {
		out = append(out, homesOf(kid, strings.TrimPrefix(path+"."+kid.Name, "."), name)...)
	}
	return out
}
