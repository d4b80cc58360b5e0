package hclconfig

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// ofStrings makes a function of two strings with a boolean result.
func ofStrings(second string, test func(s, t string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: second, Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(test(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

var (
	startsWithFunc  = ofStrings("prefix", strings.HasPrefix)
	endsWithFunc    = ofStrings("suffix", strings.HasSuffix)
	strContainsFunc = ofStrings("substr", strings.Contains)
)

// ofBools makes a function of a list of bools that returns stop as soon as one element equals
// it.
func ofBools(stop bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			for it := args[0].ElementIterator(); it.Next(); {
				_, v := it.Element()
				if v.IsNull() {
					if !stop {
						return cty.False, nil
					}
					continue
				}
				if v.IsKnown() && v.True() == stop {
					return cty.BoolVal(stop), nil
				}
			}
			return cty.BoolVal(!stop), nil
		},
	})
}

var (
	allTrueFunc = ofBools(false)
	anyTrueFunc = ofBools(true)
)

// ofPath makes a function of a path.
func ofPath(part func(string) string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.StringVal(part(args[0].AsString())), nil
		},
	})
}

var (
	basenameFunc = ofPath(path.Base)
	dirnameFunc  = ofPath(path.Dir)
)

// replaceFunc replaces text, or the matches of a /regular expression/.
var replaceFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: "substr", Type: cty.String}, {Name: "replace", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		s, old, with := args[0].AsString(), args[1].AsString(), args[2].AsString()
		if len(old) > 1 && strings.HasPrefix(old, "/") && strings.HasSuffix(old, "/") {
			re, err := regexp.Compile(old[1 : len(old)-1])
			if err != nil {
				return cty.NilVal, function.NewArgError(1, err)
			}
			return cty.StringVal(re.ReplaceAllString(s, with)), nil
		}
		return cty.StringVal(strings.ReplaceAll(s, old, with)), nil
	},
})

// sumFunc adds numbers.
var sumFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if !args[0].CanIterateElements() {
			return cty.NilVal, function.NewArgErrorf(0, "a list, set or tuple of numbers is required")
		}
		if args[0].LengthInt() == 0 {
			return cty.NilVal, function.NewArgErrorf(0, "there is nothing to add")
		}
		total := cty.Zero
		for it := args[0].ElementIterator(); it.Next(); {
			_, v := it.Element()
			n, err := convertTo(v, cty.Number)
			if err != nil || n.IsNull() {
				return cty.NilVal, function.NewArgErrorf(0, "an element is no number")
			}
			total = total.Add(n)
		}
		return total, nil
	},
})

// lengthFunc counts elements, or the characters of a string.
var lengthFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true, AllowUnknown: true, AllowMarked: true}},
	Type: func(args []cty.Value) (cty.Type, error) {
		t := args[0].Type()
		if t == cty.String || t == cty.DynamicPseudoType || t.IsCollectionType() || t.IsTupleType() || t.IsObjectType() {
			return cty.Number, nil
		}
		return cty.Number, errors.New("a string, list, map, set, tuple or object is required")
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v, marks := args[0].Unmark()
		switch t := v.Type(); {
		case t == cty.DynamicPseudoType:
			return cty.UnknownVal(cty.Number).WithMarks(marks), nil
		case t.IsTupleType():
			return cty.NumberIntVal(int64(len(t.TupleElementTypes()))).WithMarks(marks), nil
		case t.IsObjectType():
			return cty.NumberIntVal(int64(len(t.AttributeTypes()))).WithMarks(marks), nil
		case t == cty.String:
			n, err := stdlib.Strlen(v)
			return n.WithMarks(marks), err
		default:
			return v.Length().WithMarks(marks), nil
		}
	},
})

// indexFunc finds an element in a list.
var indexFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}, {Name: "value", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if t := args[0].Type(); !t.IsListType() && !t.IsTupleType() {
			return cty.NilVal, function.NewArgErrorf(0, "a list or tuple is required")
		}
		for it := args[0].ElementIterator(); it.Next(); {
			i, v := it.Element()
			eq, err := stdlib.Equal(v, args[1])
			if err == nil && eq.IsKnown() && eq.True() {
				return i, nil
			}
		}
		return cty.NilVal, errors.New("the list has no such element")
	},
})

