package hclconfig

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/kubewright/kubewright/config/hclconfig/sourcetext"
)

var errOutOfRange = errors.New("a number is out of range: " + sourcetext.NumberRange)

// numbersInRange is sourcetext.InRange for all numbers of a value.
func numbersInRange(v cty.Value) bool {
	v, _ = v.Unmark()
	t := v.Type()
	switch {
	case !v.IsKnown() || v.IsNull():
		return true
	case t == cty.Number:
		return sourcetext.InRange(v.AsBigFloat())
	case !v.CanIterateElements(), t.IsCollectionType() && (t.ElementType() == cty.String || t.ElementType() == cty.Bool):
		return true
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, e := it.Element(); !numbersInRange(e) {
			return false
		}
	}
	return true
}

// ofRange returns a function that fails instead of returning a number out of range, so that
// nothing is derived from it.
func ofRange(f function.Function) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			if err == nil && !numbersInRange(v) {
				return cty.NilVal, errOutOfRange
			}
			return v, err
		},
	})
}

// ranged returns the value of an expression, or a failed one if a number in it cannot be
// written out.
func (e *evaluator) ranged(x hcl.Expression, v cty.Value) cty.Value {
	if numbersInRange(v) {
		return v
	}
	e.errorAt(x.Range(), sourcetext.OutOfRange, "A number in the value of this expression cannot be used: %s.", sourcetext.NumberRange)
	return failedValue(cty.DynamicPseudoType)
}
