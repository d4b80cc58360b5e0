package hclconfig

import (
	"errors"
	"math/big"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// maxExponent limits numbers by their power of two, as quadruple precision does. cty's numbers
// may be infinite, which no JSON can hold, and include powers of ten whose digits take minutes
// to write out: each is refused at its origin.
const maxExponent = 1 << 14

// maxDigits limits numbers that are written without an exponent.
const maxDigits = 4932

// numberRange describes the allowed numbers.
const numberRange = "it must be finite, its size at most 1e4932 and, unless it is 0, at least 1e-4932"

// outOfRange is the summary of a number that cannot be used.
const outOfRange = "Number out of range"

var errOutOfRange = errors.New("a number is out of range: " + numberRange)

// inRange reports whether a number can be written out.
func inRange(n *big.Float) bool {
	if n.IsInf() {
		return false
	}
	exponent := n.MantExp(nil)
	return -maxExponent <= exponent && exponent <= maxExponent
}

// numbersInRange is inRange for all numbers of a value.
func numbersInRange(v cty.Value) bool {
	v, _ = v.Unmark()
	t := v.Type()
	switch {
	case !v.IsKnown() || v.IsNull():
		return true
	case t == cty.Number:
		return inRange(v.AsBigFloat())
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

// literalInRange is inRange for a number as written. The parser reports a text that is none.
func literalInRange(text string) bool {
	if !strings.ContainsAny(text, "eE") {
		return len(text) <= maxDigits
	}
	n, _, err := big.ParseFloat(text, 10, 64, big.ToNearestEven)
	return err == nil && inRange(n)
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
	e.errorAt(x.Range(), outOfRange, "A number in the value of this expression cannot be used: %s.", numberRange)
	return failedValue(cty.DynamicPseudoType)
}
