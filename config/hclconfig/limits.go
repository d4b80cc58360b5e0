package hclconfig

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
)

// limits bound an evaluation. A few lines can describe a value that fills the memory,
// or work that never ends. The limits count bytes, elements and steps, and no time, so
// that the same configuration ends in the same way on every machine.
type limits struct {
	// text bounds the bytes of text in one value.
	text int
	// elements bounds the elements of one value, nested ones included.
	elements int
	// made and textMade bound what one expression makes on the way to its value.
	made, textMade int
	// kept and textKept bound the values of a whole configuration.
	kept, textKept int
	// steps bounds the work of a whole configuration.
	steps int
}

// usualLimits are those of every configuration. The steps take about a minute.
var usualLimits = limits{
	text: 8 << 20, elements: 1_000_000,
	made: 3_000_000, textMade: 64 << 20,
	kept: 4_000_000, textKept: 256 << 20,
	steps: 100_000_000,
}

const (
	// maxChain bounds how many values depend on one another in a row.
	maxChain = 1_000
	// maxBlocks bounds the blocks that one dynamic block makes.
	maxBlocks = 10_000
)

// The steps that work costs. A step is about what the evaluation needs to look
// at one element.
const (
	stepsOfPass    = 10    // once through a for or a splat
	stepsOfFailure = 1_000 // an error that is kept
	bytesOfStep    = 16    // of text that is read or written

	attributesOfStep = 4 // of blocks that an expression refers to
)

// limit is a bound of the evaluation.
type limit int

const (
	limitText limit = iota
	limitElements
	limitDepth
	limitMade
	limitKept
	limitSteps
	limitChain
)

// ofConfiguration reports whether the limit is one of the whole configuration. Once it is
// reached nothing more is evaluated.
func (l limit) ofConfiguration() bool { return l == limitKept || l == limitSteps }

// summary names what is wrong.
func (l limit) summary() string {
	switch l {
	case limitText:
		return "Text too long"
	case limitElements:
		return "Value too large"
	case limitDepth, limitChain:
		return "Nested too deeply"
	case limitMade:
		return "Expression too large"
	case limitKept:
		return "Configuration too large"
	}
	return "Evaluation too expensive"
}

// detail says which limit an expression exceeds, and what to do.
func (m limits) detail(l limit) string {
	switch l {
	case limitText:
		return fmt.Sprintf("This expression makes a text of more than %d MiB, which is the limit for one value. Look for what repeats or doubles it.", m.text>>20)
	case limitElements:
		return fmt.Sprintf("This expression makes a value of more than %s elements, which is the limit for one value. Look for what multiplies it: a for inside of a for, setproduct, or a list of lists.", grouped(m.elements))
	case limitDepth:
		return fmt.Sprintf("The lists and objects in the value of this expression are nested more than %d deep, which is the limit.", maxDepth)
	case limitMade:
		return fmt.Sprintf("This expression makes more than %s elements or %d MiB of text on the way to its value, which is the limit for one expression. Look for what multiplies it: a for inside of a for, setproduct, or a list of lists.", grouped(m.made), m.textMade>>20)
	case limitKept:
		return fmt.Sprintf("The values of the configuration have more than %s elements or %d MiB of text, which is the limit for all of them. This expression is the one that exceeds it. Split the configuration into several folders, or look for a value that is repeated for each node.", grouped(m.kept), m.textKept>>20)
	case limitChain:
		return fmt.Sprintf("More than %s values depend on one another in a row, which is the limit. This is the last of them.", grouped(maxChain))
	}
	return fmt.Sprintf("The configuration takes more than %s steps to evaluate, which is the limit; it is reached in this expression. Each element that a function looks at is a step, and each pass of a for is %d. Look for a for inside of a for, and compute in locals what is the same for all nodes.", grouped(m.steps), stepsOfPass)
}

// grouped returns a number with commas between thousands.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// stop is the end of an evaluation at a limit. Loops of the library have no other
// way out than a panic, which meter.value recovers.
type stop struct {
	limit  limit
	detail string
	at     hcl.Range
}

// diagnostic says where the evaluation stopped and why.
func (s *stop) diagnostic() *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: s.limit.summary(), Detail: s.detail, Subject: &s.at, Extra: s}
}

// stoppedBy reports whether the evaluation ended at a limit.
func stoppedBy(diags hcl.Diagnostics) bool {
	if len(diags) != 1 {
		return false
	}
	_, ok := diags[0].Extra.(*stop)
	return ok
}
