package hclconfig

import (
	"regexp/syntax"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// size is an estimate of the result and the cost of a function call, made before the call:
// needed if its value is larger than its arguments, or its work more than visiting each of
// them.
type size struct{ text, elements, steps float64 }

// sizes estimate the calls of functions whose results multiply. The arguments are known, not
// null and without marks; if one is unknown, an estimate gets only those before it.
var sizes = map[string]func(args []cty.Value) size{
	"replace":    sizeOfReplace,
	"format":     sizeOfFormat,
	"formatlist": sizeOfFormatList,
	"indent":     sizeOfIndent,
	"join":       sizeOfJoin,
	"split":      sizeOfSplit,
	"setproduct": sizeOfProduct,
	"regex":      sizeOfRegex,
	"regexall":   sizeOfRegexAll,
	"jsondecode": sizeOfText,
	"yamldecode": sizeOfText,
	"csvdecode":  sizeOfText,

	"parseint": sizeOfDigits, "tonumber": sizeOfDigits,

	"matchkeys": sizeOfMatch,
}

// mayBeNull are the functions among them whose value can be null.
var mayBeNull = map[string]bool{
	"jsondecode": true, "yamldecode": true, "tonumber": true, "parseint": true, "regex": true,
}

// limit replaces these functions by ones that check the estimate first.
func (m *meter) limit(all map[string]function.Function) {
	for name, estimate := range sizes {
		f := all[name]
		spec := &function.Spec{
			Params: f.Params(), VarParam: f.VarParam(),
			Type: func(args []cty.Value) (cty.Type, error) {
				if l, exceeded := m.exceeds(estimate(knownOf(args))); exceeded {
					return cty.NilType, m.refuse(l)
				}
				return f.ReturnTypeForValues(args)
			},
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
		}
		if !mayBeNull[name] {
			spec.RefineResult = (*cty.RefinementBuilder).NotNull
		}
		all[name] = function.New(spec)
	}
}

// exceeds counts the steps of a call, and reports the limit that it exceeds.
func (m *meter) exceeds(s size) (limit, bool) {
	switch {
	case s.text > float64(m.max.text):
		return limitText, true
	case s.elements > float64(m.max.elements):
		return limitElements, true
	case float64(m.steps)+s.steps > float64(m.max.steps):
		return limitSteps, true
	}
	m.steps += int(s.steps)
	return 0, false
}

// knownOf returns the arguments before the first one that is unknown or null.
func knownOf(args []cty.Value) []cty.Value {
	out := make([]cty.Value, 0, len(args))
	for _, v := range args {
		v, _ = v.Unmark()
		if !v.IsKnown() || v.IsNull() {
			break
		}
		out = append(out, v)
	}
	return out
}

// textOf returns an argument that is a text; empty if it is none or missing.
func textOf(args []cty.Value, i int) string {
	if i >= len(args) || args[i].Type() != cty.String {
		return ""
	}
	return args[i].AsString()
}

// lengthOf returns the number of elements of a value.
func lengthOf(v cty.Value) float64 {
	if v, _ = v.Unmark(); !v.IsKnown() || v.IsNull() || !v.CanIterateElements() {
		return 0
	}
	return float64(v.LengthInt())
}

// textIn returns the length of all text in a value.
func textIn(v cty.Value) float64 {
	w := weight{max: usualLimits}
	_, _ = w.add(v, 0) // a larger one was refused as an argument
	return float64(w.text)
}

// sizeOfReplace is exact for a text, and an upper bound for a regular expression.
func sizeOfReplace(args []cty.Value) size {
	s, old, with := textOf(args, 0), textOf(args, 1), textOf(args, 2)
	if pattern, ok := expressionIn(old); ok {
		steps := stepsOfMatching(pattern, s)
		count, matched := matches(pattern, s, steps, -1)
		return size{
			text:  float64(len(s)) + count*float64(len(with)) + matched*float64(strings.Count(with, "$")),
			steps: 2 * steps,
		}
	}
	count := float64(strings.Count(s, old))
	return size{text: float64(len(s)) + count*(float64(len(with))-float64(len(old)))}
}

// expressionIn returns the regular expression in /…/.
func expressionIn(s string) (string, bool) {
	if len(s) > 1 && strings.HasPrefix(s, "/") && strings.HasSuffix(s, "/") {
		return s[1 : len(s)-1], true
	}
	return "", false
}

// formatVerbs returns the number of values that a format takes, and the spaces and digits that
// it adds.
func formatVerbs(format string) (verbs, padding float64) {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		verbs++
		number := 0.0
		for i++; i < len(format) && strings.IndexByte("0123456789.-+# []", format[i]) >= 0; i++ {
			if c := format[i]; '0' <= c && c <= '9' {
				number = min(number*10+float64(c-'0'), 1e15)
				continue
			}
			padding, number = padding+number, 0
		}
		padding += number
	}
	return verbs, padding
}

