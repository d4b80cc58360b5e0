package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ValueKind is the type of a Value.
type ValueKind uint8

// The kinds of a Value.
const (
	KindNull ValueKind = iota
	KindBool
	KindNumber
	KindString
	KindList
	KindMap
	KindArgs
	KindPending
	KindSensitive
)

// Arg is one command line argument of a component. Order and repetition matter: kubeadm keeps
// both (extraArgs of v1beta4). For a sensitive argument Value is empty and Hidden stands for it.
type Arg struct {
	Name, Value string
	Hidden      Sensitive
}

// Equal reports whether two arguments are the same.
func (a Arg) Equal(b Arg) bool {
	return a.Name == b.Name && a.Value == b.Value && a.Hidden.Fingerprint == b.Hidden.Fingerprint && a.Hidden.IsZero() == b.Hidden.IsZero()
}

// Of returns the argument's value: a string, or a sensitive reference.
func (a Arg) Of() Value {
	if !a.Hidden.IsZero() {
		return SensitiveValue(a.Hidden.Ref, a.Hidden.Fingerprint)
	}
	return String(a.Value)
}

// Pending stands for a value that is known only during apply: an output of a step of the same
// plan.
type Pending struct {
	Step   string `json:"step"`
	Output string `json:"output"`
}

// Sensitive stands for a secret of the user. Ref says where apply finds it (configuration, host
// or CA); Fingerprint is keyed by the state, so equal secrets compare equal and nothing else can
// be learned from it.
type Sensitive struct {
	Ref         string `json:"ref"`
	Fingerprint string `json:"fingerprint"`
}

// IsZero reports whether it stands for no secret.
func (s Sensitive) IsZero() bool { return s == Sensitive{} }

// Value is an immutable attribute value. The zero Value is null.
// Do not change a list or map that was passed to a constructor.
type Value struct {
	kind ValueKind
	bool bool
	text string // of a string; decimal form of a number
	m    map[string]Value
	more *more // nil for kinds that need none of it
}

// more holds the fields that few values need. There are very many values, most of them plain ones
// in maps, which are copied all the time.
type more struct {
	list []Value
	args []Arg
	pend Pending
	sens Sensitive
}

// nothing is the more of a value without one.
var nothing more

// rest returns the fields in more.
func (v Value) rest() *more {
	if v.more == nil {
		return &nothing
	}
	return v.more
}

// Null returns the absent value.
func Null() Value { return Value{} }

// Bool returns a boolean value.
func Bool(b bool) Value { return Value{kind: KindBool, bool: b} }

// Int returns a number value.
func Int(i int64) Value { return Value{kind: KindNumber, text: strconv.FormatInt(i, 10)} }

// Number returns a number value from its decimal form, which is kept as written.
func Number(decimal string) Value { return Value{kind: KindNumber, text: decimal} }

// String returns a string value. Bytes that are not valid UTF-8, which JSON cannot hold, are
// escaped visibly, so that a value does not change when it is saved.
func String(s string) Value { return Value{kind: KindString, text: legible(s)} }

// List returns a list value.
func List(vs ...Value) Value { return Value{kind: KindList, more: &more{list: vs}} }

// Strings returns a list of strings.
func Strings(ss ...string) Value {
	vs := make([]Value, len(ss))
	for i, s := range ss {
		vs[i] = String(s)
	}
	return List(vs...)
}

// Map returns a map value.
func Map(m map[string]Value) Value {
	if m == nil {
		m = map[string]Value{}
	}
	return Value{kind: KindMap, m: m}
}

// Args returns an ordered list of arguments, whose texts are treated as in String.
func Args(args []Arg) Value {
	if !slices.ContainsFunc(args, func(a Arg) bool { return !utf8.ValidString(a.Name) || !utf8.ValidString(a.Value) }) {
		return Value{kind: KindArgs, more: &more{args: args}}
	}
	text := slices.Clone(args)
	for i, a := range args {
		text[i].Name, text[i].Value = legible(a.Name), legible(a.Value)
	}
	return Value{kind: KindArgs, more: &more{args: text}}
}

