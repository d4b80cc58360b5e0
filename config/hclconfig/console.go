package hclconfig

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// ConsoleFile is the file name in positions inside a console expression.
const ConsoleFile = "<console>"

// Console evaluates expressions with everything that a configuration declares.
type Console struct {
	loader *loader
	config *config.Config
	text   []byte
	close  func() error
}

// NewConsole loads a configuration as Load does. known gives a
// value to what only an apply finds out. If there are no errors among the findings,
// the caller closes the console.
func NewConsole(o Options, known config.Known) (*Console, diag.Diagnostics) {
	l, closeRoot, diags := newLoader(o)
	if diags.HasErrors() {
		return nil, diags
	}
	l.eval.known = known
	c := &Console{loader: l, config: l.load(), close: closeRoot}
	l.eval.diags.Sort()
	if l.eval.diags.HasErrors() {
		_ = closeRoot()
		return nil, l.eval.diags
	}
	l.eval.functions["type"] = typeFunc
	l.eval.text = c.Source
	l.eval.cover = func(name string) []byte { return Cover(o, name, c.Source(name)) }
	return c, l.eval.diags
}

// Close closes the configuration folder.
func (c *Console) Close() error { return c.close() }

// Config returns the configuration.
func (c *Console) Config() *config.Config { return c.config }

// Secrets redacts the secrets of the configuration.
func (c *Console) Secrets() *state.Redactor { return c.config.Secrets }

// Source returns the text of a file of the configuration, or of the last evaluated expression.
func (c *Console) Source(file string) []byte {
	if file == ConsoleFile {
		return c.text
	}
	return c.loader.files.text(file)
}

// Eval returns the value of an expression, with its sensitive and pending parts marked as such.
// If there are errors among the findings, there is no value.
func (c *Console) Eval(text string) (state.Value, diag.Diagnostics) {
	e := c.loader.eval
	e.diags, e.seen, c.text = nil, map[[2]any]bool{}, []byte(text)
	e.meter.again()
	x, diags := parseExpression(text, ConsoleFile)
	e.report(diags)
	out := state.Null()
	if !diags.HasErrors() {
		out = shown(e.eval(x, nil))
	}
	for _, d := range e.diags {
		d.Summary, d.Detail = c.config.Secrets.Text(d.Summary), c.config.Secrets.Text(d.Detail)
	}
	return out, e.diags
}

// Incomplete reports whether an expression has an open bracket, or a heredoc, that another line
// has to close.
func Incomplete(text string) bool {
	tokens, _ := hclsyntax.LexExpression([]byte(text+"\n"), ConsoleFile, hcl.InitialPos)
	depth := 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOHeredoc:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCHeredoc:
			depth--
		}
	}
	return depth > 0
}

// shown converts a value as toState does, and marks sensitive and unknown parts.
func shown(v cty.Value) state.Value {
	plain, marks := v.Unmark()
	t := plain.Type()
	switch {
	case marks.Has(sensitive):
		return state.SensitiveValue("", "")
	case !plain.IsKnown():
		if p := pendingValue(marks); !p.IsNull() {
			return p
		}
		return state.PendingValue("apply", "value")
	case plain.IsNull() || !plain.CanIterateElements():
		return toState(plain)
	case t.IsObjectType() || t.IsMapType():
		m := map[string]state.Value{}
		for it := plain.ElementIterator(); it.Next(); {
			k, e := it.Element()
			m[k.AsString()] = shown(e)
		}
		return state.Map(m)
	}
	list := []state.Value{}
	for it := plain.ElementIterator(); it.Next(); {
		_, e := it.Element()
		list = append(list, shown(e))
	}
	return state.List(list...)
}

// typeFunc returns the type of a value. Only a console has it: nothing in a configuration may
// depend on types.
var typeFunc = function.New(&function.Spec{
	Params: []function.Parameter{{
		Name: "value", Type: cty.DynamicPseudoType,
		AllowNull: true, AllowUnknown: true, AllowDynamicType: true, AllowMarked: true,
	}},
	Type: function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.StringVal(typeName(args[0].Type())), nil
	},
})
