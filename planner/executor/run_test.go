package executor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

type stepFunc = func(context.Context, *planner.Step, executor.Run, func(executor.OpEvent) error) (executor.Result, error)

func TestOutputsReachLaterSteps(t *testing.T) {
	t.Parallel()
	token := map[string]executor.Output{"token": {Secret: state.NewSecret([]byte("abcdef.0123456789abcdef"))}}
	var seen executor.Output
	var found, early bool
	runner := &fakeRunner{do: map[string]stepFunc{
		"bootstrap-token": func(_ context.Context, _ *planner.Step, run executor.Run, _ func(executor.OpEvent) error) (executor.Result, error) {
			early = len(run.Outputs) > 0
			return executor.Result{Outputs: token}, nil
		},
		"join": func(_ context.Context, _ *planner.Step, run executor.Run, _ func(executor.OpEvent) error) (executor.Result, error) {
			seen, found = run.Outputs.Lookup(state.Pending{Step: id("bootstrap-token").String(), Output: "token"})
			if run.ID != "r1" || run.Token != 8 || run.Lineage != "l1" {
				t.Errorf("run = %s %d %s", run.ID, run.Token, run.Lineage)
			}
			return executor.Result{}, nil
		},
	}}
	j := &memoryJournal{}
	out, err := executor.Execute(t.Context(), planOf(step("bootstrap-token", 0), step("join", 0, "bootstrap-token")), runner, j,
		executor.Options{ID: "r1", Token: 8})
	if err != nil || !out.OK() {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	if early || !found || string(seen.Secret.Reveal()) != "abcdef.0123456789abcdef" {
		t.Errorf("output found %v, early %v", found, early)
	}
	if _, ok := out.Outputs.Lookup(state.Pending{Step: id("bootstrap-token").String(), Output: "token"}); !ok {
		t.Error("the outcome has no outputs")
	}
}

func TestRunJournalEntries(t *testing.T) {
	t.Parallel()
	seen := state.Item{Address: id("a"), Kind: state.KindFile, Attributes: state.Map(nil)}
	runner := &fakeRunner{do: map[string]stepFunc{
		"a": func(_ context.Context, _ *planner.Step, _ executor.Run, report func(executor.OpEvent) error) (executor.Result, error) {
			err := errors.Join(
				report(executor.OpEvent{Kind: executor.OpBegin, Op: 0, Count: 2}),
				report(executor.OpEvent{Kind: executor.OpLog, Text: "still there"}),
				report(executor.OpEvent{Kind: executor.OpOutput, Op: 1, Text: "half"}),
				report(executor.OpEvent{Kind: executor.OpDone, Op: 0, Count: 2, Observed: "sha256:41d0"}),
				report(executor.OpEvent{Kind: executor.OpBegin, Op: 2}))
			return executor.Result{Learned: state.Learned{Items: []state.Item{seen}}, Refused: true}, errors.Join(err, errors.New("timed out"))
		},
	}}
	j := &memoryJournal{}
	var said []string
	if _, err := executor.Execute(t.Context(), planOf(step("a", 3)), runner, j, executor.Options{
		ID: "r1", Token: 8, Who: "me@here", PlanDigest: "sha256:77ab", Resumes: "r0", Partial: true,
		Sink: func(e executor.Event) {
			if e.Kind == executor.KindLog || e.Kind == executor.KindOutput {
				said = append(said, fmt.Sprintf("%s %d/%d %s", e.Kind, e.Op, e.Ops, e.Summary))
			}
		},
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(said, []string{"log 0/3 still there", "output 1/3 half"}) {
		t.Errorf("got summary %q", said)
	}
	e := j.entries
	if len(e) != 5 {
		t.Fatalf("%d entries: %+v", len(e), e)
	}
	if e[0].Kind != state.EntryRun || e[0].Run != "r1" || e[0].Token != 8 || e[0].Lineage != "l1" || e[0].Serial != 4 ||
		e[0].Plan != "sha256:77ab" || e[0].Resumes != "r0" || !e[0].Partial || e[0].Who != "me@here" || e[0].Steps != 1 || e[0].Time.IsZero() {
		t.Errorf("run entry = %+v", e[0])
	}
	if e[1].Kind != state.EntryBegin || *e[1].Op != 0 || e[1].Count != 2 || e[1].Step != id("a").String() {
		t.Errorf("begin entry = %+v", e[1])
	}
	if e[2].Kind != state.EntryDone || *e[2].Op != 0 || e[2].Observed != "sha256:41d0" {
		t.Errorf("done entry = %+v", e[2])
	}
	if e[3].Kind != state.EntryBegin || *e[3].Op != 2 {
		t.Errorf("second begin entry = %+v", e[3])
	}
	if e[4].Kind != state.EntryFailed || e[4].Op != nil || e[4].Error != "timed out" || len(e[4].Learned.Items) != 1 || e[4].Phase != "a" || e[4].Action != "create" || !e[4].Refused {
		t.Errorf("failed entry = %+v", e[4])
	}
}

func TestEmptyPlanWritesNoJournal(t *testing.T) {
	t.Parallel()
	j := &memoryJournal{}
	out, err := executor.Execute(t.Context(), planOf(), &fakeRunner{}, j, executor.Options{})
	if err != nil || !out.OK() || j.calls != 0 {
		t.Errorf("outcome %+v, %v, %d entries", out, err, j.calls)
	}
}

func TestCyclicPlanIsRefused(t *testing.T) {
	t.Parallel()
	j := &memoryJournal{}
	_, err := executor.Execute(t.Context(), planOf(step("a", 0, "b"), step("b", 0, "a")), &fakeRunner{}, j, executor.Options{})
	if err == nil || !strings.Contains(err.Error(), "node.n/a → node.n/b → node.n/a") || j.calls != 0 {
		t.Errorf("error = %v, %d entries", err, j.calls)
	}
}

// TestRunnerFaultBecomesStepError checks that a fault of a runner becomes an error of its step.
func TestRunnerFaultBecomesStepError(t *testing.T) {
	t.Parallel()
	leaked := make(chan func(executor.OpEvent) error, 1)
	for name, c := range map[string]struct {
		do      stepFunc
		want    string
		stopped bool
	}{
		"panic": {func(context.Context, *planner.Step, executor.Run, func(executor.OpEvent) error) (executor.Result, error) {
			panic("index out of range")
		}, "internal error: panic: index out of range", true},
		"exit": {func(context.Context, *planner.Step, executor.Run, func(executor.OpEvent) error) (executor.Result, error) {
			runtime.Goexit()
			return executor.Result{}, nil
		}, "internal error: the step left without an answer", false},
		"range": {func(_ context.Context, _ *planner.Step, _ executor.Run, report func(executor.OpEvent) error) (executor.Result, error) {
			return executor.Result{}, report(executor.OpEvent{Kind: executor.OpBegin, Op: 0, Count: 2})
		}, "internal error: node.n/a reports operations 0 to 1 of 1", false},
		"late": {func(_ context.Context, _ *planner.Step, _ executor.Run, report func(executor.OpEvent) error) (executor.Result, error) {
			leaked <- report
			return executor.Result{}, errors.New("gone")
		}, "gone", false},
	} {
		runner := &fakeRunner{do: map[string]stepFunc{"a": c.do}}
		out, err := executor.Execute(t.Context(), planOf(step("a", 1), step("b", 0, "a"), step("c", 0)), runner, &memoryJournal{},
			executor.Options{Parallelism: 1})
		if err != nil || out.Steps[0].Err == nil || out.Steps[0].Err.Error() != c.want {
			t.Errorf("%s: error %v, outcome %+v", name, err, out)
			continue
		}
		if out.Steps[1].Cause != id("a") || out.Stopped != c.stopped {
			t.Errorf("%s: outcome %+v, want stopped %v", name, out, c.stopped)
		}
	}
	if err := (<-leaked)(executor.OpEvent{Kind: executor.OpBegin}); err == nil {
		t.Error("a report after the end of its step was accepted")
	}
}

// TestJournalFailureStartsNoOperation checks, for a failure at each line of the journal, that no operation is
// performed whose begin was not journalled, and that no further step starts.
func TestJournalFailureStartsNoOperation(t *testing.T) {
	t.Parallel()
	plan := planOf(step("a", 2), step("b", 1, "a"), step("c", 1))
	for failAt := 1; ; failAt++ {
		j := &memoryJournal{failAt: failAt}
		var performed []string
		runner := &fakeRunner{began: func(s *planner.Step, op int) {
			if !slices.ContainsFunc(j.entries, func(e state.Entry) bool {
				return e.Kind == state.EntryBegin && e.Step == s.ID.String() && *e.Op == op
			}) {
				performed = append(performed, s.Phase)
			}
		}}
		out, err := executor.Execute(t.Context(), plan, runner, j, executor.Options{Parallelism: 1})
		if len(performed) > 0 {
			t.Fatalf("failing line %d: performed without a line: %v", failAt, performed)
		}
		if err == nil {
			if !out.OK() || j.calls < 12 {
				t.Fatalf("without a failure: %+v after %d lines", out, j.calls)
			}
			return
		}
		if !errors.Is(err, errDisk) || j.calls != failAt {
			t.Fatalf("failing line %d: error %v after %d lines", failAt, err, j.calls)
		}
	}
}

// TestClockStaysBusyBetweenSteps checks that a step counts as busy at every moment from the first
// step to the last, although the outcome of a step is journalled before the next one starts.
func TestClockStaysBusyBetweenSteps(t *testing.T) {
	t.Parallel()
	var busy, started atomic.Int64
	journal := journalFunc(func(e state.Entry) error {
		if e.Kind != state.EntryRun && busy.Load() == 0 {
			t.Errorf("no step is busy while %s of %s is journalled", e.Kind, e.Step)
		}
		return nil
	})
	plan := planOf(step("a", 1), step("b", 1, "a"), step("c", 1, "b"), step("d", 1, "c"))
	_, err := executor.Execute(t.Context(), plan, &fakeRunner{fail: map[string]error{"c": errors.New("it failed")}}, journal, executor.Options{
		Busy: func(ctx context.Context) (context.Context, func()) {
			if busy.Add(1) == 1 && started.Add(1) > 1 {
				t.Error("no step was busy when another one started")
			}
			return ctx, func() { busy.Add(-1) }
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := busy.Load(); n != 0 || started.Load() != 1 {
		t.Errorf("%d are busy after the end, and busy periods began %d times", n, started.Load())
	}
}

type journalFunc func(state.Entry) error

func (f journalFunc) Append(e state.Entry) error { return f(e) }
