package executor

import (
	"cmp"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/dag"
	"github.com/kubewright/kubewright/state"
)

// Span is when a step runs, in seconds since the run began.
type Span struct {
	Step           state.Address
	Start, Seconds float64
	// Known reports whether an earlier apply has recorded the duration of such a step; otherwise
	// Seconds is 0.
	Known bool
}

// End returns the second at which the step ends.
func (s Span) End() float64 { return s.Start + s.Seconds }

// Timeline is when the steps of a plan run, or have run.
type Timeline struct {
	// Steps are in the order of the plan.
	Steps   []Span
	Seconds float64
	// Critical is the chain of steps, in order, that determined the duration of the run: each
	// started when the one before it had ended.
	Critical []Span
	// Unknown is the number of steps with an unknown duration.
	Unknown int
}

// Forecast simulates Execute with the given durations of steps (seconds per state.DurationKey). The
// timeline of a plan that cannot run is empty.
func Forecast(plan *planner.Plan, durations map[string]float64, parallelism int) Timeline {
	if parallelism < 1 {
		parallelism = DefaultParallelism
	}
	frontier, err := dag.NewFrontier(nodesOf(plan, durations), plan.Limits)
	if err != nil {
		return Timeline{}
	}
	spans := make([]Span, len(plan.Steps))
	place := map[state.Address]int{}
	for i, s := range plan.Steps {
		place[s.ID] = i
		seconds, known := durations[durationKey(&s)]
		spans[i] = Span{Step: s.ID, Seconds: seconds, Known: known}
	}
	now := 0.0
	var running []int
	for {
		for len(running) < parallelism {
			id, ok := frontier.Next()
			if !ok {
				break
			}
			spans[place[id]].Start = now
			running = append(running, place[id])
		}
		if len(running) == 0 {
			return timeline(plan, spans)
		}
		first := slices.MinFunc(running, func(a, b int) int {
			return cmp.Or(cmp.Compare(spans[a].End(), spans[b].End()), a-b)
		})
		running = slices.DeleteFunc(running, func(i int) bool { return i == first })
		now = spans[first].End()
		frontier.Done(spans[first].Step)
	}
}

// Timeline returns when the steps of the run started and ended. It skips steps that never did.
func (o *Outcome) Timeline(plan *planner.Plan) Timeline {
	ran := *plan
	ran.Steps = nil
	var spans []Span
	for i, s := range o.Steps {
		if s.Status == StatusDone || s.Status == StatusFailed {
			ran.Steps = append(ran.Steps, plan.Steps[i])
			spans = append(spans, Span{Step: s.Step, Start: s.Start, Seconds: s.Seconds, Known: true})
		}
	}
	t := timeline(&ran, spans)
	t.Seconds = o.Seconds
	return t
}

// nodesOf returns the steps as nodes of a walk.
func nodesOf(plan *planner.Plan, durations map[string]float64) []dag.Node[state.Address] {
	nodes := make([]dag.Node[state.Address], len(plan.Steps))
	for i := range plan.Steps {
		s := &plan.Steps[i]
		nodes[i] = dag.Node[state.Address]{Key: s.ID, Needs: s.Needs, Limits: s.Limits, Finally: s.Finally, Weight: durations[durationKey(s)]}
	}
	return nodes
}

func durationKey(s *planner.Step) string { return state.DurationKey(s.Phase, string(s.Action)) }

func timeline(plan *planner.Plan, spans []Span) Timeline {
	t := Timeline{Steps: spans}
	last := -1
	for i, s := range spans {
		t.Seconds = max(t.Seconds, s.End())
		if !s.Known {
			t.Unknown++
		}
		if last < 0 || s.End() > spans[last].End() {
			last = i
		}
	}
	t.Critical = critical(plan, spans, last)
	return t
}

// critical follows the chain back from the last step to end: the predecessor of each step is the
// one that ended last among the steps that it needs or shares a limit with.
func critical(plan *planner.Plan, spans []Span, last int) []Span {
	place := map[state.Address]int{}
	sharing := map[string][]int{}
	for i, s := range plan.Steps {
		place[s.ID] = i
		for _, l := range s.Limits {
			sharing[l] = append(sharing[l], i)
		}
	}
	var chain []Span
	for last >= 0 {
		chain = append(chain, spans[last])
		before := -1
		consider := func(i int) {
			earlier := spans[i].Start < spans[last].Start || spans[i].Start == spans[last].Start && i < last
			if earlier && spans[i].End() <= spans[last].Start && (before < 0 || spans[i].End() > spans[before].End()) {
				before = i
			}
		}
		for _, n := range plan.Steps[last].Needs {
			if i, ok := place[n]; ok {
				consider(i)
			}
		}
		for _, l := range plan.Steps[last].Limits {
			for _, i := range sharing[l] {
				consider(i)
			}
		}
		last = before
	}
	slices.Reverse(chain)
	return chain
}
