package hclwriter

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/state"
)

// Write returns a configuration as a person would write it: defaults are left out, and similar
// nodes are one block with for_each. It is for configurations that were read from a running
// cluster, and writes what can be observed there: no variables, conditions, addons, tokens or
// secrets. Of the nodes' addresses it keeps only the key; hclconfig.Load returns the new ones.
func Write(c *config.Config) []byte {
	file := &text{row: hclconfig.Schema()}
	for _, cl := range c.Clusters {
		file.cluster(cl)
	}
	var shared config.Connection
	if len(c.Nodes) > 0 {
		shared = c.Nodes[0].Connection
		shared.Host = ""
		connectionText(file.block("connection", ""), shared)
	}
	for _, set := range alike(c.Nodes, "", map[string]bool{}) {
		file.nodes(set, shared)
	}
	return file.bytes()
}

// WriteBeside is Write for clusters in an additional file of a configuration, whose top-level
// connection block says how to reach hosts. Node blocks get names that the configuration does
// not have, and connection attributes that differ from that block.
func WriteBeside(c, there *config.Config, shared config.Connection) []byte {
	taken := map[string]bool{}
	for _, n := range there.Nodes {
		taken[n.Target.Name] = true
	}
	file := &text{row: hclconfig.Schema()}
	for _, cl := range c.Clusters {
		prefix := ""
		if len(c.Clusters)+len(there.Clusters) > 1 {
			prefix = cl.Label + "-"
		}
		file.cluster(cl)
		for _, set := range alike(c.NodesOf(cl.Label, ""), prefix, taken) {
			file.nodes(set, shared)
		}
	}
	return file.bytes()
}

// bytes returns a whole file.
func (t *text) bytes() []byte {
	out := hclwrite.NewEmptyFile()
	t.emit(out.Body())
	return hclwrite.Format(out.Bytes())
}

// text is a block that is being written, with its row of the schema.
type text struct {
	row    *hclconfig.Block
	label  string
	attrs  []written
	blocks []*text
}

// written is one attribute.
type written struct {
	name   string
	value  cty.Value
	tokens hclwrite.Tokens // instead of a value
}

// set writes an attribute, unless the value is the row's default or empty.
func (t *text) set(name string, v cty.Value) {
	row := t.row.Attribute(name)
	if row == nil {
		panic("internal error: the schema of " + t.row.Name + " has no attribute " + name)
	}
	if v.IsNull() || row.Default != nil && v.RawEquals(row.Value()) {
		return
	}
	t.attrs = append(t.attrs, written{name: name, value: v})
}

func (t *text) str(name, s string) {
	if s != "" {
		t.set(name, cty.StringVal(s))
	}
}

func (t *text) boolean(name string, b bool) { t.set(name, cty.BoolVal(b)) }

func (t *text) number(name string, n int) {
	if n != 0 {
		t.set(name, cty.NumberIntVal(int64(n)))
	}
}

func (t *text) strings(name string, list []string) {
	if len(list) > 0 {
		t.set(name, stringList(list))
	}
}

func stringList(list []string) cty.Value {
	var out []cty.Value
	for _, s := range list {
		out = append(out, cty.StringVal(s))
	}
	return cty.ListVal(out)
}

func (t *text) duration(name string, d time.Duration) { t.str(name, config.Duration(d)) }

func (t *text) stringMap(name string, m map[string]string) {
	out := map[string]cty.Value{}
	for k, v := range m {
		out[k] = cty.StringVal(v)
	}
	if len(out) > 0 {
		t.set(name, cty.MapVal(out))
	}
}

// tree writes a tree of the user.
func (t *text) tree(name string, v state.Value) {
	if !v.IsNull() {
		t.set(name, hclconfig.FromState(v))
	}
}

// expression writes an attribute that is no constant: each.value.
func (t *text) expression(name, source string) {
	t.attrs = append(t.attrs, written{name: name, tokens: reference(source)})
}

func reference(source string) hclwrite.Tokens {
	return hclwrite.Tokens{{Type: hclsyntax.TokenIdent, Bytes: []byte(source)}}
}

// refer replaces arguments in the block that equal a text by a reference to its source.
func (t *text) refer(value, source string) {
	for _, arg := range t.blocks {
		for i, a := range arg.attrs {
			if a.tokens == nil && a.value.RawEquals(cty.StringVal(value)) {
				arg.attrs[i] = written{name: a.name, tokens: reference(source)}
			}
		}
	}
}

// document writes a multi-line text as a heredoc. If one of its lines would end that, or the
// text does not end with a line break, it is quoted.
func (t *text) document(name, content string) {
	const end = "EOT"
	if !strings.HasSuffix(content, "\n") || strings.Contains("\n"+content, "\n"+end) || strings.ContainsAny(content, "\r\x00") {
		t.str(name, content)
		return
	}
	content = strings.NewReplacer("${", "$${", "%{", "%%{").Replace(content)
	t.attrs = append(t.attrs, written{name: name, tokens: hclwrite.Tokens{
		{Type: hclsyntax.TokenOHeredoc, Bytes: []byte("<<" + end + "\n")},
		{Type: hclsyntax.TokenStringLit, Bytes: []byte(content)},
		{Type: hclsyntax.TokenCHeredoc, Bytes: []byte(end)},
	}})
}

// block adds a block. A block that stays empty and has no label is not written.
func (t *text) block(name, label string) *text {
	row := t.row.Block(name)
	if row == nil {
		panic("internal error: the schema of " + t.row.Name + " has no block " + name)
	}
	b := &text{row: row, label: label}
	t.blocks = append(t.blocks, b)
	return b
}

// empty reports whether nothing is to be written.
func (t *text) empty() bool {
	if t.label != "" || len(t.attrs) > 0 {
		return false
	}
	for _, b := range t.blocks {
		if !b.empty() {
			return false
		}
	}
	return true
}

// emit writes attributes, then blocks, with an empty line between multi-line ones.
func (t *text) emit(body *hclwrite.Body) {
	for _, a := range t.attrs {
		if a.tokens != nil {
			body.SetAttributeRaw(a.name, a.tokens)
		} else {
			body.SetAttributeValue(a.name, a.value)
		}
	}
	first, shortBefore := len(t.attrs) == 0, false
	for _, b := range t.blocks {
		if b.empty() {
			continue
		}
		if short := b.short(); !first && !(short && shortBefore) {
			body.AppendNewline()
		}
		first, shortBefore = false, b.short()
		var labels []string
		if b.row.Label != "" {
			labels = []string{b.label}
		}
		block := hclwrite.NewBlock(b.row.Name, labels)
		b.emit(block.Body())
		if shortBefore {
			body.AppendUnstructuredTokens(oneLine(block))
		} else {
			body.AppendBlock(block)
		}
	}
}

// short reports whether a block is a name with one plain value, which fits into a line.
func (t *text) short() bool {
	if t.label == "" || len(t.blocks) > 0 || len(t.attrs) != 1 {
		return false
	}
	a := t.attrs[0]
	return len(a.tokens) == 1 || a.tokens == nil && a.value.Type().IsPrimitiveType()
}

// oneLine returns a block without the line breaks around its attribute.
func oneLine(b *hclwrite.Block) hclwrite.Tokens {
	tokens := slices.DeleteFunc(b.BuildTokens(nil), func(t *hclwrite.Token) bool { return t.Type == hclsyntax.TokenNewline })
	return append(tokens, &hclwrite.Token{Type: hclsyntax.TokenNewline, Bytes: []byte("\n")})
}
