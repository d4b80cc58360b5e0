package schedule

import (
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// WithForecast fills in the number of steps per target, and how long the plan and each step
// would take, based on earlier applies.
func WithForecast(plan *planner.Plan, o ui.Options) ui.Options {
	o.Steps = map[state.Target]int{}
	for _, s := range plan.Steps {
		o.Steps[s.ID.Target]++
	}
	t := executor.Forecast(plan, o.Recorded.Durations, o.Parallelism)
	if !Measurable(t) {
		return o
	}
	o.Estimate, o.Expected = ToDuration(t.Seconds), map[state.Address]time.Duration{}
	for _, s := range t.Steps {
		if s.Known {
			o.Expected[s.Step] = ToDuration(s.Seconds)
		}
	}
	return o
}

// Measurable reports whether a timeline takes time at all: on simulated hosts it does not.
func Measurable(t executor.Timeline) bool { return t.Seconds >= 1 }

// ToDuration returns seconds as a duration.
func ToDuration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// EstimateText returns how long a plan would take, in a sentence; empty if earlier applies do
// not show it.
func EstimateText(t executor.Timeline) string {
	if !Measurable(t) {
		return ""
	}
	text := "Takes about " + ui.Duration(ToDuration(t.Seconds)) + ", going by earlier applies"
	if t.Unknown > 0 {
		text += "; not counted: " + ui.Plural(t.Unknown, "step") + " of a kind that was never run before"
	}
	return text + "."
}

// PrintEstimate prints how long a plan would take, and its longest chain.
func PrintEstimate(p *ui.Page, plan *planner.Plan, t executor.Timeline) {
	if text := EstimateText(t); text != "" {
		p.Prose(text)
		PrintLongestChain(p, plan, t)
	}
}

// PrintLongestChain prints the critical path of a timeline, without steps that take no time.
func PrintLongestChain(p *ui.Page, plan *planner.Plan, t executor.Timeline) {
	l := newLabels(plan)
	var shown []executor.Span
	for _, s := range t.Critical {
		if s.Seconds >= t.Seconds/100 {
			shown = append(shown, s)
		}
	}
	var parts []string
	for len(shown) > 0 {
		n, nodes := ofOneBlock(shown)
		if nodes <= maxNamedTurns {
			parts = append(parts, l.step(shown[0]))
			shown = shown[1:]
			continue
		}
		var seconds float64
		for _, s := range shown[:n] {
			seconds += s.Seconds
		}
		parts = append(parts, l.step(shown[0]), "…", l.step(shown[n-1])+" ("+ui.Plural(n, "step")+" in turn, "+ui.Duration(ToDuration(seconds))+")")
		shown = shown[n:]
	}
	if len(parts) > 1 {
		p.Line(wrapArrows("Longest chain: "+strings.Join(parts, " → "), p.Width, "  "))
	}
}

// ofOneBlock returns how many of the first steps of a chain are on nodes of one block, and on how
// many.
func ofOneBlock(chain []executor.Span) (steps, nodes int) {
	seen := map[state.Target]bool{}
	for _, s := range chain {
		t := s.Step.Target
		if t.Type != state.TypeNode || t.Name != chain[0].Step.Target.Name {
			break
		}
		seen[t] = true
		steps++
	}
	return steps, len(seen)
}

// step returns a step and its duration: control-plane[cp1] 12s.
func (l labels) step(s executor.Span) string {
	name := ui.PhaseName(s.Step)
	if who := l.who(group{Targets: []state.Target{s.Step.Target}}); who != "" {
		name += "[" + who + "]"
	}
	return name + " " + ui.Duration(ToDuration(s.Seconds))
}

// SpanText returns how long a step takes; empty if that is unknown or almost nothing.
func SpanText(s executor.Span) string {
	if !s.Known || s.Seconds < 0.1 {
		return ""
	}
	return ui.Duration(ToDuration(s.Seconds))
}
