package view

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// settled folds what is done: the lines of a node's steps, or of a cluster's, stand
// until all of them are done, and then one line for all. Of a run that comes to
// another end one line says how many were. What has failed is never folded.
type settled struct {
	// steps is how many steps each target has; nothing of one that is not in it folds.
	steps   map[state.Target]int
	targets map[state.Target]*settledTarget
	// open are lines that may be folded still, in the order in which they came.
	open []settledLine
}

// settledTarget is how far the steps of a node or cluster are.
type settledTarget struct {
	done, running int
	// began is since when one of them runs, took how long one or several did before.
	began time.Time
	took  time.Duration
	// apart reports whether each step has a line of its own from here on.
	apart bool
}

type settledLine struct {
	target state.Target
	text   string
}

// take takes an event and the lines that it is worth, and returns those that stay.
func (f *settled) take(t *tally, s style, e executor.Event, lines []string) []string {
	switch e.Kind {
	case executor.KindStarted:
		f.target(e.Step.Target).start(e.Time)
	case executor.KindDone:
		return f.doneStep(t, s, e, lines)
	case executor.KindFailed:
		f.target(e.Step.Target).end(e.Time)
		return append(f.leave(t, s, e.Step.Target), lines...)
	case executor.KindStopping:
		return append(f.leaveAll(t, s), lines...)
	}
	return lines
}

func (f *settled) doneStep(t *tally, s style, e executor.Event, lines []string) []string {
	target := e.Step.Target
	n := f.target(target)
	n.end(e.Time)
	n.done++
	if n.apart {
		return lines
	}
	for _, text := range lines {
		f.open = append(f.open, settledLine{target, text})
	}
	switch {
	case n.done < f.steps[target]:
		return nil
	case n.done == 1:
		return f.close(target)
	}
	f.close(target)
	return []string{t.count(s) + Clean(target.String()) + ": " + s.green(plural(n.done, "step")+" done") + " after " + duration(n.took)}
}

// leave gives up waiting for the rest of a target's steps, and returns what stands for
// those that are done.
func (f *settled) leave(t *tally, s style, target state.Target) []string {
	n := f.target(target)
	n.apart = true
	lines := f.close(target)
	if len(lines) < 2 {
		return lines
	}
	indent := strings.Repeat(" ", len("[/] ")+2*len(strconv.Itoa(t.total)))
	return []string{indent + Clean(target.String()) + ": " + s.green(strconv.Itoa(len(lines))+" of "+plural(f.steps[target], "step")+" done") + " after " + duration(n.took)}
}

func (f *settled) leaveAll(t *tally, s style) []string {
	for target := range f.steps {
		f.target(target).apart = true
	}
	var out []string
	for len(f.open) > 0 {
		out = append(out, f.leave(t, s, f.open[0].target)...)
	}
	return out
}

// close takes the lines of a target away and returns them.
func (f *settled) close(target state.Target) []string {
	var lines []string
	f.open = slices.DeleteFunc(f.open, func(l settledLine) bool {
		if l.target == target {
			lines = append(lines, l.text)
		}
		return l.target == target
	})
	return lines
}

func (f *settled) target(t state.Target) *settledTarget {
	if f.targets == nil {
		f.targets = map[state.Target]*settledTarget{}
	}
	if f.targets[t] == nil {
		f.targets[t] = &settledTarget{apart: f.steps[t] == 0}
	}
	return f.targets[t]
}

func (n *settledTarget) start(at time.Time) {
	if n.running == 0 {
		n.began = at
	}
	n.running++
}

func (n *settledTarget) end(at time.Time) {
	n.running--
	if n.running == 0 {
		n.took += at.Sub(n.began)
	}
}
