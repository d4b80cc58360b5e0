package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// The words in place of values that cannot be printed.
const (
	knownAfterApply = "(known after apply)"
	SensitiveValue  = "(sensitive value)"
)

// Inline prints a value on one line.
func Inline(v state.Value) string {
	switch v.Kind() {
	case state.KindBool:
		if v.AsBool() {
			return "true"
		}
		return "false"
	case state.KindNumber:
		return Clean(v.AsString())
	case state.KindString:
		return Quote(v.AsString())
	case state.KindList:
		return inlineList(v.AsList())
	case state.KindMap:
		return inlineMap(v)
	case state.KindArgs:
		return inlineList(ArgStrings(v.AsArgs()))
	case state.KindPending:
		return knownAfterApply
	case state.KindSensitive:
		return SensitiveValue
	}
	return "null"
}

// SecretChange reports whether a secret changes, as far as fingerprints show it: before the first
// apply there is no key for them.
func SecretChange(before, after state.Value) string {
	was, is := before.AsSensitive(), after.AsSensitive()
	switch {
	case before.Kind() != state.KindSensitive || after.Kind() != state.KindSensitive, was.Fingerprint == "" || is.Fingerprint == "":
		return SensitiveValue
	case was.Fingerprint == is.Fingerprint:
		return SensitiveValue + " unchanged"
	}
	return SensitiveValue + " changed"
}

// Quote prints a string in quotation marks, with visible escapes.
func Quote(s string) string {
	return `"` + Clean(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)) + `"`
}

func inlineList(list []state.Value) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = Inline(e)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func inlineMap(v state.Value) string {
	if len(v.AsMap()) == 0 {
		return "{}"
	}
	var parts []string
	for _, k := range v.Keys() {
		parts = append(parts, Key(k)+" = "+Inline(v.AsMap()[k]))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// ArgStrings returns arguments as name=value.
func ArgStrings(args []state.Arg) []state.Value {
	out := make([]state.Value, len(args))
	for i, a := range args {
		value := a.Value
		if !a.Hidden.IsZero() {
			value = SensitiveValue
		}
		out[i] = state.String(a.Name + "=" + value)
	}
	return out
}

// Key prints a map key: bare if HCL allows it.
func Key(k string) string {
	if k == "" {
		return `""`
	}
	for i, r := range k {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return Quote(k)
		}
	}
	return k
}

// Multiline reports whether a value is text of several lines.
func Multiline(v state.Value) bool {
	return v.Kind() == state.KindString && strings.Contains(strings.TrimSuffix(v.AsString(), "\n"), "\n")
}

// Members returns the members of a value that is printed as a block.
func Members(v state.Value) ([]Member, bool) {
	switch v.Kind() {
	case state.KindMap:
		var out []Member
		for _, k := range v.Keys() {
			out = append(out, Member{k, v.AsMap()[k]})
		}
		return out, len(out) > 0
	case state.KindArgs:
		var out []Member
		for _, a := range v.AsArgs() {
			out = append(out, Member{a.Name, a.Of()})
		}
		return out, len(out) > 0
	}
	return nil, false
}

// Member is a key of a map, or an argument, with its value.
type Member struct {
	Key   string
	Value state.Value
}

// Symbol is the mark in front of a line that shows its action.
type Symbol string

const (
	Unchanged Symbol = " "
	Added     Symbol = "+"
	Changed   Symbol = "~"
	Removed   Symbol = "-"
	Replaced  Symbol = "-/+"
	Forgotten Symbol = "."
)

// SymbolOf returns the symbol of an action.
func SymbolOf(a planner.Action) Symbol {
	switch a {
	case planner.Create:
		return Added
	case planner.Update:
		return Changed
	case planner.Delete:
		return Removed
	case planner.Replace:
		return Replaced
	case planner.Forget:
		return Forgotten
	}
	return Unchanged
}

// Mark prints the symbol right-aligned in three cells.
func (s Style) Mark(sym Symbol) string {
	pad := strings.Repeat(" ", 3-len(sym))
	switch sym {
	case Added:
		return pad + s.Green("+")
	case Removed:
		return pad + s.Red("-")
	case Changed:
		return pad + s.Yellow("~")
	case Replaced:
		return s.Red("-") + "/" + s.Green("+")
	}
	return pad + string(sym)
}

// ShortDigest cuts a hex SHA-256 down to its beginning.
func ShortDigest(v state.Value) state.Value {
	s, prefix := strings.CutPrefix(v.AsString(), "sha256:")
	if v.Kind() != state.KindString || len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return v
	}
	if prefix {
		return state.String("sha256:" + s[:12] + "…")
	}
	return state.String(s[:12] + "…")
}

// Delimiter returns the end mark for a text of these lines. No line of the text looks like it, so
// that no part of the text can pass for what follows it.
func Delimiter(texts ...[]string) string {
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

// TextLines splits text into clean lines; another value is one line.
func TextLines(v state.Value) []string {
	if v.Kind() != state.KindString {
		return []string{Inline(v)}
	}
	if v.AsString() == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(CleanText(v.AsString()), "\n"), "\n")
}

// HCL returns a value as HCL, over several lines for a map, a list or text of several lines.
func HCL(v state.Value, indent string) string {
	deeper := indent + "  "
	switch v.Kind() {
	case state.KindMap, state.KindArgs:
		members, ok := Members(v)
		if !ok {
			return "{}"
		}
		width := 0
		for _, m := range members {
			width = max(width, len(Key(m.Key)))
		}
		var b strings.Builder
		b.WriteString("{\n")
		for _, m := range members {
			b.WriteString(deeper + Fill(Key(m.Key), width) + " = " + HCL(m.Value, deeper) + "\n")
		}
		return b.String() + indent + "}"
	case state.KindList:
		if len(v.AsList()) == 0 {
			return "[]"
		}
		var b strings.Builder
		b.WriteString("[\n")
		for _, e := range v.AsList() {
			b.WriteString(deeper + HCL(e, deeper) + ",\n")
		}
		return b.String() + indent + "]"
	case state.KindString:
		if Multiline(v) {
			lines := TextLines(v)
			end := Delimiter(lines)
			return "<<-" + end + "\n" + deeper + strings.Join(lines, "\n"+deeper) + "\n" + indent + end
		}
	}
	return Inline(v)
}

// IsList reports whether a value is a list or arguments.
func IsList(v state.Value) bool {
	return v.Kind() == state.KindList || v.Kind() == state.KindArgs
}
