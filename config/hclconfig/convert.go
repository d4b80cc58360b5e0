package hclconfig

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/kubewright/kubewright/state"
)

// conform converts a value to the type of its attribute, or reports why it cannot.
func (e *evaluator) conform(t *thunk, v cty.Value) cty.Value {
	row := t.row
	plain, marks := v.UnmarkDeep()
	if failed(marks) {
		return failedValue(row.Type.cty)
	}
	if row.Type.Name == typeAny.Name {
		return v
	}
	if !plain.IsWhollyKnown() {
		e.errorAt(t.expr.Range(), "Value not known in time", "%s must be known before an apply, but it is made of %s. Only outputs can refer to that. Write the value out, a node's name as the attribute name of the node.", row.Name, pendingNames(marks))
		return failedValue(row.Type.cty)
	}
	if plain.IsNull() {
		if row.Required {
			e.errorAt(t.expr.Range(), "Missing required argument", "The argument %q is required, but its value is null.", row.Name)
			return failedValue(row.Type.cty)
		}
		return t.fallback()
	}
	out, err := fit(row.Type, v, marks)
	if err == nil && row.NonEmpty {
		if s, _ := out.Unmark(); s.AsString() == "" {
			e.errorAt(t.expr.Range(), "Empty value", "The argument %q must not be empty.", row.Name)
			return failedValue(row.Type.cty)
		}
	}
	if err != nil {
		why := err.Error()
		if marks.Has(sensitive) && !row.Type.cty.IsPrimitiveType() { // keys of maps are quoted
			why = row.Type.Name + " required; what does not fit is not shown, for the value is sensitive"
		}
		e.errorAt(t.expr.Range(), "Incorrect attribute value type", "Inappropriate value for attribute %q: %s", row.Name, sentence(why))
		return failedValue(row.Type.cty)
	}
	return out
}

// fit converts and checks a value. Marks stay in their places if the value keeps its shape.
func fit(typ Type, v cty.Value, marks cty.ValueMarks) (cty.Value, error) {
	out, err := convert.Convert(v, typ.cty)
	if err != nil {
		return cty.NilVal, errors.New(conversionError(err))
	}
	bare, _ := out.UnmarkDeep()
	if err := noNulls(bare); err != nil && typ.Name != typeTree.Name && typ.Name != typeForEach.Name && typ.Name != typeTaints.Name {
		return cty.NilVal, err
	}
	if typ.normal == nil {
		return out, nil
	}
	normal, err := typ.normal(bare)
	if err != nil {
		return cty.NilVal, err
	}
	if normal.RawEquals(bare) {
		return out, nil
	}
	return normal.WithMarks(marks), nil
}

