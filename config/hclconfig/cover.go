package hclconfig

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/kubewright/kubewright/config/diag"
)

// Cover returns the text of a configuration file with its secrets covered (diag.Covered), for
// excerpts: an error may be about a line with a password. It covers the values of sensitive
// attributes and variables, arguments of sensitive(…), private keys, and passwords in URLs; but
// not references to values elsewhere. In a file of values it keeps only names and the values of
// variables that are not sensitive. The file may be invalid: it is processed token by token.
func Cover(o Options, name string, text []byte) []byte {
	c := &cover{out: bytes.ReplaceAll(text, []byte{diag.Covered}, []byte("?"))} // so that only covered bytes look covered
	values, json := holdsValues(name), strings.HasSuffix(name, ".json")
	if !json {
		c.tokens, _ = hclsyntax.LexConfig(text, name, hcl.InitialPos)
	}
	switch {
	case values && json:
		c.jsonValues(plainVariables(o))
	case values:
		c.values(plainVariables(o))
	case json:
		c.json()
	case isTest(name):
		c.plain = plainVariables(o)
		c.walk(testRoot)
	default:
		c.walk(root)
	}
	c.patterns()
	return c.out
}

// coverer returns a function that covers each file once.
func (f *files) coverer(o Options) func(name string) []byte {
	covers := map[string][]byte{}
	return func(name string) []byte {
		if covers[name] == nil {
			covers[name] = Cover(o, name, f.text(name))
		}
		return covers[name]
	}
}

// holdsValues reports whether a file holds values of variables, and is neither a configuration
// nor a pseudo file. A file that -var-file names may have any name.
func holdsValues(name string) bool {
	return !strings.HasSuffix(name, ".hcl") && !strings.HasSuffix(name, ".hcl.json") && !strings.HasPrefix(name, "<")
}

// cover covers parts of one text.
type cover struct {
	out    []byte
	tokens hclsyntax.Tokens
	// plain are the variables that a test file may show.
	plain map[string]bool
}

// hide covers bytes; line breaks stay.
func (c *cover) hide(from, to int) {
	for i := from; i < to; i++ {
		if c.out[i] != '\n' && c.out[i] != '\r' {
			c.out[i] = diag.Covered
		}
	}
}

// walk walks attributes and blocks of a file in a language.
func (c *cover) walk(language *Block) {
	rows := []*Block{language}
	for i := 0; i < len(c.tokens); {
		row := rows[len(rows)-1]
		t := c.tokens[i]
		switch {
		case t.Type == hclsyntax.TokenIdent && c.is(i+1, hclsyntax.TokenEqual):
			end := c.expressionEnd(i + 2)
			if c.sensitive(row, string(t.Bytes)) && !c.refers(i+2, end) {
				c.hideTokens(i+2, end)
			}
			c.calls(i+2, end)
			i = end
		case t.Type == hclsyntax.TokenOBrace:
			rows = append(rows, c.header(i, row))
			i++
		case t.Type == hclsyntax.TokenCBrace:
			if len(rows) > 1 {
				rows = rows[:len(rows)-1]
			}
			i++
		default:
			i++
		}
	}
}

func (c *cover) is(i int, of hclsyntax.TokenType) bool {
	return i < len(c.tokens) && c.tokens[i].Type == of
}

// sensitive reports whether an attribute of a row is sensitive. For an unknown row or
// attribute, such as a misspelt one, it judges by the name alone.
func (c *cover) sensitive(row *Block, name string) bool {
	if row == nil {
		return sensitiveName(name)
	}
	if row == testVariablesBlock {
		return !c.plain[name]
	}
	a := row.Attribute(name)
	return a != nil && a.Sensitive || a == nil && !row.Free && sensitiveName(name)
}

// secretVariableBlock is the row of a sensitive variable.
var secretVariableBlock = &Block{Name: variableBlock.Name, Label: variableBlock.Label, Attributes: []Attribute{{Name: "default", Sensitive: true}}, Blocks: variableBlock.Blocks}

// header returns the row of the block that the brace opens.
func (c *cover) header(brace int, parent *Block) *Block {
	first := brace
	for first > 0 && !slices.Contains([]hclsyntax.TokenType{hclsyntax.TokenNewline, hclsyntax.TokenOBrace, hclsyntax.TokenCBrace, hclsyntax.TokenComment}, c.tokens[first-1].Type) {
		first--
	}
	if parent == nil || !c.is(first, hclsyntax.TokenIdent) {
		return nil
	}
	row := parent.Block(string(c.tokens[first].Bytes))
	if row == variableBlock && c.isSecret(brace) {
		return secretVariableBlock
	}
	if row == nil || len(row.Variants) == 0 {
		return row
	}
	for _, t := range c.tokens[first:brace] {
		if t.Type == hclsyntax.TokenQuotedLit {
			return row.variant(string(t.Bytes))
		}
	}
	return nil
}

