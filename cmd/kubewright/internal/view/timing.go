package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

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

// estimate prints how long the plan would take, and what makes it as long as it is.
func (p *page) estimate(t executor.Timeline, l labels) {
	if text := takes(t); text != "" {
		p.prose(text)
		p.chain("Longest chain: ", t, l)
	}
}

// chain prints the critical path of a timeline, without what takes no time.
func (p *page) chain(head string, t executor.Timeline, l labels) {
	var parts []string
	for _, s := range t.Critical {
		if s.Seconds >= t.Seconds/100 {
			parts = append(parts, l.step(s))
		}
	}
	if len(parts) > 1 {
		p.line(wrapArrows(head+strings.Join(parts, " → "), p.width, "  "))
	}
}

// step names a step and how long it takes: control-plane[cp1] 12s.
func (l labels) step(s executor.Span) string {
	name := phaseName(phase{id: s.Step})
	if who := l.who(group{targets: []state.Target{s.Step.Target}}); who != "" {
		name += "[" + who + "]"
	}
	return name + " " + duration(ofSeconds(s.Seconds))
}

// timing ends an apply with where the time went: the slowest steps and the
// chain that made the run as long as it was. Of a run of no length it is silent.
func (p *page) timing(plan *planner.Plan, outcome *executor.Outcome) {
	t := outcome.Timeline(plan)
	if !tells(t) || len(t.Steps) < 2 {
		return
	}
	l := newLabels(plan)
	slowest := slices.Clone(t.Steps)
	slices.SortStableFunc(slowest, func(a, b executor.Span) int { return cmp.Compare(b.Seconds, a.Seconds) })
	work := 0.0
	for _, s := range t.Steps {
		work += s.Seconds
	}
	p.line()
	p.prose("Took " + duration(ofSeconds(t.Seconds)) + " for " + plural(len(t.Steps), "step") + "; one after another they would take " + duration(ofSeconds(work)) + ". The slowest:")
	names, width := []string{}, 0
	for _, s := range slowest[:min(len(slowest), maxSlowest)] {
		names = append(names, stepName(s.Step))
		width = max(width, ansi.StringWidth(names[len(names)-1]))
	}
	for i, name := range names {
		p.line("  ", fill(name, width), "  ", duration(ofSeconds(slowest[i].Seconds)))
	}
	p.chain("Longest chain: ", t, l)
}

// maxSlowest is how many steps the report of an apply names.
const maxSlowest = 5