// oneFunc returns the only element of a list, or null for none.
var oneFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type: func(args []cty.Value) (cty.Type, error) {
		t := args[0].Type()
		switch {
		case t.IsListType() || t.IsSetType():
			return t.ElementType(), nil
		case t.IsTupleType() && len(t.TupleElementTypes()) == 0:
			return cty.DynamicPseudoType, nil
		case t.IsTupleType() && len(t.TupleElementTypes()) == 1:
			return t.TupleElementTypes()[0], nil
		}
		return cty.NilType, function.NewArgErrorf(0, "a list, set or tuple with one element or none is required")
	},
	Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
		switch args[0].LengthInt() {
		case 0:
			return cty.NullVal(t), nil
		case 1:
			it := args[0].ElementIterator()
			it.Next()
			_, v := it.Element()
			return v, nil
		}
		return cty.NilVal, function.NewArgErrorf(0, "there is more than one element")
	},
})

// matchKeysFunc returns the values whose keys are searched for.
var matchKeysFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "values", Type: cty.List(cty.DynamicPseudoType)},
		{Name: "keys", Type: cty.List(cty.DynamicPseudoType)},
		{Name: "searchset", Type: cty.List(cty.DynamicPseudoType)},
	},
	Type: func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
	Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
		values, keys, wanted := args[0].AsValueSlice(), args[1].AsValueSlice(), args[2].AsValueSlice()
		if len(values) != len(keys) {
			return cty.NilVal, errors.New("there must be as many keys as values")
		}
		var out []cty.Value
		for i, key := range keys {
			if slices.ContainsFunc(wanted, key.RawEquals) {
				out = append(out, values[i])
			}
		}
		if len(out) == 0 {
			return cty.ListValEmpty(t.ElementType()), nil
		}
		return cty.ListVal(out), nil
	},
})

// transposeFunc exchanges keys and values of a map of lists of strings.
var transposeFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "values", Type: cty.Map(cty.List(cty.String))}},
	Type:   function.StaticReturnType(cty.Map(cty.List(cty.String))),
	Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
		lists := map[string][]cty.Value{}
		for it := args[0].ElementIterator(); it.Next(); {
			key, list := it.Element()
			for in := list.ElementIterator(); in.Next(); {
				_, v := in.Element()
				if v.IsNull() {
					return cty.NilVal, errors.New("an element is null")
				}
				lists[v.AsString()] = append(lists[v.AsString()], key)
			}
		}
		if len(lists) == 0 {
			return cty.MapValEmpty(t.ElementType()), nil
		}
		out := map[string]cty.Value{}
		for k, vs := range lists {
			out[k] = cty.ListVal(vs)
		}
		return cty.MapVal(out), nil
	},
})

// timeCmpFunc compares two moments.
var timeCmpFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "timestamp_a", Type: cty.String}, {Name: "timestamp_b", Type: cty.String}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var at [2]time.Time
		for i, a := range args {
			t, err := time.Parse(time.RFC3339, a.AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(i, fmt.Errorf("%q is no moment such as 2006-01-02T15:04:05Z", a.AsString()))
			}
			at[i] = t
		}
		return cty.NumberIntVal(int64(at[0].Compare(at[1]))), nil
	},
})

// ofAny makes a function of one value of any type.
func ofAny(typ func(cty.Value) cty.Type, impl func(cty.Value) cty.Value) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true, AllowMarked: true}},
		Type:   func(args []cty.Value) (cty.Type, error) { return typ(args[0]), nil },
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return impl(args[0]), nil },
	})
}

var (
	sensitiveFunc = ofAny(cty.Value.Type, func(v cty.Value) cty.Value { return v.Mark(sensitive) })

	nonsensitiveFunc = ofAny(cty.Value.Type, func(v cty.Value) cty.Value {
		v, marks := v.Unmark()
		delete(marks, sensitive)
		return v.WithMarks(marks)
	})

	isSensitiveFunc = ofAny(func(cty.Value) cty.Type { return cty.Bool }, func(v cty.Value) cty.Value {
		return cty.BoolVal(v.HasMark(sensitive))
	})
)