// isSecret reports whether the block of a variable has a sensitive attribute other than false:
// true, or an expression.
func (c *cover) isSecret(brace int) bool {
	for i, end := brace+1, c.end(brace+1, false); i < end; i++ {
		if c.is(i, hclsyntax.TokenIdent) && string(c.tokens[i].Bytes) == "sensitive" && c.is(i+1, hclsyntax.TokenEqual) {
			return !c.is(i+2, hclsyntax.TokenIdent) || string(c.tokens[i+2].Bytes) != "false"
		}
	}
	return false
}

// expressionEnd returns the token after an expression: the end of its line outside of brackets,
// or the brace of its block.
func (c *cover) expressionEnd(i int) int { return c.end(i, true) }

// end returns the token that closes the brackets around a token, or, with lines, ends its line.
func (c *cover) end(i int, lines bool) int {
	depth := 0
	for ; i < len(c.tokens); i++ {
		switch t := c.tokens[i]; t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd:
			if depth == 0 {
				return i
			}
			depth--
		case hclsyntax.TokenNewline, hclsyntax.TokenQuotedNewline:
			if lines && depth == 0 {
				return i
			}
		case hclsyntax.TokenComment:
			if lines && depth == 0 && !strings.HasPrefix(string(t.Bytes), "/*") {
				return i
			}
		case hclsyntax.TokenEOF:
			return i
		}
	}
	return i
}

// refers reports whether an expression begins with a reference or a function: var.token,
// file("ca.key"). The value is then covered where it is written.
func (c *cover) refers(from, end int) bool {
	return from+1 < end && c.tokens[from].Type == hclsyntax.TokenIdent &&
		slices.Contains([]hclsyntax.TokenType{hclsyntax.TokenDot, hclsyntax.TokenOBrack, hclsyntax.TokenOParen}, c.tokens[from+1].Type)
}

// calls covers the arguments of sensitive(…).
func (c *cover) calls(from, end int) {
	for i := from; i+1 < end; i++ {
		if c.is(i, hclsyntax.TokenIdent) && string(c.tokens[i].Bytes) == "sensitive" && c.is(i+1, hclsyntax.TokenOParen) {
			last := c.expressionEnd(i + 2)
			if !c.refers(i+2, last) {
				c.hideTokens(i+2, last)
			}
		}
	}
}

func (c *cover) hideTokens(from, end int) {
	if from < end && from < len(c.tokens) {
		c.hide(c.tokens[from].Range.Start.Byte, c.tokens[end-1].Range.End.Byte)
	}
}

// sensitiveNames are the names of attributes that are sensitive in any block.
var sensitiveNames = func() map[string]bool {
	out := map[string]bool{}
	var collect func(*Block)
	collect = func(b *Block) {
		for name := range sensitiveRows(b) {
			out[name] = true
		}
		for _, inner := range slices.Concat(b.Blocks, b.Variants) {
			collect(inner)
		}
	}
	collect(root)
	return out
}()

func sensitiveName(name string) bool { return sensitiveNames[name] }

var jsonMember = regexp.MustCompile(`"([A-Za-z_][A-Za-z0-9_-]*)"\s*:\s*`)

// json covers the values of members by their names.
func (c *cover) json() {
	text := slices.Clone(c.out)
	for _, m := range jsonMember.FindAllSubmatchIndex(text, -1) {
		if sensitiveName(string(text[m[2]:m[3]])) {
			c.hide(m[1], jsonEnd(text, m[1]))
		}
	}
}

// jsonEnd returns the end of the value that begins at i, valid or not.
func jsonEnd(text []byte, i int) int {
	depth, quoted := 0, false
	for ; i < len(text); i++ {
		switch b := text[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted && b == '\n': // not closed
			return i
		case quoted:
		case b == '[' || b == '{':
			depth++
		case (b == ']' || b == '}') && depth > 0:
			depth--
		case strings.IndexByte(" \t\r\n,]}", b) >= 0 && depth == 0:
			return i
		}
	}
	return min(i, len(text))
}

var (
	ageKey     = regexp.MustCompile(`(?i)AGE-SECRET-KEY-[0-9A-Z-]+`)
	pemKey     = regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----)(.*?)(?:-----END|$)`)
	loginInURL = regexp.MustCompile("://[^/\\s\"'`@:]*:([^/\\s\"'`]+)@")
)

// patterns covers texts that look like a secret.
func (c *cover) patterns() {
	for _, m := range ageKey.FindAllIndex(c.out, -1) {
		c.hide(m[0], m[1])
	}
	for _, m := range pemKey.FindAllSubmatchIndex(c.out, -1) {
		c.hide(m[4], m[5])
	}
	for _, m := range loginInURL.FindAllSubmatchIndex(c.out, -1) {
		c.hide(m[2], m[3])
	}
}
