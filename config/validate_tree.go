package config

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// tree checks a tree against a Go type of Kubernetes, by its JSON names: every field must exist
// and every value must have its type.
func (c checker) tree(path, kind string, v state.Value, t reflect.Type) {
	if v.IsNull() {
		return
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if decodesItself(t) {
		c.leaf(path, kind, v, t)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		c.structTree(path, kind, v, t)
	case reflect.Map:
		if c.wants(path, kind, v, state.KindMap, "an object") {
			for _, k := range v.Keys() {
				c.tree(state.JoinPath(path, k), kind, v.AsMap()[k], t.Elem())
			}
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			c.leaf(path, kind, v, t)
		} else if c.wants(path, kind, v, state.KindList, "a list") {
			for _, e := range v.AsList() {
				c.tree(path, kind, e, t.Elem())
			}
		}
	case reflect.String:
		c.wants(path, kind, v, state.KindString, "a string")
	case reflect.Bool:
		c.wants(path, kind, v, state.KindBool, "true or false")
	default:
		if c.wants(path, kind, v, state.KindNumber, "a number") {
			c.leaf(path, kind, v, t)
		}
	}
}

// wants reports a value of another kind.
func (c checker) wants(path, kind string, v state.Value, want state.ValueKind, word string) bool {
	if v.Kind() == want {
		return true
	}
	c.errorf(path, "Value of the wrong type", "%s of %s must be %s, not %s.", fieldName(path), kind, word, kindWord(v))
	return false
}

func kindWord(v state.Value) string {
	switch v.Kind() {
	case state.KindBool:
		return "true or false"
	case state.KindNumber:
		return "the number " + v.AsString()
	case state.KindString:
		return "a string"
	case state.KindList:
		return "a list"
	case state.KindMap:
		return "an object"
	}
	return "nothing"
}

// inside returns the path of a field inside a component's configuration, or inside a patch.
func inside(path string) (string, bool) {
	if _, inner, ok := strings.Cut(path, ".config."); ok {
		return inner, true
	}
	if _, inner, ok := strings.Cut(path, "].content."); ok {
		return inner, true
	}
	return "", false
}

// fieldName returns a field for a message: its path inside the configuration, or the last key
// of its path.
func fieldName(path string) string {
	if inner, ok := inside(path); ok {
		return inner
	}
	keys := state.SplitPath(path)
	if len(keys) == 0 {
		return path
	}
	return keys[len(keys)-1]
}

// decodesItself reports whether a type has a text or JSON form of its own, such as durations
// and quantities.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// leaf makes the type itself decode the value.
func (c checker) leaf(path, kind string, v state.Value, t reflect.Type) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, reflect.New(t).Interface())
	}
	if err == nil {
		return
	}
	hint := strings.TrimPrefix(err.Error(), "json: ")
	_, mismatch := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case t.Name() == "Duration":
		hint = "a duration is a string with a unit, as in \"30s\" or \"5m\""
	case t.Name() == "Quantity":
		hint = "a quantity is as in \"500m\" or \"1Gi\""
	case mismatch && strings.ContainsAny(v.AsString(), ".e"):
		hint = "a whole number is required"
	case mismatch && v.Kind() == state.KindNumber:
		hint = "the number is out of the field's range"
	}
	c.errorf(path, "Value of the wrong type", "%s of %s cannot be %s: %s.", fieldName(path), kind, c.show(path, plainText(v)), hint)
}

func plainText(v state.Value) string {
	if s := v.AsString(); s != "" {
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// structTree checks the fields of an object.
func (c checker) structTree(path, kind string, v state.Value, t reflect.Type) {
	if !c.wants(path, kind, v, state.KindMap, "an object") {
		return
	}
	fields := map[string]reflect.Type{}
	jsonFields(t, fields)
	for _, k := range v.Keys() {
		inner := state.JoinPath(path, k)
		field, ok := fields[k]
		if !ok {
			c.errorf(inner, "Unknown field", "%s has no field %q%s.%s", kind, k, within(path), didYouMean(k, keys(fields)))
			continue
		}
		c.tree(inner, kind, v.AsMap()[k], field)
	}
}

// within names the object inside the tree.
func within(path string) string {
	inner, ok := inside(path)
	if !ok {
		return ""
	}
	return " in " + inner
}

// jsonFields lists the fields of a struct by their JSON names, including those of embedded
// structs.
func jsonFields(t reflect.Type, into map[string]reflect.Type) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			jsonFields(embedded, into)
		case name == "":
			into[f.Name] = f.Type
		default:
			into[name] = f.Type
		}
	}
}