// PendingValue returns a value that is known only during apply.
func PendingValue(step, output string) Value {
	return Value{kind: KindPending, more: &more{pend: Pending{step, output}}}
}

// SensitiveValue returns a reference to a secret.
func SensitiveValue(ref, fingerprint string) Value {
	return Value{kind: KindSensitive, more: &more{sens: Sensitive{ref, fingerprint}}}
}

// Kind returns the type of the value.
func (v Value) Kind() ValueKind { return v.kind }

// IsNull reports whether the value is absent.
func (v Value) IsNull() bool { return v.kind == KindNull }

// IsPending reports whether the value is known only during apply.
func (v Value) IsPending() bool { return v.kind == KindPending }

// AsBool returns the boolean held, or false.
func (v Value) AsBool() bool { return v.kind == KindBool && v.bool }

// AsString returns the text of a string or number, or "".
func (v Value) AsString() string {
	if v.kind == KindString || v.kind == KindNumber {
		return v.text
	}
	return ""
}

// AsList returns the list held, or nil.
func (v Value) AsList() []Value { return v.rest().list }

// AsMap returns the map held, or nil. It must not be changed.
func (v Value) AsMap() map[string]Value { return v.m }

// AsArgs returns the argument list held, or nil.
func (v Value) AsArgs() []Arg { return v.rest().args }

// AsPending returns the pending reference held.
func (v Value) AsPending() Pending { return v.rest().pend }

// AsSensitive returns the sensitive reference held.
func (v Value) AsSensitive() Sensitive { return v.rest().sens }

// HasSensitive reports whether the value is sensitive or contains a sensitive one.
func (v Value) HasSensitive() bool {
	switch v.kind {
	case KindSensitive:
		return true
	case KindList:
		return slices.ContainsFunc(v.AsList(), Value.HasSensitive)
	case KindArgs:
		return slices.ContainsFunc(v.AsArgs(), func(a Arg) bool { return !a.Hidden.IsZero() })
	}
	for _, e := range v.m {
		if e.HasSensitive() {
			return true
		}
	}
	return false
}

// Keys returns the keys of a map, sorted.
func (v Value) Keys() []string {
	keys := make([]string, 0, len(v.m))
	for k := range v.m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Equal reports whether two values are the same. Numbers compare numerically if both are plain
// decimals; argument lists by order and repetition.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case KindNull:
		return true
	case KindBool:
		return v.bool == w.bool
	case KindNumber:
		return v.text == w.text || sameNumber(v.text, w.text)
	case KindString:
		return v.text == w.text
	case KindList:
		return slices.EqualFunc(v.AsList(), w.AsList(), Value.Equal)
	case KindMap:
		return maps.EqualFunc(v.m, w.m, Value.Equal)
	case KindArgs:
		return slices.EqualFunc(v.AsArgs(), w.AsArgs(), Arg.Equal)
	case KindPending:
		return v.AsPending() == w.AsPending()
	default:
		return v.AsSensitive().Fingerprint == w.AsSensitive().Fingerprint
	}
}

func sameNumber(a, b string) bool {
	x, okA := new(big.Int).SetString(a, 10)
	y, okB := new(big.Int).SetString(b, 10)
	if okA && okB { // a float64 cannot represent large integers exactly
		return x.Cmp(y) == 0
	}
	f, errA := strconv.ParseFloat(a, 64)
	g, errB := strconv.ParseFloat(b, 64)
	return errA == nil && errB == nil && f == g
}

// Get walks a path such as args.audit-log-maxage or metadata.labels["a.b/c"]. In an argument list
// a name finds the last value given for it; in a list a number finds an element. A missing value
// is null.
func (v Value) Get(path string) Value {
	for key, rest, ok := nextKey(path); ok; key, rest, ok = nextKey(rest) {
		v = v.child(key)
	}
	return v
}

func (v Value) child(key string) Value {
	switch v.kind {
	case KindMap:
		return v.m[key]
	case KindArgs:
		for _, a := range slices.Backward(v.AsArgs()) {
			if a.Name == key {
				return a.Of()
			}
		}
	case KindList:
		list := v.AsList()
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(list) {
			return list[i]
		}
	}
	return Value{}
}

