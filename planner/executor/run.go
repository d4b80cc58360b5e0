package executor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/dag"
	"github.com/kubewright/kubewright/state"
)

// Execute runs the steps of the plan and returns when none is running any more. The Outcome holds
// the outcome of each step. The error says why the run itself could not begin or continue: the plan
// is not runnable (then nothing was done, and the Outcome is nil) or the journal could not be
// written.
func Execute(ctx context.Context, plan *planner.Plan, runner Runner, journal Journal, opts Options) (*Outcome, error) {
	x, err := newExecution(plan, runner, journal, opts)
	if err != nil {
		return nil, err
	}
	return x.run(ctx)
}

// execution is one run. The goroutine of Execute owns it; workers reach it only through the two
// channels.
type execution struct {
	plan    *planner.Plan
	runner  Runner
	journal Journal
	opts    Options

	frontier *dag.Frontier[state.Address]
	steps    map[state.Address]*tracked
	// running are the steps under way, in the order of the plan.
	running []*tracked
	// ended are the steps that have ended since the last start.
	ended []*tracked
	// stopping reports that no further step starts.
	stopping bool
	// begun are the targets of steps that were started; with finishing set, no further target is
	// begun.
	begun     map[state.Target]bool
	finishing bool
	// interrupt and cancelled are the two interrupts, nil once handled.
	interrupt, cancelled <-chan struct{}
	// broken is why the journal can no longer be written.
	broken error
	// overtaken reports whether a *StopError occurred.
	overtaken bool
	outputs   Outputs
	seq       int64
	began     time.Time

	reports     chan reportRequest
	completions chan completion
}

// tracked is a step of the plan with its progress.
type tracked struct {
	step     *planner.Step
	place    int // in the plan
	outcome  StepOutcome
	began    time.Time
	nextBeat time.Time
	// rest is the function that Options.Busy returned.
	rest func()
}

// compare orders steps in plan order.
func (t *tracked) compare(u *tracked) int { return t.place - u.place }

// completion is what a worker sends when its step has ended.
type completion struct {
	step   state.Address
	result Result
	err    error
}

// reportRequest is a worker's request to journal a report; the worker waits for the answer.
type reportRequest struct {
	step   state.Address
	event  OpEvent
	answer chan error
}

func newExecution(plan *planner.Plan, runner Runner, journal Journal, opts Options) (*execution, error) {
	opts = opts.withDefaults()
	steps := make(map[state.Address]*tracked, len(plan.Steps))
	for i := range plan.Steps {
		s := &plan.Steps[i]
		steps[s.ID] = &tracked{step: s, place: i, outcome: StepOutcome{Step: s.ID}}
	}
	frontier, err := dag.NewFrontier(nodesOf(plan, opts.Durations), plan.Limits)
	if err != nil {
		return nil, fmt.Errorf("internal error: cannot run the plan: %w", err)
	}
	return &execution{
		plan: plan, runner: runner, journal: journal, opts: opts,
		frontier: frontier, steps: steps, outputs: Outputs{}, begun: map[state.Target]bool{},
		reports: make(chan reportRequest), completions: make(chan completion),
	}, nil
}

