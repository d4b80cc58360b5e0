package listing

import (
	"io"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/hclconfig"
)

// schemaPrinter prints rows of the schema table.
type schemaPrinter struct{ *ui.Page }

// Schema prints a block of the schema table: its attributes with their meaning, and the blocks
// inside of it. An empty path is the whole language.
func Schema(w io.Writer, path string, row *hclconfig.Block, o ui.Options) error {
	p := schemaPrinter{ui.NewPage(o)}
	if path != "" {
		p.Line(p.Bold(blockTitle(path, row)))
		p.Line()
		p.Prose(plainText(row.Doc) + repeats(row))
		p.Line()
	}
	for i := range row.Attributes {
		p.schemaRow(row.Attributes[i].Name, &row.Attributes[i])
	}
	p.blocksOf(path, row)
	return p.Flush(w)
}

// blocksOf prints the nested blocks, or the values of the label if the content depends on it.
func (p schemaPrinter) blocksOf(path string, row *hclconfig.Block) {
	list, title := row.Blocks, "Blocks inside of it:"
	switch {
	case len(row.Variants) > 0:
		list, title = row.Variants, "Its label is one of these:"
	case path == "":
		title = "Blocks of a configuration:"
	}
	if len(list) == 0 {
		return
	}
	p.Line(title)
	p.Line()
	for _, b := range list {
		name := blockTitle(b.Name, b)
		if len(row.Variants) > 0 {
			name = row.Name + " \"" + b.Name + "\" { }"
		}
		p.Line("  ", p.Bold(name))
		p.Line("      ", ui.Wrap(firstSentence(plainText(b.Doc)), p.Width-6, "      "))
	}
	p.Line()
	example := list[0].Name
	if path != "" {
		example = path + "." + example
	}
	p.Line("kubewright schema ", example, " says what stands in one of them.")
}

// SchemaAttribute prints the meaning of one attribute.
func SchemaAttribute(w io.Writer, path string, a *hclconfig.Attribute, o ui.Options) error {
	p := schemaPrinter{ui.NewPage(o)}
	p.schemaRow(path, a)
	p.Prose("A change of it: " + costs[a.Cost] + ".")
	return p.Flush(w)
}

// costs describe what a change costs, as docs/reference/configuration.md does.
var costs = map[hclconfig.Cost]string{
	hclconfig.CostNone:        "nothing that runs; it is in force from the next plan",
	hclconfig.CostObject:      "API objects, labels or taints change",
	hclconfig.CostRestart:     "a component restarts on each node concerned, one control plane at a time",
	hclconfig.CostNodeReplace: "the node is drained, reset and joined again",
	hclconfig.CostImmutable:   "refused while the cluster lives",
}

// schemaRow prints the name of an attribute, its properties, and its meaning.
func (p schemaPrinter) schemaRow(name string, a *hclconfig.Attribute) {
	about := []string{a.Type.Name}
	switch text := plainText(a.DefaultText()); {
	case a.Required:
		about = append(about, "required")
	case text != "":
		about = append(about, "default "+text)
	}
	if a.Cost != hclconfig.CostNone {
		about = append(about, string(a.Cost))
	}
	if a.Sensitive {
		about = append(about, "sensitive")
	}
	if a.Since != "" {
		about = append(about, "since "+a.Since)
	}
	p.Line("  ", p.Bold(name), " (", strings.Join(about, ", "), ")")
	p.Line("      ", ui.Wrap(plainText(a.Doc), p.Width-6, "      "))
	p.Line()
}

func blockTitle(name string, row *hclconfig.Block) string {
	if row.Label != "" {
		name += ` "` + row.Label + `"`
	}
	return name + " { }"
}

// repeats returns how often a block may occur.
func repeats(row *hclconfig.Block) string {
	switch {
	case row.Repeat && row.Label != "":
		return " It can be repeated, also with the same label."
	case row.Repeat:
		return " It can be repeated."
	}
	return ""
}

// plainText returns text of the schema table without Markdown's marks.
func plainText(s string) string { return strings.NewReplacer("`", "", "**", "").Replace(s) }

func firstSentence(s string) string {
	if first, _, more := strings.Cut(s, ". "); more {
		return first + "."
	}
	return s
}
