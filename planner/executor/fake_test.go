package executor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// id returns the address of a step of node n with the given phase.
func id(phase string) state.Address {
	return state.Address{Target: state.NodeTarget("n"), Phase: phase}
}

// step returns a step that writes ops files.
func step(phase string, ops int, needs ...string) planner.Step {
	s := planner.Step{ID: id(phase), Phase: phase, Target: state.NodeTarget("n"), Action: planner.Create}
	for i := range ops {
		s.Operations = append(s.Operations, planner.WriteFile{Path: fmt.Sprintf("/%s/%d", phase, i)})
	}
	for _, n := range needs {
		s.Needs = append(s.Needs, id(n))
	}
	return s
}

// on moves a step and its needs on its own target to another node.
func on(node string, s planner.Step) planner.Step {
	s.Target = state.NodeTarget(node)
	s.ID.Target = s.Target
	for i := range s.Needs {
		s.Needs[i].Target = s.Target
	}
	return s
}

func limited(s planner.Step, limits ...string) planner.Step { s.Limits = limits; return s }

func planOf(steps ...planner.Step) *planner.Plan {
	return &planner.Plan{Lineage: "l1", Serial: 4, Steps: steps}
}

// fakeRunner performs steps by reporting each operation; do overrides that.
type fakeRunner struct {
	// took is how long a step takes, by phase.
	took map[string]time.Duration
	// fail is the error of a step, by phase, after its operations.
	fail map[string]error
	// do replaces all of the above for a phase.
	do map[string]func(context.Context, *planner.Step, executor.Run, func(executor.OpEvent) error) (executor.Result, error)
	// began is called when an operation is actually performed.
	began func(step *planner.Step, op int)
}

func (r *fakeRunner) RunStep(ctx context.Context, s *planner.Step, run executor.Run, report func(executor.OpEvent) error) (executor.Result, error) {
	if do := r.do[s.Phase]; do != nil {
		return do(ctx, s, run, report)
	}
	for i := range s.Operations {
		if err := report(executor.OpEvent{Kind: executor.OpBegin, Op: i}); err != nil {
			return executor.Result{}, err
		}
		if r.began != nil {
			r.began(s, i)
		}
		if err := report(executor.OpEvent{Kind: executor.OpDone, Op: i}); err != nil {
			return executor.Result{}, err
		}
	}
	select {
	case <-time.After(r.took[s.Phase]):
	case <-ctx.Done():
		return executor.Result{}, fmt.Errorf("cannot continue: %w", ctx.Err())
	}
	return executor.Result{}, r.fail[s.Phase]
}

// memoryJournal keeps entries, and fails from entry failAt on (counting from 1).
type memoryJournal struct {
	entries []state.Entry
	calls   int
	failAt  int
	fails   error // errDisk when nil
}

var errDisk = errors.New("no space left on device")

func (j *memoryJournal) Append(e state.Entry) error {
	j.calls++
	if j.failAt > 0 && j.calls >= j.failAt {
		return cmp.Or(j.fails, errDisk)
	}
	j.entries = append(j.entries, e)
	return nil
}

// transcript collects events as text. Times are relative to the first.
type transcript struct {
	text  strings.Builder
	began time.Time
	last  int64
	t     testing.TB
}

func (tr *transcript) sink(e executor.Event) {
	if e.Seq != tr.last+1 {
		tr.t.Errorf("event %d follows event %d", e.Seq, tr.last)
	}
	tr.last = e.Seq
	if tr.began.IsZero() {
		tr.began = e.Time
	}
	fmt.Fprintf(&tr.text, "%5.1fs %d/%d %s", e.Time.Sub(tr.began).Seconds(), e.Done, e.Total, e.Kind)
	if !e.Step.Target.IsZero() {
		fmt.Fprintf(&tr.text, " %s", e.Step.Phase)
	}
	if e.Ops > 0 && e.Kind != executor.KindLog {
		fmt.Fprintf(&tr.text, " %d/%d", e.Op+1, e.Ops)
	}
	if e.Summary != "" {
		fmt.Fprintf(&tr.text, " %q", e.Summary)
	}
	if !e.Cause.Target.IsZero() {
		fmt.Fprintf(&tr.text, " cause=%s", e.Cause.Phase)
	}
	if e.Seconds != 0 {
		fmt.Fprintf(&tr.text, " %.1fs", e.Seconds)
	}
	if e.Err != nil {
		fmt.Fprintf(&tr.text, " err=%q", e.Err)
	}
	tr.text.WriteByte('\n')
}

// golden compares with testdata/NAME.txt; UPDATE=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}
