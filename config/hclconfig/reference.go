package hclconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/hclconfig/sourcetext"
)

// Reference returns the reference documentation of the language, as Markdown:
// docs/reference/configuration.md.
func Reference() string {
	b := referencePage{costs: true}
	b.WriteString(referenceIntro)
	for _, block := range root.Blocks {
		b.block(block, "", 2)
	}
	b.WriteString(referenceExpressions)
	for _, name := range functionNames() {
		b.WriteString("`" + name + "` ")
	}
	b.WriteString("\n\nNot available, because two plans of one configuration would differ, or because they read what lies outside of it:\n\n")
	for _, name := range slices.Sorted(maps.Keys(unavailable)) {
		b.WriteString("- `" + name + "`: " + unavailable[name] + "\n")
	}
	b.WriteString("\n" + referenceLimits())
	return b.String()
}

// referencePage is a page that describes blocks.
type referencePage struct {
	strings.Builder
	// costs adds what a change costs.
	costs bool
}

const referenceIntro = `# Configuration

All ` + "`*.hcl` and `*.hcl.json`" + ` files of a folder are one configuration. The order of blocks and files means nothing.

The last column is what changing a value does to a cluster that runs:

| cost | meaning |
|---|---|
| none | nothing that runs: a setting of kubewright's own, in force from the next plan |
| object | API objects, labels or taints change |
| restart | a component restarts on each node concerned, one control plane at a time |
| node-replace | the node is drained, reset and joined again |
| immutable | refused while the cluster lives, also by an argument or a patch that says it |

Every block can also be written as ` + "`dynamic \"BLOCK\" { for_each = …, labels = [BLOCK.key], content { … } }`" + ` inside of another.

`

const referenceExpressions = `## Expressions

Every attribute takes an expression of HCL. It can refer to

| reference | value |
|---|---|
| ` + "`var.NAME`" + ` | a variable |
| ` + "`local.NAME`" + ` | a local value |
| ` + "`cluster.NAME.ATTRIBUTE`, `cluster.NAME.BLOCK.ATTRIBUTE`" + ` | what is written in a cluster block, or its default |
| ` + "`node.NAME.ATTRIBUTE`, `node.NAME[\"KEY\"].ATTRIBUTE`" + ` | what is written in a node block, or its default |
| ` + "`node.NAME`" + ` | with ` + "`for_each`" + ` all nodes of the block, by key |
| ` + "`each.key`, `each.value`" + ` | the element, in a node block with ` + "`for_each`" + ` |
| ` + "`path.module`, `path.root`" + ` | the folder of the configuration |

Each attribute is evaluated by itself, when it is needed: clusters may refer to nodes and nodes to clusters, as long as no attribute depends on itself. The name of a node that takes its host's is known only after an apply; it can be used in outputs alone, which have it from then on.

### Functions

They mean what they mean in Terraform. Files are read below the folder of the configuration only. A number is finite, its size at most 1e4932 and, unless it is 0, at least 1e-4932: what is not is an error where it is made.

`

// referenceLimits documents the limits of an evaluation.
func referenceLimits() string {
	m := usualLimits
	rows := [][2]string{
		{"text in one value", fmt.Sprintf("%d MiB", m.text>>20)},
		{"elements of one value, nested ones included", sourcetext.Grouped(m.elements)},
		{"nesting of lists and objects", fmt.Sprint(sourcetext.MaxDepth)},
		{"made by one expression on the way to its value", fmt.Sprintf("%s elements, %d MiB of text", sourcetext.Grouped(m.made), m.textMade>>20)},
		{"values of the configuration together", fmt.Sprintf("%s elements, %d MiB of text", sourcetext.Grouped(m.kept), m.textKept>>20)},
		{"steps of evaluating the configuration", sourcetext.Grouped(m.steps)},
		{"values that depend on one another in a row", sourcetext.Grouped(maxChain)},
		{"blocks that one dynamic block makes", sourcetext.Grouped(maxBlocks)},
		{"nodes", sourcetext.Grouped(maxNodes)},
		{"one file", fmt.Sprintf("%d MiB, of the language %s words and signs", MaxFile>>20, sourcetext.Grouped(sourcetext.MaxTokens))},
		{"all files that are read", fmt.Sprintf("%d MiB, of the language %d MiB", maxRead>>20, maxParsed>>20)},
	}
	var b strings.Builder
	b.WriteString("### Limits\n\nA few lines can describe more than any memory holds. What exceeds a limit is an error that names the expression. A step is an element that a function or a `for` visits, or 16 bytes of text; each pass of a `for` is 10 more. The limits count no time: the same configuration ends in the same way on every machine.\n\n| what | limit |\n|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", r[0], r[1])
	}
	return b.String()
}

// functionNames returns the names of the available functions.
func functionNames() []string {
	all := (&loader{}).functions(newMeter())
	for name := range unavailable {
		delete(all, name)
	}
	return slices.Sorted(maps.Keys(all))
}

func (b *referencePage) block(row *Block, parent string, level int) {
	name := row.Name
	if parent != "" {
		name = parent + "." + name
	}
	title := "`" + name + "`"
	if row.Label != "" {
		title = "`" + name + " \"" + row.Label + "\"`"
	}
	fmt.Fprintf(b, "%s %s\n\n%s%s\n\n", strings.Repeat("#", min(level, 6)), title, row.Doc, occurrence(row))
	b.attributes(row)
	for _, c := range row.Blocks {
		b.block(c, name, level+1)
	}
	for _, v := range row.Variants {
		fmt.Fprintf(b, "%s `%s \"%s\"`\n\n%s\n\n", strings.Repeat("#", min(level+1, 6)), name, v.Name, v.Doc)
		b.attributes(v)
	}
}

func (b *referencePage) attributes(row *Block) {
	if len(row.Attributes) == 0 {
		return
	}
	head, line := "| name | type | default | meaning |", "|---|---|---|---|"
	if b.costs {
		head, line = head+" cost |", line+"---|"
	}
	b.WriteString(head + "\n" + line + "\n")
	for i := range row.Attributes {
		b.attribute(&row.Attributes[i])
	}
	b.WriteString("\n")
}

// occurrence says how often a block is allowed.
func occurrence(row *Block) string {
	since := ""
	if row.Since != "" {
		since = " Since " + row.Since + "."
	}
	switch {
	case row.Repeat && row.Label != "":
		return " It can be repeated, also with the same label." + since
	case row.Repeat:
		return " It can be repeated." + since
	}
	return since
}

func (b *referencePage) attribute(a *Attribute) {
	doc := a.Doc
	if a.Since != "" {
		doc += " Since " + a.Since + "."
	}
	if a.Sensitive {
		doc += " Sensitive: it is never printed or stored."
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s |", a.Name, a.Type.Name, a.DefaultText(), strings.ReplaceAll(doc, "|", "\\|"))
	if b.costs {
		fmt.Fprintf(b, " %s |", a.Cost)
	}
	b.WriteString("\n")
}

// DefaultText returns the default of an attribute in words, as Markdown.
func (a *Attribute) DefaultText() string {
	switch x := a.Default.(type) {
	case nil:
		switch {
		case a.Required:
			return "**required**"
		case a.Derived != "":
			return a.Derived
		}
		return ""
	case string:
		return fmt.Sprintf("`%q`", x)
	case []string:
		quoted := make([]string, len(x))
		for i, s := range x {
			quoted[i] = fmt.Sprintf("%q", s)
		}
		return "`[" + strings.Join(quoted, ", ") + "]`"
	default:
		return fmt.Sprintf("`%v`", x)
	}
}
