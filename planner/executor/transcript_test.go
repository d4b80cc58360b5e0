package executor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
)

type scenario struct {
	plan   *planner.Plan
	runner *fakeRunner
	opts   executor.Options
	// stopAt and cancelAt are the times of the first and second interrupt; 0 for never.
	stopAt, cancelAt time.Duration
	// holdAt is when Hold begins to refuse; 0 for never.
	holdAt time.Duration
	failAt int
	fails  error
}

// play runs a scenario in virtual time and returns its events as text.
func play(t *testing.T, sc scenario) (text string, out *executor.Outcome, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tr := &transcript{t: t}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stop := make(chan struct{})
		opts := sc.opts
		opts.ID, opts.Token, opts.Sink, opts.Stop = "r1", 8, tr.sink, stop
		if began := time.Now(); sc.holdAt > 0 {
			opts.Hold = func() string {
				if time.Since(began) < sc.holdAt {
					return ""
				}
				return "frozen until Monday"
			}
		}
		if sc.stopAt > 0 {
			defer time.AfterFunc(sc.stopAt, func() { close(stop) }).Stop()
		}
		if sc.cancelAt > 0 {
			defer time.AfterFunc(sc.cancelAt, cancel).Stop()
		}
		out, err = executor.Execute(ctx, sc.plan, sc.runner, &memoryJournal{failAt: sc.failAt, fails: sc.fails}, opts)
		text = tr.text.String()
	})
	return text, out, err
}

func TestRunTranscripts(t *testing.T) {
	two := planOf(step("prepare", 2), step("certs", 1, "prepare"), step("images", 0), step("control-plane", 1, "certs", "images"))
	took := map[string]time.Duration{"prepare": 3 * time.Second, "certs": time.Second, "images": 25 * time.Second, "control-plane": 2 * time.Second}
	for name, sc := range map[string]scenario{
		"success": {plan: two, runner: &fakeRunner{took: took}},
		"empty":   {plan: planOf(), runner: &fakeRunner{}},
		"failure": {plan: two, runner: &fakeRunner{took: took, fail: map[string]error{"certs": errors.New("cannot write /certs/0: read-only file system")}}},
		"failure-stop": {
			plan: planOf(step("a", 0), step("b", 0), step("c", 0, "b")), opts: executor.Options{OnError: executor.Stop},
			runner: &fakeRunner{took: map[string]time.Duration{"b": time.Second}, fail: map[string]error{"a": errors.New("broken")}},
		},
		"failure-finish-node": { // drained is brought back, waiting is not begun
			plan: planOf(step("broken", 0), on("drained", step("drain", 0)), on("drained", step("uncordon", 0, "drain")), limited(on("waiting", step("wait", 0)), "turns"),
				limited(on("drained", step("hold", 0)), "turns")),
			opts:   executor.Options{OnError: executor.FinishNode, Parallelism: 2},
			runner: &fakeRunner{took: map[string]time.Duration{"broken": time.Second, "drain": 2 * time.Second, "uncordon": time.Second}, fail: map[string]error{"broken": errors.New("broken")}},
		},
		"held":            {plan: two, runner: &fakeRunner{took: took}, holdAt: 2 * time.Second},
		"held-at-its-end": {plan: two, runner: &fakeRunner{took: took}, holdAt: 26 * time.Second},
		"interrupt":       {plan: two, runner: &fakeRunner{took: took}, stopAt: 1500 * time.Millisecond},
		"interrupt-twice": {plan: two, runner: &fakeRunner{took: took}, stopAt: 1500 * time.Millisecond, cancelAt: 4 * time.Second},
		"journal":         {plan: two, runner: &fakeRunner{took: took}, failAt: 4, opts: executor.Options{Parallelism: 1}},
		"lock-lost":       {plan: two, runner: &fakeRunner{took: took}, failAt: 4, fails: &executor.StopError{Err: errors.New("somebody has ended this run's lock")}, opts: executor.Options{Parallelism: 1}},
		"no-journal":      {plan: two, runner: &fakeRunner{took: took}, failAt: 1},
		"limits": {
			runner: &fakeRunner{took: map[string]time.Duration{"a": time.Second, "b": time.Second, "c": 1500 * time.Millisecond}},
			plan:   planOf(limited(step("a", 0), "member"), limited(step("b", 0), "member"), step("c", 0)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, _, _ := play(t, sc)
			golden(t, name, text)
		})
	}
}

func TestRunOutcomeCountsSteps(t *testing.T) {
	broken := errors.New("broken")
	_, out, err := play(t, scenario{
		plan:   planOf(step("a", 0), step("b", 0, "a"), step("c", 0, "b"), step("d", 0), step("e", 0, "d")),
		runner: &fakeRunner{took: map[string]time.Duration{"a": time.Second, "d": 3 * time.Second}, fail: map[string]error{"a": broken}},
		stopAt: 2 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.OK() || !out.Stopped || out.Done != 1 || out.Failed != 1 || out.Skipped != 2 || out.Cancelled != 1 || out.Seconds != 3 {
		t.Errorf("outcome = %+v", out)
	}
	want := []executor.StepOutcome{
		{Step: id("a"), Status: executor.StatusFailed, Seconds: 1, Err: broken},
		{Step: id("b"), Status: executor.StatusSkipped, Cause: id("a")},
		{Step: id("c"), Status: executor.StatusSkipped, Cause: id("a")},
		{Step: id("d"), Status: executor.StatusDone, Seconds: 3},
		{Step: id("e"), Status: executor.StatusCancelled},
	}
	for i, got := range out.Steps {
		if got != want[i] {
			t.Errorf("step %d = %+v, want %+v", i, got, want[i])
		}
	}
}

func TestStepsWaitOnlyForTheirNeeds(t *testing.T) {
	// quick-2 needs only quick-1 and must not wait for slow, which began with it.
	_, out, err := play(t, scenario{
		plan: planOf(step("slow", 0), step("quick-1", 0), step("quick-2", 0, "quick-1"), step("quick-3", 0, "quick-2")),
		runner: &fakeRunner{took: map[string]time.Duration{
			"slow": 9 * time.Second, "quick-1": 3 * time.Second, "quick-2": 3 * time.Second, "quick-3": 3 * time.Second,
		}},
	})
	if err != nil || out.Seconds != 9 {
		t.Errorf("took %v seconds, %v, want 9", out.Seconds, err)
	}
}

func TestLongestPathStartsFirst(t *testing.T) {
	_, out, err := play(t, scenario{
		plan:   planOf(step("a", 0), step("b", 0), step("long", 0)),
		opts:   executor.Options{Parallelism: 2, Durations: map[string]float64{"long/create": 10, "a/create": 5, "b/create": 5}},
		runner: &fakeRunner{took: map[string]time.Duration{"a": 5 * time.Second, "b": 5 * time.Second, "long": 10 * time.Second}},
	})
	if err != nil || out.Seconds != 10 {
		t.Errorf("took %v seconds, %v, want 10", out.Seconds, err)
	}
}
