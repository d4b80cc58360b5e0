package state

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/state/cache"
)

// JSON encoding of values. The encoded text is part of the digests of plans and states: it must
// stay the same, no matter which code path writes it.

// The tags of values without a plain JSON form: the only key of an object.
const (
	tagArgs      = "$args"
	tagPending   = "$pending"
	tagSensitive = "$sensitive"
	// tagMap wraps a map that looks like a tagged value.
	tagMap = "$map"
)

// MarshalJSON writes plain JSON. Arguments, pending and sensitive values become an object with
// one key: $args, $pending or $sensitive. A map that looks like one of these is wrapped in $map.
func (v Value) MarshalJSON() ([]byte, error) { return v.appendJSON(nil) }

// appendJSON appends the encoding/json form of the value. Common kinds are encoded directly,
// because a state has tens of thousands of values.
func (v Value) appendJSON(b []byte) ([]byte, error) {
	switch v.kind {
	case KindString:
		return appendText(b, v.text)
	case KindList:
		return appendList(b, v.AsList(), Value.appendJSON)
	case KindMap:
		if !looksTagged(v.m) {
			return v.appendMap(b)
		}
		b, err := v.appendMap(append(b, `{"`+tagMap+`":`...))
		return append(b, '}'), err
	case KindArgs:
		b, err := appendList(append(b, `{"`+tagArgs+`":`...), v.AsArgs(), Arg.appendJSON)
		return append(b, '}'), err
	}
	return appendMarshaled(b, v.Go())
}

func looksTagged(m map[string]Value) bool {
	return len(m) == 1 && slices.ContainsFunc([]string{tagArgs, tagPending, tagSensitive, tagMap}, func(tag string) bool {
		_, ok := m[tag]
		return ok
	})
}

func (v Value) appendMap(b []byte) ([]byte, error) {
	b = append(b, '{')
	for i, key := range v.Keys() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendText(b, key); err != nil {
			return nil, err
		}
		if b, err = v.m[key].appendJSON(append(b, ':')); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendJSON appends the pair of name and value.
func (a Arg) appendJSON(b []byte) ([]byte, error) {
	b, err := appendText(append(b, '['), a.Name)
	if err != nil {
		return nil, err
	}
	b, err = a.Of().appendJSON(append(b, ','))
	return append(b, ']'), err
}

func appendList[E any](b []byte, list []E, one func(E, []byte) ([]byte, error)) ([]byte, error) {
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = one(e, b); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendText appends a string.
func appendText(b []byte, s string) ([]byte, error) {
	if strings.ContainsFunc(s, mayBeEscaped) {
		return appendMarshaled(b, s)
	}
	return append(append(append(b, '"'), s...), '"'), nil
}

// mayBeEscaped reports whether encoding/json may escape a character.
func mayBeEscaped(r rune) bool {
	switch r {
	case '"', '\\', '<', '>', '&':
		return true
	}
	return r < ' ' || r > '~'
}

func appendMarshaled(b []byte, x any) ([]byte, error) {
	text, err := json.Marshal(x)
	return append(b, text...), err
}

// UnmarshalJSON reads what MarshalJSON writes. Equal values, such as a file on every node or an
// object in every plan, are decoded once and shared.
func (v *Value) UnmarshalJSON(b []byte) error {
	read := decode
	if 0 < len(b) && len(b) <= alike && b[0] == '{' {
		read = decoded.Of
	}
	d := read(string(b))
	if d.err == nil {
		*v = d.value
	}
	return d.err
}

// alike is the maximum length in bytes of the JSON that is cached: longer than a manifest, and
// short enough to keep thousands.
const alike = 16 << 10

// decoding is the result of decoding JSON.
type decoding struct {
	value Value
	err   error
}

var decoded = cache.New(decode)

func decode(text string) decoding {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		return decoding{err: err}
	}
	return decoding{value: untag(x)}
}

// untag converts decoded JSON, including the tagged forms in it.
func untag(x any) Value {
	switch x := x.(type) {
	case []any:
		vs := make([]Value, len(x))
		for i, e := range x {
			vs[i] = untag(e)
		}
		return List(vs...)
	case map[string]any:
		if len(x) == 1 {
			if v, ok := untagged(x); ok {
				return v
			}
		}
		return untagMap(x)
	}
	return FromGo(x)
}

func untagMap(x map[string]any) Value {
	m := make(map[string]Value, len(x))
	for k, e := range x {
		m[k] = untag(e)
	}
	return Map(m)
}

func untagged(x map[string]any) (Value, bool) {
	if m, ok := x[tagMap].(map[string]any); ok {
		return untagMap(m), true
	}
	if list, ok := x[tagArgs].([]any); ok {
		args := make([]Arg, 0, len(list))
		for _, e := range list {
			pair, _ := e.([]any)
			if len(pair) != 2 {
				return Value{}, false
			}
			name, _ := pair[0].(string)
			value := untag(pair[1])
			args = append(args, Arg{Name: name, Value: value.AsString(), Hidden: value.AsSensitive()})
		}
		return Args(args), true
	}
	if p, ok := x[tagPending].(map[string]any); ok {
		step, _ := p["step"].(string)
		output, _ := p["output"].(string)
		return PendingValue(step, output), true
	}
	if s, ok := x[tagSensitive].(map[string]any); ok {
		ref, _ := s["ref"].(string)
		fp, _ := s["fingerprint"].(string)
		return SensitiveValue(ref, fp), true
	}
	return Value{}, false
}
