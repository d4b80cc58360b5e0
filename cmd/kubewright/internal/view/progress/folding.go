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

// folding folds finished steps: the lines of a node's or a cluster's steps stay until all of
// them are done, and are then replaced by one. If the run ends earlier, one line has the number
// of finished ones. A failed step is never folded.
type folding struct {
	// steps is the number of steps of each target; a target that is not in it is not folded.
	steps   map[state.Target]int
	targets map[state.Target]*foldingTarget
	// open are the lines that may still be folded, in the order of their events.
	open []foldedLine
}

// foldingTarget is the progress of a node or cluster.
type foldingTarget struct {
	done, running int
	// began is when the first of the running steps began; took is how long steps ran before that.
	began time.Time
	took  time.Duration
	// unfolded reports whether each further step keeps its own line.
	unfolded bool
}

type foldedLine struct {
	target state.Target
	text   string
}

// take takes an event with the lines that describe it, and returns those that stay.
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

// leave stops waiting for the rest of a target's steps, and returns the line for those that are
// done.
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

// close removes the lines of a target and returns them.
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
