package executor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// witness is a runner, a journal and a sink that check the rules of a run where each is called: the
// runner from many goroutines, the others from one.
type witness struct {
	plan   *planner.Plan
	fails  map[state.Address]bool
	stopAt int64
	stop   chan struct{}
	max    int

	mu      sync.Mutex
	running map[state.Address]*planner.Step
	faults  []string
	begun   map[string]bool
	appends int
	failAt  int

	done, failed map[state.Address]bool
	stopped      bool
	started      int
}

func (w *witness) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *witness) enter(s *planner.Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[s.ID] = s
	if len(w.running) > w.max {
		w.fault("%d steps run at once, allowed are %d", len(w.running), w.max)
	}
	used := map[string]int{}
	for _, r := range w.running {
		for _, name := range r.Limits {
			if used[name]++; used[name] > max(w.plan.Limits[name], 1) {
				w.fault("limit %s is exceeded", name)
			}
		}
	}
}

func (w *witness) leave(s *planner.Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, s.ID)
}

func (w *witness) perform(s *planner.Step, op int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun[fmt.Sprint(s.ID, op)] {
		w.fault("%s performed operation %d without a line in the journal", s.ID, op)
	}
}

func (w *witness) RunStep(_ context.Context, s *planner.Step, _ executor.Run, report func(executor.OpEvent) error) (executor.Result, error) {
	w.enter(s)
	defer w.leave(s)
	for i := range s.Operations {
		if err := report(executor.OpEvent{Kind: executor.OpBegin, Op: i}); err != nil {
			return executor.Result{}, err
		}
		w.perform(s, i)
		runtime.Gosched()
		if err := report(executor.OpEvent{Kind: executor.OpDone, Op: i}); err != nil {
			return executor.Result{}, err
		}
	}
	if w.fails[s.ID] {
		return executor.Result{}, errors.New("broken")
	}
	return executor.Result{}, nil
}

func (w *witness) Append(e state.Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.appends++; w.failAt > 0 && w.appends >= w.failAt {
		return errDisk
	}
	if e.Kind == state.EntryBegin {
		a, err := state.ParseAddress(e.Step)
		if err != nil {
			w.fault("step of an entry: %v", err)
		}
		w.begun[fmt.Sprint(a, *e.Op)] = true
	}
	return nil
}

func (w *witness) sink(e executor.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Kind {
	case executor.KindStarted:
		w.started++
		if w.stopped {
			w.fault("%s started after the stop", e.Step)
		}
		for _, need := range w.plan.Step(e.Step).Needs {
			if !w.done[need] {
				w.fault("%s started before %s was done", e.Step, need)
			}
		}
	case executor.KindDone:
		w.done[e.Step] = true
	case executor.KindFailed:
		w.failed[e.Step] = true
	case executor.KindSkipped:
		if !w.failed[e.Cause] {
			w.fault("%s skipped because of %s, which has not failed", e.Step, e.Cause)
		}
	case executor.KindStopping:
		w.stopped = true
	}
	if e.Seq == w.stopAt {
		close(w.stop)
		w.stopped = true
	}
}

func drawWitness(t *rapid.T) *witness {
	w := &witness{
		fails: map[state.Address]bool{}, stop: make(chan struct{}),
		running: map[state.Address]*planner.Step{}, begun: map[string]bool{},
		done: map[state.Address]bool{}, failed: map[state.Address]bool{},
		max:    rapid.IntRange(1, 4).Draw(t, "parallelism"),
		stopAt: int64(rapid.SampledFrom([]int{0, 0, 1, 3, 5, 9}).Draw(t, "stop at event")),
		failAt: rapid.SampledFrom([]int{0, 0, 0, 1, 4, 7}).Draw(t, "journal fails at line"),
		plan:   &planner.Plan{Limits: map[string]int{"two": 2}},
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "steps") {
		s := step(fmt.Sprintf("p%d", i), rapid.IntRange(0, 2).Draw(t, "operations"))
		if i > 0 {
			for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(i, 3), rapid.ID[int]).Draw(t, "needs") {
				s.Needs = append(s.Needs, id(fmt.Sprintf("p%d", n)))
			}
		}
		s.Limits = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"one", "two"}), 0, 2, rapid.ID[string]).Draw(t, "limits")
		w.fails[s.ID] = rapid.IntRange(0, 5).Draw(t, "fails") == 0
		w.plan.Steps = append(w.plan.Steps, s)
	}
	return w
}

// TestRunProperty checks that a run keeps its rules, whatever fails and whenever it is stopped.
func TestRunProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWitness(t)
		out, err := executor.Execute(context.Background(), w.plan, w, w,
			executor.Options{Parallelism: w.max, Stop: w.stop, Sink: w.sink})
		if len(w.faults) > 0 {
			t.Fatalf("%v", w.faults)
		}
		if (err != nil) != (w.failAt > 0 && w.appends >= w.failAt) {
			t.Fatalf("error %v after %d lines, of which %d should have failed", err, w.appends, w.failAt)
		}
		w.check(t, out)
	})
}

func (w *witness) check(t *rapid.T, out *executor.Outcome) {
	if len(out.Steps) != len(w.plan.Steps) || out.Done+out.Failed+out.Skipped+out.Cancelled != len(out.Steps) || out.Done+out.Failed != w.started {
		t.Fatalf("counts do not add up: %+v", out)
	}
	for i, s := range out.Steps {
		hindered := slices.ContainsFunc(w.plan.Steps[i].Needs, func(n state.Address) bool {
			at := slices.IndexFunc(out.Steps, func(o executor.StepOutcome) bool { return o.Step == n })
			return out.Steps[at].Status == executor.StatusFailed || out.Steps[at].Status == executor.StatusSkipped
		})
		if hindered != (s.Status == executor.StatusSkipped) {
			t.Fatalf("%s is %s, hindered %v", s.Step, s.Status, hindered)
		}
		if s.Status == executor.StatusCancelled && !w.stopped {
			t.Fatalf("%s was cancelled without a stop", s.Step)
		}
	}
}
