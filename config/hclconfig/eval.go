package hclconfig

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// evaluator holds the values that expressions can refer to, and the findings.
type evaluator struct {
	diags diag.Diagnostics
	seen  map[[2]any]bool
	// failures are the positions of attributes whose values could not be evaluated.
	failures map[state.Source]bool
	text     func(file string) []byte
	// cover returns the text of a file with its secrets covered.
	cover     func(file string) []byte
	functions map[string]function.Function
	// meter counts the cost of the evaluation.
	meter     *meter
	variables map[string]*thunk
	locals    map[string]*thunk
	clusters  map[string]*block
	nodes     map[string]*nodeSet
	// keyed counts the nodes that for_each has made.
	keyed int
	// unconditional skips the preconditions of clusters and nodes.
	unconditional bool
	// known is what applies have found out, for outputs and in a console.
	known config.Known
	// stack are the thunks that are being evaluated, for the path of a cycle.
	stack []*thunk
}

// scope holds the names that exist only inside a block: each, or the iterator of a dynamic
// block.
type scope struct {
	outer *scope
	name  string
	value cty.Value
}

// find looks a name up from the innermost scope outwards.
func (s *scope) find(name string) (cty.Value, bool) {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return s.value, true
		}
	}
	return cty.NilVal, false
}

// thunk is an attribute that is evaluated on demand.
type thunk struct {
	name  string
	row   *Attribute
	expr  hcl.Expression // nil: default
	at    hcl.Range
	scope *scope
	// derive returns the default if it depends on other values.
	derive func() cty.Value
	status thunkStatus
	value  cty.Value
	// circular reports whether the value was found to depend on itself.
	circular bool
}

type thunkStatus int

const (
	waiting thunkStatus = iota
	busy
	done
)

// set reports whether the attribute is written.
func (t *thunk) set() bool { return t.expr != nil }

// The marks that values carry. Marks are comparable.
type (
	// sensitiveMark: never print it.
	sensitiveMark struct{}
	// lazyMark: the value is not evaluated yet, and the result depends on it.
	lazyMark struct{ thunk *thunk }
	// failedMark: an error is already reported.
	failedMark struct{}
	// pendingMark: only an apply can know the value.
	pendingMark struct {
		target state.Target
		name   string
	}
)

var (
	sensitive = sensitiveMark{}
	hasFailed = failedMark{}
)

// failedValue stands for a value that could not be evaluated.
func failedValue(t cty.Type) cty.Value { return cty.UnknownVal(t).Mark(hasFailed) }

// failed reports whether the marks show that an error is already reported.
func failed(marks cty.ValueMarks) bool { return marks.Has(hasFailed) }

func hasPending(marks cty.ValueMarks) bool {
	for m := range marks {
		if _, ok := m.(pendingMark); ok {
			return true
		}
	}
	return false
}

// force returns the value of an attribute, and evaluates it if necessary.
func (e *evaluator) force(t *thunk) cty.Value {
	switch t.status {
	case done:
		return t.value
	case busy:
		e.cycle(t)
		return failedValue(cty.DynamicPseudoType)
	}
	if len(e.stack) == maxChain {
		e.report(hcl.Diagnostics{e.meter.stopAt(limitChain, t.at).diagnostic()})
		t.status, t.value = done, failedValue(cty.DynamicPseudoType)
		return t.value
	}
	t.status = busy
	e.stack = append(e.stack, t)
	v := e.evaluate(t)
	e.stack = e.stack[:len(e.stack)-1]
	t.value, t.status = v, done
	if _, marks := v.UnmarkDeep(); failed(marks) && t.expr != nil {
		if e.failures == nil {
			e.failures = map[state.Source]bool{}
		}
		e.failures[source(t.at)] = true
	}
	return v
}

// cycle reports that a value depends on itself.
func (e *evaluator) cycle(t *thunk) {
	t.circular = true
	start := 0
	for i, s := range e.stack {
		if s == t {
			start = i
		}
	}
	var path []string
	for _, s := range append(e.stack[start:len(e.stack):len(e.stack)], t) {
		path = append(path, s.name+" ("+place(s.at)+")")
	}
	e.errorAt(t.at, "Cycle in the configuration", "The value of %s depends on itself:\n\n  %s\n\nOne of these must be written without the others.", t.name, strings.Join(path, "\n  → "))
}

// evaluate returns the value of an attribute, converted to its type.
func (e *evaluator) evaluate(t *thunk) cty.Value {
	if t.expr == nil {
		return t.fallback()
	}
	v := e.eval(t.expr, t.scope)
	if t.row == nil {
		return v
	}
	return e.conform(t, v)
}

// fallback returns the value of an attribute that is not written.
func (t *thunk) fallback() cty.Value {
	switch {
	case t.derive != nil:
		return t.derive()
	case t.row == nil:
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return t.row.Value()
}

// eval returns the value of an expression. Everything that it refers to is evaluated first; of
// collections referred to as a whole only what the result needs.
func (e *evaluator) eval(x hcl.Expression, sc *scope) cty.Value {
	refs := x.Variables()
	if !e.resolve(refs, sc) {
		return failedValue(cty.DynamicPseudoType)
	}
	for {
		ctx, lazies := e.context(refs, sc)
		v, diags := e.meter.value(x, ctx)
		if diags.HasErrors() {
			if _, marks := v.UnmarkDeep(); e.meter.ended != nil || !failed(marks) && !failedIn(refs, ctx) {
				e.reportOf(x, diags)
			}
			return failedValue(cty.DynamicPseudoType)
		}
		e.reportOf(x, diags)
		if !e.settle(v, lazies) {
			return e.ranged(x, v)
		}
	}
}

// settle evaluates the values on which the result turned out to depend. It reports whether
// there were any.
func (e *evaluator) settle(v cty.Value, lazies []*thunk) bool {
	_, marks := v.UnmarkDeep()
	if failed(marks) {
		return false
	}
	any := false
	for m := range marks {
		if l, ok := m.(lazyMark); ok {
			e.force(l.thunk)
			any = true
		}
	}
	if any || v.IsWhollyKnown() || hasPending(marks) {
		return any
	}
	// A function such as try may lose the marks together with the value.
	for _, t := range lazies {
		if t.status != done {
			e.force(t)
			any = true
		}
	}
	return any
}

// failedIn reports whether the expression refers to something that is already reported as
// wrong.
func failedIn(refs []hcl.Traversal, ctx *hcl.EvalContext) bool {
	for _, ref := range refs {
		v, ok := ctx.Variables[ref.RootName()]
		if !ok {
			continue
		}
		if _, marks := v.UnmarkDeep(); failed(marks) {
			return true
		}
	}
	return false
}