// sentence ends a text with a full stop, unless it has an end.
func sentence(s string) string {
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// conversionError rewords cty's error with the path inside the value.
func conversionError(err error) string {
	var pe cty.PathError
	if errors.As(err, &pe) && len(pe.Path) > 0 {
		return "at " + pathString(pe.Path) + ": " + pe.Error()
	}
	return err.Error()
}

// pathString formats a path inside a value.
func pathString(path cty.Path) string {
	var b strings.Builder
	for _, step := range path {
		switch s := step.(type) {
		case cty.GetAttrStep:
			b.WriteString("." + s.Name)
		case cty.IndexStep:
			if s.Key.Type() == cty.String {
				fmt.Fprintf(&b, "[%q]", s.Key.AsString())
			} else if s.Key.Type() == cty.Number {
				b.WriteString("[" + s.Key.AsBigFloat().Text('f', -1) + "]")
			}
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// convertTo is convert.Convert.
func convertTo(v cty.Value, t cty.Type) (cty.Value, error) { return convert.Convert(v, t) }

// noNulls refuses null elements.
func noNulls(v cty.Value) error {
	if !v.CanIterateElements() {
		return nil
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, e := it.Element(); e.IsNull() {
			return errors.New("an element is null")
		}
	}
	return nil
}

// checkDuration accepts Go's durations.
func checkDuration(v cty.Value) (cty.Value, error) {
	if _, err := time.ParseDuration(v.AsString()); err != nil {
		return cty.NilVal, errors.New("a duration is required: a number with a unit, as in \"90s\", \"10m\" or \"8760h\"; there is no unit longer than h")
	}
	return v, nil
}

// checkTree accepts an object.
func checkTree(v cty.Value) (cty.Value, error) {
	if t := v.Type(); !t.IsObjectType() && !t.IsMapType() {
		return cty.NilVal, fmt.Errorf("object required, not %s", t.FriendlyName())
	}
	return v, nil
}

// oneOrMore accepts a string or several and makes a list.
func oneOrMore(v cty.Value) (cty.Value, error) {
	if v.Type() == cty.String {
		return cty.ListVal([]cty.Value{v}), nil
	}
	list, err := convert.Convert(v, cty.List(cty.String))
	if err != nil {
		return cty.NilVal, errors.New("string or list of strings required")
	}
	return list, nil
}

// wholeNumber accepts integers.
func wholeNumber(v cty.Value) (cty.Value, error) {
	if !v.AsBigFloat().IsInt() {
		return cty.NilVal, errors.New("a whole number is required")
	}
	if i, acc := v.AsBigFloat().Int64(); acc != big.Exact || int64(int32(i)) != i {
		return cty.NilVal, fmt.Errorf("the number is out of range: it can be from %d to %d", math.MinInt32, math.MaxInt32)
	}
	return v, nil
}

// checkTaints accepts a list of taints with only the attributes of a taint.
func checkTaints(v cty.Value) (cty.Value, error) {
	if v.CanIterateElements() {
		for it := v.ElementIterator(); it.Next(); {
			_, taint := it.Element()
			if !taint.Type().IsObjectType() {
				continue
			}
			for name := range taint.Type().AttributeTypes() {
				if name != "key" && name != "value" && name != "effect" {
					return cty.NilVal, fmt.Errorf("a taint has no attribute %q.%s", name, suggest(name, []string{"key", "value", "effect"}))
				}
			}
		}
	}
	list, err := convert.Convert(v, taintsType)
	if err != nil {
		return cty.NilVal, errors.New(conversionError(err))
	}
	return list, nil
}

// pendingNames lists the inputs that are known only after an apply.
func pendingNames(marks cty.ValueMarks) string {
	var names []string
	for m := range marks {
		if p, ok := m.(pendingMark); ok {
			names = append(names, p.target.String()+"."+p.name)
		}
	}
	if len(names) == 0 {
		return "something unknown"
	}
	return strings.Join(sorted(names), ", ")
}

// toState converts a known value without marks.
func toState(v cty.Value) state.Value {
	t := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		return state.Null()
	case t == cty.String:
		return state.String(v.AsString())
	case t == cty.Bool:
		return state.Bool(v.True())
	case t == cty.Number:
		return state.Number(v.AsBigFloat().Text('f', -1))
	case t.IsObjectType() || t.IsMapType():
		m := map[string]state.Value{}
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			m[k.AsString()] = toState(e)
		}
		return state.Map(m)
	case v.CanIterateElements():
		list := []state.Value{}
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			list = append(list, toState(e))
		}
		return state.List(list...)
	}
	return state.Null()
}

// toTree is toState for a tree of the user: keys with null are absent.
func toTree(v cty.Value) state.Value { return dropNulls(toState(v)) }

func dropNulls(v state.Value) state.Value {
	switch v.Kind() {
	case state.KindMap:
		m := map[string]state.Value{}
		for k, e := range v.AsMap() {
			if !e.IsNull() {
				m[k] = dropNulls(e)
			}
		}
		return state.Map(m)
	case state.KindList:
		list := make([]state.Value, 0, len(v.AsList()))
		for _, e := range v.AsList() {
			list = append(list, dropNulls(e))
		}
		return state.List(list...)
	}
	return v
}

// typeName returns a type as a user writes it.
func typeName(t cty.Type) string { return typeexpr.TypeString(t) }

// FromState returns a value of the language, as toState reads it.
func FromState(v state.Value) cty.Value {
	switch v.Kind() {
	case state.KindBool:
		return cty.BoolVal(v.AsBool())
	case state.KindNumber:
		if n, err := cty.ParseNumberVal(v.AsString()); err == nil {
			return n
		}
	case state.KindString:
		return cty.StringVal(v.AsString())
	case state.KindList:
		list := []cty.Value{}
		for _, e := range v.AsList() {
			list = append(list, FromState(e))
		}
		return cty.TupleVal(list)
	case state.KindMap:
		m := map[string]cty.Value{}
		for k, e := range v.AsMap() {
			m[k] = FromState(e)
		}
		return cty.ObjectVal(m)
	}
	return cty.NullVal(cty.DynamicPseudoType)
}
