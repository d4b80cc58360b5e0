package executor

import (
	"context"
	"time"

	"github.com/kubewright/kubewright/state"
)

// DefaultParallelism is how many steps run at once when Options does not say.
const DefaultParallelism = 10

// DefaultHeartbeat is the time after which a running step is reported again.
const DefaultHeartbeat = 10 * time.Second

// OnError says what a failed step means for those that do not depend on it.
type OnError string

// What a failure means.
const (
	// Continue lets independent branches go on.
	Continue OnError = ""
	// Stop starts nothing new after a failure.
	Stop OnError = "stop"
	// FinishNode goes on with targets of which a step has started, and begins no
	// other: a node that was drained is brought back.
	FinishNode OnError = "finish-node"
)

// Options of a run. The zero value of each field but ID is usable.
type Options struct {
	// ID, Token and Who identify the run in the journal and on the hosts.
	ID    string
	Token int64
	Who   string
	// Learned is what the state learns with the run's beginning.
	Learned state.Learned
	// PlanDigest is written to the journal, and so are Resumes, the run whose plan this
	// one goes on with, and Partial: that it leaves a part of that for yet another one.
	PlanDigest string
	Resumes    string
	Partial    bool
	// Parallelism is how many steps run at once; DefaultParallelism when below 1.
	Parallelism int
	OnError     OnError
	// Stop, once closed, lets running steps finish and starts nothing new: the
	// first interrupt. The second cancels the context.
	Stop <-chan struct{}
	// Hold, when it is not nil, is asked before each start. What it says, unless it is
	// empty, is why nothing more may be begun: the run stops as at an interrupt.
	Hold func() string
	// Durations are seconds per state.DurationKey, to start the longest path first.
	Durations map[string]float64
	// Sink receives the events, one after another, from the goroutine of Execute.
	// It must return soon: the run waits for it.
	Sink func(Event)
	// Now is the clock; time.Now when nil.
	Now func() time.Time
	// Busy, when it is not nil, is told of each step that is started, and the function that
	// it returns once the step has ended and what follows it was started: in between, a
	// clock that waits for all who work sees somebody at work. See providers.Clock.
	Busy func(ctx context.Context) (working context.Context, done func())
	// Heartbeat is the time between two reports of a running step;
	// DefaultHeartbeat when 0, none when negative.
	Heartbeat time.Duration
}

// Status is what became of a step.
type Status string

// What became of a step.
const (
	StatusDone   Status = "done"
	StatusFailed Status = "failed"
	// StatusSkipped: a step it depends on failed.
	StatusSkipped Status = "skipped"
	// StatusCancelled: it was not started because the run was stopped.
	StatusCancelled Status = "cancelled"
)

// StepOutcome is what became of one step.
type StepOutcome struct {
	Step   state.Address
	Status Status
	// Start is when it began, in seconds since the run did; Seconds how long it took.
	Start, Seconds float64
	// Err is why the step failed.
	Err error
	// Cause is, for a skipped step, the one whose failure came first.
	Cause state.Address
}

// Outcome is what became of a run.
type Outcome struct {
	// Steps are in the order of the plan.
	Steps   []StepOutcome
	Seconds float64
	// Stopped reports whether steps were not started because the run was stopped.
	Stopped bool
	// Overtaken reports whether the run ended with a *StopError: another one has begun, or
	// was let in.
	Overtaken bool

	Done, Failed, Skipped, Cancelled int
	// Outputs are those of all steps that were done. They hold secrets.
	Outputs Outputs
}

// OK reports whether every step was done.
func (o *Outcome) OK() bool { return o.Done == len(o.Steps) }
