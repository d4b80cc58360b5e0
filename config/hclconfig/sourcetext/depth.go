package sourcetext

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// hcl's parser and evaluator recurse; a text made to exhaust the stack would end the process,
// so its nesting is counted beforehand.
const (
	// MaxDepth is how deep brackets, templates and operators may be nested.
	MaxDepth = 200
	// MaxOperators limits the operators of one expression.
	MaxOperators = 10_000
	// MaxTokens limits the tokens of one file: a parsed token takes a hundred times its bytes.
	MaxTokens = 1_000_000
)

// TooManyTokens is the summary for a text with too many tokens.
const TooManyTokens = "File too large"

// Details for a text that is nested too deeply: in expressions, in JSON.
var (
	deepExpression = fmt.Sprintf("Brackets, templates and operators can be nested %d deep, and an expression can have %d operators.", MaxDepth, MaxOperators)
	hugeNumber     = "This number cannot be used: " + NumberRange + "."
	longFile       = fmt.Sprintf("A text can have %s words and signs, and here it has more. Split it into several files; large values can be in files of their own, for file, jsondecode or yamldecode.", Grouped(MaxTokens))
	deepObjects    = fmt.Sprintf("Objects and arrays can be nested %d deep.", MaxDepth)
)

// Check reports, from the tokens of a file, a text that is nested too deeply, or a number in it that
// takes too long to write out.
func Check(b []byte, name string) *hcl.Diagnostic {
	if strings.HasSuffix(name, ".json") {
		return CheckJSON(b, name)
	}
	tokens, _ := hclsyntax.LexConfig(b, name, hcl.InitialPos)
	return deepTokens(tokens)
}

// CheckTemplate is Check for the text of a template.
func CheckTemplate(b []byte, name string) *hcl.Diagnostic {
	tokens, _ := hclsyntax.LexTemplate(b, name, hcl.InitialPos)
	return deepTokens(tokens)
}

// frame counts, inside one pair of brackets, the constructs that recurse without brackets.
type frame struct {
	prefixes  int // consecutive ! and -, consecutive ?
	operators int
	newlines  bool // a line break ends an expression here
}

// depthCounter walks the tokens of a text.
type depthCounter struct {
	frames   []frame
	controls int
	keyword  bool // the next identifier is a template keyword
}

func deepTokens(tokens hclsyntax.Tokens) *hcl.Diagnostic {
	if len(tokens) > MaxTokens {
		r := tokens[MaxTokens].Range
		return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: TooManyTokens, Subject: &r, Detail: longFile}
	}
	c := depthCounter{frames: []frame{{newlines: true}}}
	for _, t := range tokens {
		if t.Type == hclsyntax.TokenNumberLit && !literalInRange(string(t.Bytes)) {
			r := t.Range
			return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: OutOfRange, Subject: &r, Detail: hugeNumber}
		}
		if c.count(t) {
			r := t.Range
			return &hcl.Diagnostic{
				Severity: hcl.DiagError, Summary: "Nested too deeply", Subject: &r,
				Detail: deepExpression,
			}
		}
	}
	return nil
}

// count counts the next token and reports whether a limit is exceeded.
func (c *depthCounter) count(t hclsyntax.Token) bool {
	top := &c.frames[len(c.frames)-1]
	keyword := c.keyword
	c.keyword = false
	switch t.Type {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen,
		hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		top.operators++
		c.frames = append(c.frames, frame{newlines: t.Type == hclsyntax.TokenOBrace})
		c.keyword = t.Type == hclsyntax.TokenTemplateControl
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen,
		hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		if len(c.frames) > 1 {
			c.frames = c.frames[:len(c.frames)-1]
		}
	case hclsyntax.TokenIdent:
		c.control(keyword, string(t.Bytes))
	case hclsyntax.TokenComma:
		*top = frame{newlines: top.newlines}
	case hclsyntax.TokenNewline:
		if top.newlines {
			*top = frame{newlines: true}
		}
	case hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenQuestion:
		top.prefixes++
		top.operators++
	case hclsyntax.TokenNumberLit, hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit:
	default:
		top.operators++
	}
	return c.exceeded()
}

// control counts %{if} and %{for}, which nest without brackets.
func (c *depthCounter) control(keyword bool, name string) {
	if !keyword {
		return
	}
	switch name {
	case "if", "for":
		c.controls++
	case "endif", "endfor":
		c.controls = max(0, c.controls-1)
	}
}

func (c *depthCounter) exceeded() bool {
	top := c.frames[len(c.frames)-1]
	return len(c.frames)+c.controls+top.prefixes > MaxDepth || top.operators > MaxOperators
}

// CheckJSON is Check for JSON: it counts brackets and checks the templates in strings. A text without
// the name of a file is a value, which may have more tokens.
func CheckJSON(b []byte, name string) *hcl.Diagnostic {
	dec := stdjson.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	depth := 0
	for count := 0; ; count++ {
		t, err := dec.Token()
		if count > MaxTokens && name != "" { // a value has limits of its own
			d := deepAt(b, name, int(dec.InputOffset()), longFile)
			d.Summary = TooManyTokens
			return d
		}
		if err != nil {
			return deepBrackets(b, name, int(dec.InputOffset()), depth)
		}
		switch t := t.(type) {
		case stdjson.Delim:
			if t == '{' || t == '[' {
				depth++
			} else {
				depth--
			}
			if depth > MaxDepth {
				return deepAt(b, name, int(dec.InputOffset()), deepObjects)
			}
		case stdjson.Number:
			if !literalInRange(t.String()) {
				d := deepAt(b, name, int(dec.InputOffset()), hugeNumber)
				d.Summary = OutOfRange
				return d
			}
		case string:
			if !strings.Contains(t, "${") && !strings.Contains(t, "%{") {
				continue
			}
			if d := CheckTemplate([]byte(t), name); d != nil {
				at := deepAt(b, name, int(dec.InputOffset()), d.Detail)
				at.Summary = d.Summary
				return at
			}
		}
	}
}

// deepBrackets counts brackets in invalid JSON: hcl's parser continues after an error. Strings
// are not recognized, which can only count too many.
func deepBrackets(b []byte, name string, from, depth int) *hcl.Diagnostic {
	for i := min(from, len(b)); i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth > MaxDepth {
			return deepAt(b, name, i, deepObjects)
		}
	}
	return nil
}

func deepAt(b []byte, name string, offset int, detail string) *hcl.Diagnostic {
	offset = min(offset, len(b))
	line := bytes.Count(b[:offset], []byte("\n")) + 1
	pos := hcl.Pos{Line: line, Column: offset - bytes.LastIndexByte(b[:offset], '\n'), Byte: offset}
	return &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: "Nested too deeply", Subject: &hcl.Range{Filename: name, Start: pos, End: pos},
		Detail: detail,
	}
}
