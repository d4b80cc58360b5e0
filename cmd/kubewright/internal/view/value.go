package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// The words for values that cannot be printed.
const (
	knownAfterApply = "(known after apply)"
	sensitiveValue  = "(sensitive value)"
)

// inline prints a value on one line.
func inline(v state.Value) string {
	switch v.Kind() {
	case state.KindBool:
		if v.AsBool() {
			return "true"
		}
		return "false"
	case state.KindNumber:
		return Clean(v.AsString())
	case state.KindString:
		return quote(v.AsString())
	case state.KindList:
		return inlineList(v.AsList())
	case state.KindMap:
		return inlineMap(v)
	case state.KindArgs:
		return inlineList(argStrings(v.AsArgs()))
	case state.KindPending:
		return knownAfterApply
	case state.KindSensitive:
		return sensitiveValue
	}
	return "null"
}

// secretChange says whether a secret is another one, as far as its fingerprint
// tells: before the first apply there is no key to make one with.
func secretChange(before, after state.Value) string {
	was, is := before.AsSensitive(), after.AsSensitive()
	switch {
	case before.Kind() != state.KindSensitive || after.Kind() != state.KindSensitive, was.Fingerprint == "" || is.Fingerprint == "":
		return sensitiveValue
	case was.Fingerprint == is.Fingerprint:
		return sensitiveValue + " unchanged"
	}
	return sensitiveValue + " changed"
}

// quote prints a string in quotation marks, with visible escapes.
func quote(s string) string {
	return `"` + Clean(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)) + `"`
}

func inlineList(list []state.Value) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = inline(e)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func inlineMap(v state.Value) string {
	if len(v.AsMap()) == 0 {
		return "{}"
	}
	var parts []string
	for _, k := range v.Keys() {
		parts = append(parts, key(k)+" = "+inline(v.AsMap()[k]))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// argStrings are arguments as name=value.
func argStrings(args []state.Arg) []state.Value {
	out := make([]state.Value, len(args))
	for i, a := range args {
		value := a.Value
		if !a.Hidden.IsZero() {
			value = sensitiveValue
		}
		out[i] = state.String(a.Name + "=" + value)
	}
	return out
}

// key prints a map key: bare where HCL allows it.
func key(k string) string {
	if k == "" {
		return `""`
	}
	for i, r := range k {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return quote(k)
		}
	}
	return k
}

// multiline reports whether a value is text of several lines.
func multiline(v state.Value) bool {
	return v.Kind() == state.KindString && strings.Contains(strings.TrimSuffix(v.AsString(), "\n"), "\n")
}

// nested gives the members of a value that is printed as a block.
func nested(v state.Value) ([]member, bool) {
	switch v.Kind() {
	case state.KindMap:
		var out []member
		for _, k := range v.Keys() {
			out = append(out, member{k, v.AsMap()[k]})
		}
		return out, len(out) > 0
	case state.KindArgs:
		var out []member
		for _, a := range v.AsArgs() {
			out = append(out, member{a.Name, a.Of()})
		}
		return out, len(out) > 0
	}
	return nil, false
}

type member struct {
	key   string
	value state.Value
}

// symbol is what stands in front of a line.
type symbol string

const (
	unchanged symbol = " "
	added     symbol = "+"
	changed   symbol = "~"
	removed   symbol = "-"
	replaced  symbol = "-/+"
	forgotten symbol = "."
)

func symbolOf(a planner.Action) symbol {
	switch a {
	case planner.Create:
		return added
	case planner.Update:
		return changed
	case planner.Delete:
		return removed
	case planner.Replace:
		return replaced
	case planner.Forget:
		return forgotten
	}
	return unchanged
}

// mark prints the symbol right-aligned in three cells.
func (s style) mark(sym symbol) string {
	pad := strings.Repeat(" ", 3-len(sym))
	switch sym {
	case added:
		return pad + s.green("+")
	case removed:
		return pad + s.red("-")
	case changed:
		return pad + s.yellow("~")
	case replaced:
		return s.red("-") + "/" + s.green("+")
	}
	return pad + string(sym)
}

// shortDigest cuts a hex SHA-256 down to what tells it apart.
func shortDigest(v state.Value) state.Value {
	s, prefix := strings.CutPrefix(v.AsString(), "sha256:")
	if v.Kind() != state.KindString || len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return v
	}
	if prefix {
		return state.String("sha256:" + s[:12] + "…")
	}
	return state.String(s[:12] + "…")
}

// delimiter returns what ends a text of these lines: no line of it looks like that, so
// that none of a text stands outside of it.
func delimiter(texts ...[]string) string {
	taken := map[string]bool{}
	for _, line := range slices.Concat(texts...) {
		taken[strings.Trim(line, " \t+-~")] = true
	}
	end := "EOT"
	for i := 1; taken[end]; i++ {
		end = fmt.Sprintf("EOT_%d", i)
	}
	return end
}

// textLines splits text into clean lines; what is no text is one line.
func textLines(v state.Value) []string {
	if v.Kind() != state.KindString {
		return []string{inline(v)}
	}
	if v.AsString() == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(CleanText(v.AsString()), "\n"), "\n")
}

// hcl prints a value over several lines where it is a map, list or text.
func hcl(v state.Value, indent string) string {
	deeper := indent + "  "
	switch v.Kind() {
	case state.KindMap, state.KindArgs:
		members, ok := nested(v)
		if !ok {
			return "{}"
		}
		width := 0
		for _, m := range members {
			width = max(width, len(key(m.key)))
		}
		var b strings.Builder
		b.WriteString("{\n")
		for _, m := range members {
			b.WriteString(deeper + fill(key(m.key), width) + " = " + hcl(m.value, deeper) + "\n")
		}
		return b.String() + indent + "}"
	case state.KindList:
		if len(v.AsList()) == 0 {
			return "[]"
		}
		var b strings.Builder
		b.WriteString("[\n")
		for _, e := range v.AsList() {
			b.WriteString(deeper + hcl(e, deeper) + ",\n")
		}
		return b.String() + indent + "]"
	case state.KindString:
		if multiline(v) {
			lines := textLines(v)
			end := delimiter(lines)
			return "<<-" + end + "\n" + deeper + strings.Join(lines, "\n"+deeper) + "\n" + indent + end
		}
	}
	return inline(v)
}

// isList reports whether a value is a list or arguments.
func isList(v state.Value) bool {
	return v.Kind() == state.KindList || v.Kind() == state.KindArgs
}