// JoinPath appends a key to a path; a key that is not a plain word is quoted.
func JoinPath(path, key string) string {
	if strings.ContainsAny(key, ".[]\"#/ ") || key == "" {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// SplitPath takes a path apart into its keys.
func SplitPath(path string) []string {
	var keys []string
	for key, rest, ok := nextKey(path); ok; key, rest, ok = nextKey(rest) {
		keys = append(keys, key)
	}
	return keys
}

// nextKey takes the first key off a path; ok reports whether there is one.
func nextKey(path string) (key, rest string, ok bool) {
	path = strings.TrimLeft(path, ".")
	if path == "" {
		return "", "", false
	}
	if path[0] == '[' {
		quoted, err := strconv.QuotedPrefix(path[1:])
		if err != nil || !strings.HasPrefix(path[1+len(quoted):], "]") {
			return path, "", true
		}
		key, _ = strconv.Unquote(quoted)
		return key, path[len(quoted)+2:], true
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	return path[:end], path[end:], true
}

// FromGo converts the output of encoding/json or of a YAML decoder, and similar Go values, into a
// Value: nil, bool, numbers, strings, slices, and maps with string keys.
func FromGo(x any) Value {
	switch x := x.(type) {
	case nil:
		return Value{}
	case Value:
		return x
	case bool:
		return Bool(x)
	case string:
		return String(x)
	case int:
		return Int(int64(x))
	case int32:
		return Int(int64(x))
	case int64:
		return Int(x)
	case uint64:
		return Number(strconv.FormatUint(x, 10))
	case float64:
		return Number(strconv.FormatFloat(x, 'f', -1, 64))
	case json.Number:
		return Number(x.String())
	case []string:
		return Strings(x...)
	case []any:
		vs := make([]Value, len(x))
		for i, e := range x {
			vs[i] = FromGo(e)
		}
		return List(vs...)
	case []map[string]any:
		vs := make([]Value, len(x))
		for i, e := range x {
			vs[i] = FromGo(e)
		}
		return List(vs...)
	case map[string]string:
		m := make(map[string]Value, len(x))
		for k, e := range x {
			m[k] = String(e)
		}
		return Map(m)
	case map[string]any:
		m := make(map[string]Value, len(x))
		for k, e := range x {
			m[k] = FromGo(e)
		}
		return Map(m)
	}
	panic(fmt.Sprintf("internal error: state.FromGo of %T", x))
}

// Go converts the value into the form that encoding/json decodes into. Pending and sensitive
// values take their tagged form, as in JSON.
func (v Value) Go() any {
	switch v.kind {
	case KindBool:
		return v.bool
	case KindNumber:
		return json.Number(v.text)
	case KindString:
		return v.text
	case KindList:
		out := make([]any, len(v.AsList()))
		for i, e := range v.AsList() {
			out[i] = e.Go()
		}
		return out
	case KindMap:
		out := make(map[string]any, len(v.m))
		for k, e := range v.m {
			out[k] = e.Go()
		}
		return out
	case KindArgs:
		out := make([]any, len(v.AsArgs()))
		for i, a := range v.AsArgs() {
			out[i] = []any{a.Name, a.Of().Go()}
		}
		return map[string]any{tagArgs: out}
	case KindPending:
		return map[string]any{tagPending: map[string]any{"step": v.AsPending().Step, "output": v.AsPending().Output}}
	case KindSensitive:
		return map[string]any{tagSensitive: map[string]any{"ref": v.AsSensitive().Ref, "fingerprint": v.AsSensitive().Fingerprint}}
	}
	return nil
}

// Leaves returns the paths of all leaves below the value, sorted. An empty list, map or argument
// list is a leaf.
func (v Value) Leaves() []string {
	var out []string
	v.leaves("", &out)
	sort.Strings(out)
	return out
}

func (v Value) leaves(path string, out *[]string) {
	switch {
	case v.kind == KindMap && len(v.m) > 0:
		for k, e := range v.m {
			e.leaves(JoinPath(path, k), out)
		}
	default:
		*out = append(*out, path)
	}
}
