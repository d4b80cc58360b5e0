package progress

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// folding folds what is done: the lines of a node's steps, or of a cluster's, stand
// until all of them are done, and then one line for all. Of a run that comes to
// another end one line says how many were. What has failed is never folded.
type folding struct {
	// steps is how many steps each target has; nothing of one that is not in it folds.
	steps   map[state.Target]int
	targets map[state.Target]*foldingTarget
	// open are lines that may be folded still, in the order in which they came.
	open []foldedLine
}

// foldingTarget is how far the steps of a node or cluster are.
type foldingTarget struct {
	done, running int
	// began is since when one of them runs, took how long one or several did before.
	began time.Time
	took  time.Duration
	// unfolded reports whether each step has a line of its own from here on.
	unfolded bool
}

type foldedLine struct {
	target state.Target
	text   string
}

// take takes an event and the lines that it is worth, and returns those that stay.
func (f *folding) take(t *tally, s ui.Style, e executor.Event, lines []string) []string {
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

func (f *folding) doneStep(t *tally, s ui.Style, e executor.Event, lines []string) []string {
	target := e.Step.Target
	n := f.target(target)
	n.end(e.Time)
	n.done++
	if n.unfolded {
		return lines
	}
	for _, text := range lines {
		f.open = append(f.open, foldedLine{target, text})
	}
	switch {
	case n.done < f.steps[target]:
		return nil
	case n.done == 1:
		return f.close(target)
	}
	f.close(target)
	return []string{t.count(s) + ui.Clean(target.String()) + ": " + s.Green(ui.Plural(n.done, "step")+" done") + " after " + ui.Duration(n.took)}
}

// leave gives up waiting for the rest of a target's steps, and returns what stands for
// those that are done.
func (f *folding) leave(t *tally, s ui.Style, target state.Target) []string {
	n := f.target(target)
	n.unfolded = true
	lines := f.close(target)
	if len(lines) < 2 {
		return lines
	}
	indent := strings.Repeat(" ", len("[/] ")+2*len(strconv.Itoa(t.total)))
	return []string{indent + ui.Clean(target.String()) + ": " + s.Green(strconv.Itoa(len(lines))+" of "+ui.Plural(f.steps[target], "step")+" done") + " after " + ui.Duration(n.took)}
}

func (f *folding) leaveAll(t *tally, s ui.Style) []string {
	for target := range f.steps {
		f.target(target).unfolded = true
	}
	var out []string
	for len(f.open) > 0 {
		out = append(out, f.leave(t, s, f.open[0].target)...)
	}
	return out
}

// close takes the lines of a target away and returns them.
func (f *folding) close(target state.Target) []string {
	var lines []string
	f.open = slices.DeleteFunc(f.open, func(l foldedLine) bool {
		if l.target == target {
			lines = append(lines, l.text)
		}
		return l.target == target
	})
	return lines
}

func (f *folding) target(t state.Target) *foldingTarget {
	if f.targets == nil {
		f.targets = map[state.Target]*foldingTarget{}
	}
	if f.targets[t] == nil {
		f.targets[t] = &foldingTarget{unfolded: f.steps[t] == 0}
	}
	return f.targets[t]
}

func (n *foldingTarget) start(at time.Time) {
	if n.running == 0 {
		n.began = at
	}
	n.running++
}

func (n *foldingTarget) end(at time.Time) {
	n.running--
	if n.running == 0 {
		n.took += at.Sub(n.began)
	}
}
