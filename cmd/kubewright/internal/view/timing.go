package view

import (
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// Expect fills in what steps a node has, and how long the plan and each of them would
// take, going by earlier applies: nothing where they say nothing.
func Expect(plan *planner.Plan, o Options) Options {
	o.Steps = map[state.Target]int{}
	for _, s := range plan.Steps {
		o.Steps[s.ID.Target]++
	}
	t := executor.Forecast(plan, o.Recorded.Durations, o.Parallelism)
	if !tells(t) {
		return o
	}
	o.Estimate, o.Expected = ofSeconds(t.Seconds), map[state.Address]time.Duration{}
	for _, s := range t.Steps {
		if s.Known {
			o.Expected[s.Step] = ofSeconds(s.Seconds)
		}
	}
	return o
}

// tells reports that a timeline is worth a word: simulated hosts take no time.
func tells(t executor.Timeline) bool { return t.Seconds >= 1 }

func ofSeconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// takes says how long a plan would take; empty where nobody knows.
func takes(t executor.Timeline) string {
	if !tells(t) {
		return ""
	}
	text := "Takes about " + duration(ofSeconds(t.Seconds)) + ", going by earlier applies"
	if t.Unknown > 0 {
		text += "; not counted: " + plural(t.Unknown, "step") + " of a kind that was never run before"
	}
	return text + "."
}

// printEstimate prints how long a plan would take, and its longest chain.
func printEstimate(p *page, plan *planner.Plan, t executor.Timeline) {
	if text := takes(t); text != "" {
		p.prose(text)
		printChain(p, plan, t)
	}
}

// printChain prints the critical path of a timeline, without what takes no time.
func printChain(p *page, plan *planner.Plan, t executor.Timeline) {
	l := newLabels(plan)
	var parts []string
	for _, s := range t.Critical {
		if s.Seconds >= t.Seconds/100 {
			parts = append(parts, l.step(s))
		}
	}
	if len(parts) > 1 {
		p.line(wrapArrows("Longest chain: "+strings.Join(parts, " → "), p.width, "  "))
	}
}

// step names a step and how long it takes: control-plane[cp1] 12s.
func (l labels) step(s executor.Span) string {
	name := phaseName(s.Step)
	if who := l.who(group{targets: []state.Target{s.Step.Target}}); who != "" {
		name += "[" + who + "]"
	}
	return name + " " + duration(ofSeconds(s.Seconds))
}

// estimated returns how long a step takes, where that is known and worth a word.
func estimated(s executor.Span) string {
	if !s.Known || s.Seconds < 0.1 {
		return ""
	}
	return duration(ofSeconds(s.Seconds))
}
