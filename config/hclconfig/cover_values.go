package hclconfig

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// plainVariables returns the declared variables of a configuration, and whether each is
// declared as not sensitive. An undeclared variable, or one whose declaration cannot be read,
// may be sensitive.
func plainVariables(o Options) map[string]bool {
	plain := map[string]bool{}
	fsys, closeRoot, err := o.open()
	if err != nil {
		return plain
	}
	defer closeRoot()
	f := &files{fsys: fsys, texts: map[string][]byte{}, answers: map[string]string{}}
	parsed, _, _ := f.parse()
	for _, file := range parsed {
		for _, b := range blocksOf(file.Body, variableBlock.Name, variableBlock.Label) {
			plain[b.Labels[0]] = declaredPlain(b)
		}
	}
	return plain
}

// declaredPlain reports whether a variable is declared as not sensitive.
func declaredPlain(b *hcl.Block) bool {
	content, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "sensitive"}}})
	a := content.Attributes["sensitive"]
	if a == nil {
		return true
	}
	v, diags := newMeter().value(a.Expr, nil)
	return !diags.HasErrors() && v.RawEquals(cty.False)
}

// values covers a file of values. Everything after a name on its line is covered however it is
// written, unless it is the value of a plain variable: an error there is often a secret without
// its quotes.
func (c *cover) values(plain map[string]bool) {
	fresh := true // at the beginning of a line
	for i := 0; i < len(c.tokens); {
		switch c.tokens[i].Type {
		case hclsyntax.TokenNewline, hclsyntax.TokenQuotedNewline:
			fresh = true
			i++
			continue
		case hclsyntax.TokenComment:
			fresh = fresh || strings.HasSuffix(string(c.tokens[i].Bytes), "\n")
			i++
			continue
		}
		from, shown := i, false
		if fresh && c.named(i, plain) {
			from++
			if c.is(from, hclsyntax.TokenEqual) {
				from, shown = from+1, plain[string(c.tokens[i].Bytes)]
			}
		}
		end := max(c.expressionEnd(from), i+1)
		if !shown {
			if c.is(end, hclsyntax.TokenComment) {
				end++
			}
			c.hideTokens(from, end)
		}
		fresh = c.tokens[end-1].Type == hclsyntax.TokenComment
		i = end
	}
}

// named reports whether a line begins with the name of a variable: a declared one, or what can
// only be one. The last line of a broken base64 key also looks like NAME=.
func (c *cover) named(i int, plain map[string]bool) bool {
	if !c.is(i, hclsyntax.TokenIdent) {
		return false
	}
	_, declared := plain[string(c.tokens[i].Bytes)]
	assigned := c.is(i+1, hclsyntax.TokenEqual) && !c.is(i+2, hclsyntax.TokenNewline) && !c.is(i+2, hclsyntax.TokenEOF)
	return declared || assigned || c.is(i+1, hclsyntax.TokenOBrace)
}

// jsonValues is values for a JSON file.
func (c *cover) jsonValues(plain map[string]bool) {
	text := slices.Clone(c.out)
	at := 0
	between := func(to int) {
		for i := at; i < to; i++ {
			if strings.IndexByte(" \t\r\n{},", text[i]) < 0 {
				c.hide(i, i+1)
			}
		}
	}
	for _, m := range jsonMember.FindAllSubmatchIndex(text, -1) {
		if m[0] < at {
			continue // inside of a value
		}
		between(m[0])
		at = jsonEnd(text, m[1])
		if !plain[string(text[m[2]:m[3]])] {
			c.hide(m[1], at)
		}
	}
	between(len(text))
}
