package executor_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// TestCleanupStepRunsWhateverTheOutcome checks that a cleanup step runs whatever the outcome of its needs, even when
// the run is stopped; but not if none of its needs was begun, nor after a cancellation or a lost
// lock.
func TestCleanupStepRunsWhateverTheOutcome(t *testing.T) {
	t.Parallel()
	stop := func(plan *planner.Plan, at string, run context.CancelFunc) (*fakeRunner, chan struct{}) {
		stopped := make(chan struct{})
		return &fakeRunner{do: map[string]stepFunc{at: func(context.Context, *planner.Step, executor.Run, func(executor.OpEvent) error) (executor.Result, error) {
			close(stopped)
			if run != nil {
				run()
			}
			return executor.Result{}, nil
		}}}, stopped
	}
	lock := errors.New("taken over")
	for name, test := range map[string]struct {
		fail          map[string]error
		stopAt        string // the step in which the run is interrupted
		cancel        bool   // twice
		onError       executor.OnError
		cleanup, want executor.Status // the outcome of the cleanup, and of the step after b
	}{
		"all done":               {cleanup: executor.StatusDone, want: executor.StatusDone},
		"one failed":             {fail: map[string]error{"a": lock}, cleanup: executor.StatusDone, want: executor.StatusDone},
		"one failed, stop":       {fail: map[string]error{"a": lock}, onError: executor.Stop, cleanup: executor.StatusDone, want: executor.StatusCancelled},
		"one failed, finish":     {fail: map[string]error{"a": lock}, onError: executor.FinishNode, cleanup: executor.StatusDone, want: executor.StatusDone},
		"all failed":             {fail: map[string]error{"a": lock, "b": lock}, cleanup: executor.StatusDone, want: executor.StatusSkipped},
		"none begun":             {fail: map[string]error{"before": lock}, cleanup: executor.StatusSkipped, want: executor.StatusSkipped},
		"interrupted":            {stopAt: "a", cleanup: executor.StatusDone, want: executor.StatusCancelled},
		"interrupted before any": {stopAt: "before", cleanup: executor.StatusCancelled, want: executor.StatusCancelled},
		"interrupted twice":      {stopAt: "a", cancel: true, cleanup: executor.StatusCancelled, want: executor.StatusCancelled},
		"another run has begun":  {fail: map[string]error{"a": &executor.StopError{Err: lock}}, cleanup: executor.StatusCancelled, want: executor.StatusCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			last := step("cleanup", 0, "a", "b", "b2")
			last.Finally = true
			plan := planOf(step("before", 0), step("a", 0, "before"), step("b", 0, "before"), step("b2", 0, "b"), last)
			runner := &fakeRunner{fail: test.fail}
			var stopped chan struct{}
			if test.stopAt != "" {
				end := context.CancelFunc(nil)
				if test.cancel {
					end = cancel
				}
				runner, stopped = stop(plan, test.stopAt, end)
			}
			out, err := executor.Execute(ctx, plan, runner, &memoryJournal{}, executor.Options{OnError: test.onError, Stop: stopped, Parallelism: 1})
			if err != nil {
				t.Fatal(err)
			}
			became := func(phase string) executor.Status {
				i := slices.IndexFunc(out.Steps, func(s executor.StepOutcome) bool {
					return s.Step == (state.Address{Target: state.NodeTarget("n"), Phase: phase})
				})
				return out.Steps[i].Status
			}
			if became("cleanup") != test.cleanup || became("b2") != test.want {
				t.Errorf("cleanup is %s, want %s; b2 is %s, want %s", became("cleanup"), test.cleanup, became("b2"), test.want)
			}
		})
	}
}
