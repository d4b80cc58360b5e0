package hclconfig

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"github.com/kubewright/kubewright/config/hclconfig/sourcetext"
)

// limits limit an evaluation. A few lines can describe a value that fills the memory, or work
// that never ends. The limits count bytes, elements and steps, and not time, so that the same
// configuration ends in the same way on every machine.
type limits struct {
	// text limits the bytes of text in one value.
	text int
	// elements limits the elements of one value, nested ones included.
	elements int
	// made and textMade limit what one expression makes on the way to its value.
	made, textMade int
	// kept and textKept limit the values of a whole configuration.
	kept, textKept int
	// steps limits the work of a whole configuration.
	steps int
}

// usualLimits are the limits of every configuration. The steps take about a minute.
var usualLimits = limits{
	text: 8 << 20, elements: 1_000_000,
	made: 3_000_000, textMade: 64 << 20,
	kept: 4_000_000, textKept: 256 << 20,
	steps: 100_000_000,
}

const (
	// maxChain limits the length of a chain of values that depend on one another.
	maxChain = 1_000
	// maxBlocks limits the blocks that one dynamic block makes.
	maxBlocks = 10_000
)

// The cost of work in steps. A step is about the cost of visiting one element.
const (
	stepsOfPass    = 10    // one pass of a for or a splat
	stepsOfFailure = 1_000 // a kept error
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

// ofConfiguration reports whether the limit is for the whole configuration. Once it is reached,
// nothing more is evaluated.
func (l limit) ofConfiguration() bool { return l == limitKept || l == limitSteps }

// summary returns the summary of the finding.
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
		return fmt.Sprintf("This expression makes a value of more than %s elements, which is the limit for one value. Look for what multiplies it: a for inside of a for, setproduct, or a list of lists.", sourcetext.Grouped(m.elements))
	case limitDepth:
		return fmt.Sprintf("The lists and objects in the value of this expression are nested more than %d deep, which is the limit.", sourcetext.MaxDepth)
	case limitMade:
		return fmt.Sprintf("This expression makes more than %s elements or %d MiB of text on the way to its value, which is the limit for one expression. Look for what multiplies it: a for inside of a for, setproduct, or a list of lists.", sourcetext.Grouped(m.made), m.textMade>>20)
	case limitKept:
		return fmt.Sprintf("The values of the configuration have more than %s elements or %d MiB of text, which is the limit for all of them. This expression is the one that exceeds it. Split the configuration into several folders, or look for a value that is repeated for each node.", sourcetext.Grouped(m.kept), m.textKept>>20)
	case limitChain:
		return fmt.Sprintf("More than %s values depend on one another in a row, which is the limit. This is the last of them.", sourcetext.Grouped(maxChain))
	}
	return fmt.Sprintf("The configuration takes more than %s steps to evaluate, which is the limit; it is reached in this expression. Each element that a function visits is a step, and each pass of a for is %d. Look for a for inside of a for, and compute in locals what is the same for all nodes.", sourcetext.Grouped(m.steps), stepsOfPass)
}

// stop ends an evaluation at a limit. The only way out of the library's loops is a panic, which
// meter.value recovers.
type stop struct {
	limit  limit
	detail string
	at     hcl.Range
}

// diagnostic returns where the evaluation stopped and why.
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
