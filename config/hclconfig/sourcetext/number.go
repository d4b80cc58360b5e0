package sourcetext

import (
	"fmt"
	"math/big"
	"strings"
)

// maxExponent limits numbers by their power of two, as quadruple precision does. cty's numbers
// may be infinite, which no JSON can hold, and include powers of ten whose digits take minutes
// to write out: each is refused at its origin.
const maxExponent = 1 << 14

// maxDigits limits numbers that are written without an exponent.
const maxDigits = 4932

// NumberRange describes the allowed numbers.
const NumberRange = "it must be finite, its size at most 1e4932 and, unless it is 0, at least 1e-4932"

// OutOfRange is the summary of a number that cannot be used.
const OutOfRange = "Number out of range"

// InRange reports whether a number can be written out.
func InRange(n *big.Float) bool {
	if n.IsInf() {
		return false
	}
	exponent := n.MantExp(nil)
	return -maxExponent <= exponent && exponent <= maxExponent
}

// literalInRange is InRange for a number as written. The parser reports a text that is none.
func literalInRange(text string) bool {
	if !strings.ContainsAny(text, "eE") {
		return len(text) <= maxDigits
	}
	n, _, err := big.ParseFloat(text, 10, 64, big.ToNearestEven)
	return err == nil && InRange(n)
}

// Grouped formats a number with commas between thousands.
func Grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", Grouped(n/1000), n%1000)
}