func (o Options) withDefaults() Options {
	if o.Parallelism < 1 {
		o.Parallelism = DefaultParallelism
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sink == nil {
		o.Sink = func(Event) {}
	}
	if o.Busy == nil {
		o.Busy = func(ctx context.Context) (context.Context, func()) { return ctx, func() {} }
	}
	return o
}

func (x *execution) run(ctx context.Context) (*Outcome, error) {
	x.began = x.opts.Now()
	x.emit(Event{Kind: KindRun})
	if len(x.plan.Steps) > 0 {
		x.append(state.Entry{
			Kind: state.EntryRun, Run: x.opts.ID, Token: x.opts.Token, Lineage: x.plan.Lineage,
			Serial: x.plan.Serial, Plan: x.opts.PlanDigest, Resumes: x.opts.Resumes, Partial: x.opts.Partial,
			Who: x.opts.Who, Steps: len(x.plan.Steps), Job: x.opts.Job, Learned: x.opts.Learned,
		})
	}
	x.loop(ctx)
	x.cancelRest()
	seconds := x.since(x.began)
	x.emit(Event{Kind: KindFinished, Seconds: seconds, Err: x.broken})
	return x.outcome(seconds), x.broken
}

// loop starts ready steps and handles their reports and completions until no step runs.
func (x *execution) loop(ctx context.Context) {
	x.interrupt, x.cancelled = x.opts.Stop, ctx.Done()
	for {
		x.startReady(ctx)
		for _, t := range x.ended {
			t.rest()
		}
		x.ended = nil
		if len(x.running) == 0 && !x.startFinally(ctx) {
			return
		}
		beat, release := x.nextBeat()
		select {
		case r := <-x.reports:
			r.answer <- x.report(r.step, r.event)
		case c := <-x.completions:
			x.complete(c)
		case <-x.interrupt: // handled by startReady
		case <-x.cancelled:
		case <-beat:
			x.heartbeat()
		}
		release()
	}
}

// heed checks both interrupts, and asks Hold whether the run may continue. It is called before
// every start, so that a completion that arrives together with an interrupt starts nothing. A
// channel that has fired is set to nil, which select never chooses again.
func (x *execution) heed(ctx context.Context) {
	select {
	case <-x.interrupt:
		x.interrupt = nil
		x.stop("interrupted")
	default:
	}
	if x.cancelled != nil && ctx.Err() != nil {
		x.cancelled = nil
		x.stop(context.Cause(ctx).Error())
	}
	left := x.frontier.Count(dag.Pending) + x.frontier.Count(dag.Ready)
	if x.stopping || x.opts.Hold == nil || left == 0 {
		return
	}
	if why := x.opts.Hold(); why != "" {
		x.stop(why)
	}
}

func (x *execution) stop(why string) {
	if x.stopping {
		return
	}
	x.stopping = true
	x.emit(Event{Kind: KindStopping, Summary: why})
}

func (x *execution) startReady(ctx context.Context) {
	for x.heed(ctx); !x.stopping && len(x.running) < x.opts.Parallelism; x.heed(ctx) {
		id, ok := x.frontier.NextOf(x.mayStart)
		if !ok {
			return
		}
		x.start(ctx, x.steps[id])
	}
}

// startFinally starts, when no other step runs or may start, the steps that clean up after those
// that ran, even after a stop, and reports whether any step runs. It starts nothing if the run was
// cancelled or overtaken, or cannot write its journal.
func (x *execution) startFinally(ctx context.Context) bool {
	if x.overtaken || x.broken != nil || ctx.Err() != nil {
		return false
	}
	x.frontier.Close()
	for len(x.running) < x.opts.Parallelism {
		id, ok := x.frontier.Next()
		if !ok {
			break
		}
		x.start(ctx, x.steps[id])
	}
	return len(x.running) > 0
}

func (x *execution) start(ctx context.Context, t *tracked) {
	x.begun[t.step.Target] = true
	t.began = x.opts.Now()
	t.nextBeat = t.began.Add(x.opts.Heartbeat)
	t.outcome.Start = t.began.Sub(x.began).Seconds()
	at, _ := slices.BinarySearchFunc(x.running, t, (*tracked).compare)
	x.running = slices.Insert(x.running, at, t)
	x.emit(Event{Kind: KindStarted, Step: t.step.ID})
	working, rest := x.opts.Busy(ctx)
	t.rest = rest
	go x.work(working, t.step, Run{
		ID: x.opts.ID, Token: x.opts.Token, Lineage: x.plan.Lineage,
		Outputs: maps.Clone(x.outputs), // the owner keeps adding to its own copy
	})
}

// complete settles a step that has ended: journal first, then the events, and only then its
// dependants.
func (x *execution) complete(c completion) {
	t := x.steps[c.step]
	x.running = slices.DeleteFunc(x.running, func(r *tracked) bool { return r == t })
	x.ended = append(x.ended, t)
	t.outcome.Seconds = x.since(t.began)
	entry := state.Entry{
		Kind: state.EntryDone, Step: c.step.String(), Learned: c.result.Learned,
		Phase: t.step.Phase, Action: string(t.step.Action), Seconds: t.outcome.Seconds,
	}
	if c.err != nil {
		entry.Kind, entry.Error, entry.Refused = state.EntryFailed, c.err.Error(), c.result.Refused
	}
	x.append(entry) // a failure stops the run, but the step was done
	if c.err != nil {
		x.failed(t, c.err)
		return
	}
	t.outcome.Status = StatusDone
	if len(c.result.Outputs) > 0 {
		x.outputs[c.step.String()] = maps.Clone(c.result.Outputs)
	}
	x.frontier.Done(c.step)
	x.emit(Event{Kind: KindDone, Step: c.step, Seconds: t.outcome.Seconds})
}

func (x *execution) failed(t *tracked, err error) {
	id := t.step.ID
	t.outcome.Status, t.outcome.Err = StatusFailed, err
	x.overtaken = x.overtaken || errors.As(err, new(*StopError))
	skipped := x.frontier.Fail(id)
	x.emit(Event{Kind: KindFailed, Step: id, Seconds: t.outcome.Seconds, Err: err})
	for _, s := range skipped {
		x.steps[s].outcome.Status, x.steps[s].outcome.Cause = StatusSkipped, id
		x.emit(Event{Kind: KindSkipped, Step: s, Cause: id})
	}
	switch {
	case x.opts.OnError == Stop || endsRun(err):
		x.stop(fmt.Sprintf("%s failed", id))
	case x.opts.OnError == FinishNode && !x.finishing:
		x.finishing = true
		x.emit(Event{Kind: KindLog, Step: id, Summary: "failed: what was begun on other nodes is finished there, and no other node is begun"})
	}
}

// mayStart reports whether a ready step may start after earlier failures.
func (x *execution) mayStart(id state.Address) bool {
	step := x.steps[id].step
	return !x.finishing || x.begun[step.Target] || step.Finally
}

// report journals what a worker is about to do or has done, then emits the event.
func (x *execution) report(id state.Address, e OpEvent) error {
	if x.frontier.Status(id) != dag.Running {
		return errEnded
	}
	ops := x.steps[id].step.Operations
	switch e.Kind {
	case OpLog:
		x.emit(Event{Kind: KindLog, Step: id, Op: e.Op, Ops: len(ops), Summary: e.Text})
		return nil
	case OpOutput:
		x.emit(Event{Kind: KindOutput, Step: id, Op: e.Op, Ops: len(ops), Summary: e.Text})
		return nil
	}
	count := max(e.Count, 1)
	if e.Op < 0 || e.Op+count > len(ops) {
		return fmt.Errorf("internal error: %s reports operations %d to %d of %d", id, e.Op, e.Op+count-1, len(ops))
	}
	entry := state.Entry{Kind: state.EntryDone, Step: id.String(), Op: new(e.Op), Count: e.Count, Observed: e.Observed, Learned: e.Learned}
	kind := KindOpDone
	if e.Kind == OpBegin {
		entry.Kind, kind = state.EntryBegin, KindOp
	}
	if err := x.append(entry); err != nil {
		return err
	}
	for i := e.Op; i < e.Op+count; i++ {
		x.emit(Event{Kind: kind, Step: id, Op: i, Ops: len(ops), Summary: ops[i].Summary()})
	}
	return nil
}

// append writes to the journal. The first failure is final: the run does not write to it again, and
// no further step begins.
func (x *execution) append(e state.Entry) error {
	if x.broken != nil {
		return x.broken
	}
	e.Time = x.opts.Now()
	err := x.journal.Append(e)
	switch {
	case err == nil:
	case errors.As(err, new(*StopError)):
		x.broken, x.overtaken = err, true
		x.stop("the lock of this run was lost")
	default:
		x.broken = fmt.Errorf("cannot write the journal: %w", err)
		x.stop("the journal cannot be written")
	}
	return x.broken
}

// cancelRest settles the steps that were never started.
func (x *execution) cancelRest() {
	for i := range x.plan.Steps {
		t := x.steps[x.plan.Steps[i].ID]
		if t.outcome.Status == "" {
			t.outcome.Status = StatusCancelled
			x.emit(Event{Kind: KindCancelled, Step: t.step.ID})
		}
	}
}

func (x *execution) outcome(seconds float64) *Outcome {
	o := &Outcome{Seconds: seconds, Outputs: x.outputs, Overtaken: x.overtaken}
	for i := range x.plan.Steps {
		s := x.steps[x.plan.Steps[i].ID].outcome
		o.Steps = append(o.Steps, s)
		switch s.Status {
		case StatusDone:
			o.Done++
		case StatusFailed:
			o.Failed++
		case StatusSkipped:
			o.Skipped++
		case StatusCancelled:
			o.Cancelled++
		}
	}
	o.Stopped = o.Cancelled > 0
	return o
}

func (x *execution) since(t time.Time) float64 { return x.opts.Now().Sub(t).Seconds() }

func (x *execution) emit(e Event) {
	x.seq++
	e.Seq, e.Time = x.seq, x.opts.Now()
	e.Done, e.Total = x.frontier.Count(dag.Done), len(x.plan.Steps)
	x.opts.Sink(e)
}