func sizeOfFormat(args []cty.Value) size {
	format := textOf(args, 0)
	verbs, padding := formatVerbs(format)
	total, longest := 0.0, 0.0
	for _, v := range args[min(1, len(args)):] {
		n := textIn(v)
		total, longest = total+n, max(longest, n)
	}
	if strings.Contains(format, "[") { // %[1]s may occur often
		total = max(total, verbs*longest)
	}
	return size{text: float64(len(format)) + padding + total}
}

func sizeOfFormatList(args []cty.Value) size {
	format := textOf(args, 0)
	verbs, padding := formatVerbs(format)
	count := 1.0
	for _, v := range args[min(1, len(args)):] {
		if t := v.Type(); t.IsListType() || t.IsSetType() || t.IsTupleType() {
			count = max(count, lengthOf(v))
		}
	}
	total := 0.0
	for _, v := range args[min(1, len(args)):] {
		n := textIn(v)
		if t := v.Type(); !t.IsListType() && !t.IsSetType() && !t.IsTupleType() {
			n *= count
		}
		if strings.Contains(format, "[") {
			n *= max(1, verbs)
		}
		total += n
	}
	return size{text: count*(float64(len(format))+padding) + total, elements: count}
}

func sizeOfIndent(args []cty.Value) size {
	s := textOf(args, 1)
	if len(args) < 2 {
		return size{}
	}
	spaces, _ := args[0].AsBigFloat().Float64()
	return size{text: float64(len(s)) + max(0, spaces)*float64(strings.Count(s, "\n"))}
}

func sizeOfJoin(args []cty.Value) size {
	separator := float64(len(textOf(args, 0)))
	var out size
	for _, list := range args[min(1, len(args)):] {
		out.text += lengthOf(list)*separator + textIn(list)
	}
	out.text = max(0, out.text-separator)
	return out
}

func sizeOfSplit(args []cty.Value) size {
	if len(args) < 2 {
		return size{}
	}
	return size{elements: 1 + float64(strings.Count(textOf(args, 1), textOf(args, 0)))}
}

func sizeOfProduct(args []cty.Value) size {
	out := size{elements: float64(1 + len(args))}
	for _, set := range args {
		out.elements *= lengthOf(set)
	}
	return out
}

// sizeOfText counts what may separate the elements of a document.
func sizeOfText(args []cty.Value) size {
	var out size
	quoted := false
	text := textOf(args, 0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '[' || c == '{'):
			out.elements++
		case !quoted && c == '\n':
			out.elements += 0.5 // a line of YAML has at most one element
		}
	}
	return out
}

// sizeOfDigits returns the cost of parsing a long number, which more than doubles with twice
// the digits.
func sizeOfDigits(args []cty.Value) size {
	n := float64(len(textOf(args, 0)))
	return size{steps: n * n / (1 << 18)}
}

// sizeOfMatch counts the comparison of each key with each searched key.
func sizeOfMatch(args []cty.Value) size {
	if len(args) < 3 {
		return size{}
	}
	return size{steps: lengthOf(args[1]) * lengthOf(args[2])}
}

// stepsOfMatching returns the steps of matching a text with a regular expression: in the worst
// case, each state at each byte.
func stepsOfMatching(pattern, text string) float64 {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return 0
	}
	return float64(len(prog.Inst)) * float64(len(text)+64) / 64
}
