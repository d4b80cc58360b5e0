package hclconfig

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/kubewright/kubewright/config/hclconfig/sourcetext"
)

// meter counts the cost of evaluating a configuration, and ends the evaluation at the limits.
// It is for one goroutine.
type meter struct {
	max limits
	// steps, kept and textKept are the counts of the configuration so far.
	steps, kept, textKept int
	// made and textMade are the counts of the current expression.
	made, textMade int
	// stopped is why the current expression ended, ended why all of them did.
	stopped, ended *stop
	// failures counts the failed passes of the loop around the current expression.
	failures int
	// native are the expressions that are metered already, with their metered form.
	native map[hclsyntax.Expression]hclsyntax.Expression
}

func newMeter() *meter {
	return &meter{max: usualLimits, native: map[hclsyntax.Expression]hclsyntax.Expression{}}
}

// value evaluates an expression. Its value is within the limits; if one is exceeded, that is
// the only finding.
func (m *meter) value(x hcl.Expression, ctx *hcl.EvalContext) (v cty.Value, diags hcl.Diagnostics) {
	if m.ended != nil {
		return cty.DynamicVal, hcl.Diagnostics{m.ended.diagnostic()}
	}
	found := m.guard(x.Range(), func() {
		v, diags = m.inner(x, ctx)
		if m.stopped == nil && !diags.HasErrors() {
			m.keep(x.Range(), v)
		}
	})
	if found != nil {
		return cty.DynamicVal, hcl.Diagnostics{found}
	}
	return v, diags
}

// guard calls a function that evaluates an expression at a position, and returns the finding if
// it ends at a limit.
func (m *meter) guard(at hcl.Range, evaluate func()) (found *hcl.Diagnostic) {
	m.made, m.textMade, m.failures, m.stopped = 0, 0, 0, nil
	defer func() {
		if m.stopped == nil {
			return
		}
		if r := recover(); r != nil && r != any(m.stopped) {
			panic(r)
		}
		if m.stopped.at.Filename == "" {
			m.stopped.at = at
		}
		if m.stopped.limit.ofConfiguration() {
			m.ended = m.stopped
		}
		found = m.stopped.diagnostic()
	}()
	evaluate()
	return nil
}

// typeConstraint reads the type of a variable, whose optional attributes can have defaults that
// are evaluated.
func (m *meter) typeConstraint(x hcl.Expression) (typ cty.Type, defaults *typeexpr.Defaults, diags hcl.Diagnostics) {
	native, ok := x.(hclsyntax.Expression)
	if !ok {
		text, bad := x.Value(nil) // JSON: as written
		if !bad.HasErrors() && !text.IsNull() && text.Type() == cty.String {
			native, bad = hclsyntax.ParseExpression([]byte(text.AsString()), x.Range().Filename, x.Range().Start)
			ok = !bad.HasErrors()
		}
	}
	if ok {
		m.metered(native)
		x = native
	}
	found := m.guard(x.Range(), func() { typ, defaults, diags = typeexpr.TypeConstraintWithDefaults(x) })
	if found != nil {
		return cty.DynamicPseudoType, nil, hcl.Diagnostics{found}
	}
	return typ, defaults, diags
}

// again resets the count of steps, for an expression that a user enters after the configuration
// was evaluated.
func (m *meter) again() { m.steps, m.ended = 0, nil }

// inner is value for a part of an expression.
func (m *meter) inner(x hcl.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if native, ok := x.(hclsyntax.Expression); ok {
		return m.metered(native).Value(ctx)
	}
	return m.jsonValue(x, ctx)
}

func (m *meter) stopAt(l limit, at hcl.Range) *stop {
	return &stop{limit: l, detail: m.max.detail(l), at: at}
}

// end ends the evaluation of the current expression.
func (m *meter) end(l limit, at hcl.Range) {
	m.stopped = m.stopAt(l, at)
	panic(m.stopped)
}

// refuse is end for use inside a function, which a panic cannot leave, and which does not know
// its position.
func (m *meter) refuse(l limit) error {
	m.stopped = m.stopAt(l, hcl.Range{})
	return errors.New(m.stopped.detail)
}

// spend counts steps.
func (m *meter) spend(steps int, at hcl.Range) {
	if m.steps += steps; m.steps > m.max.steps {
		m.end(limitSteps, at)
	}
}

// make counts what an expression has made.
func (m *meter) make(elements, text int, at hcl.Range) {
	m.made, m.textMade = m.made+elements, m.textMade+text
	switch {
	case elements > m.max.elements:
		m.end(limitElements, at)
	case text > m.max.text:
		m.end(limitText, at)
	case m.made > m.max.made, m.textMade > m.max.textMade:
		m.end(limitMade, at)
	}
	m.spend(elements+text/bytesOfStep, at)
}

// keep counts a value that becomes part of the configuration.
func (m *meter) keep(at hcl.Range, v cty.Value) {
	w := m.weigh(v, at)
	if w.failed { // it is reported already
		return
	}
	m.kept, m.textKept = m.kept+w.elements, m.textKept+w.text
	if m.kept > m.max.kept || m.textKept > m.max.textKept {
		m.end(limitKept, at)
	}
}

// keepBlocks counts blocks that become part of the configuration, with the attributes that each
// can have. It returns the finding if they are too many.
func (m *meter) keepBlocks(blocks, attributes int, at hcl.Range) *hcl.Diagnostic {
	return m.guard(at, func() {
		m.kept += blocks * (1 + attributes)
		if m.kept > m.max.kept {
			m.end(limitKept, at)
		}
		m.spend(blocks*(1+attributes), at)
	})
}

// weight is the size of a value when written out: shared parts count each time.
type weight struct {
	max            limits
	elements, text int
	// failed reports whether a part of it could not be evaluated.
	failed bool
}

// weigh returns the size of a value, counts the steps for that, and ends the evaluation if the
// value exceeds a limit.
func (m *meter) weigh(v cty.Value, at hcl.Range) weight {
	w := weight{max: m.max}
	if l, exceeded := w.add(v, 0); exceeded {
		m.end(l, at)
	}
	m.spend(w.elements+w.text/bytesOfStep, at)
	return w
}

// add adds the size of a value. It stops at the limits for one value, and returns the exceeded
// one.
func (w *weight) add(v cty.Value, depth int) (limit, bool) {
	v, marks := v.Unmark()
	t := v.Type()
	w.elements++
	w.failed = w.failed || failed(marks)
	switch {
	case !v.IsKnown() || v.IsNull():
	case t == cty.String:
		w.text += len(v.AsString())
	case !v.CanIterateElements():
	case depth >= sourcetext.MaxDepth:
		return limitDepth, true
	case t.IsCollectionType() && (t.ElementType() == cty.Number || t.ElementType() == cty.Bool):
		w.elements += v.LengthInt()
	default:
		for it := v.ElementIterator(); it.Next(); {
			key, e := it.Element()
			if t.IsMapType() || t.IsObjectType() {
				w.text += len(key.AsString())
			}
			if l, exceeded := w.add(e, depth+1); exceeded {
				return l, true
			}
		}
	}
	switch {
	case w.elements > w.max.elements:
		return limitElements, true
	case w.text > w.max.text:
		return limitText, true
	}
	return 0, false
}
