package executor

import (
	"context"
	"time"

	"github.com/kubewright/kubewright/state"
)

// DefaultParallelism is how many steps run at once unless Options sets Parallelism.
const DefaultParallelism = 10

// DefaultHeartbeat is the time after which a running step is reported again.
const DefaultHeartbeat = 10 * time.Second

// OnError says what a failed step means for steps that do not depend on it.
type OnError string

// The values of OnError.
const (
	// Continue lets independent branches continue.
	Continue OnError = ""
	// Stop starts nothing new after a failure.
	Stop OnError = "stop"
	// FinishNode continues on targets of which a step has started, and begins no other: a node that
	// was drained is uncordoned.
	FinishNode OnError = "finish-node"
)

// Options of a run. The zero value of each field but ID is usable.
type Options struct {
	// ID, Token and Who identify the run in the journal and on the hosts.
	ID    string
	Token int64
	Who   string
	// Learned is recorded in the state when the run begins.
	Learned state.Learned
	// PlanDigest is written to the journal, and so are Resumes, the run whose plan this one
	// continues, and Partial, which says that the run leaves a part of the plan for a later one.
	PlanDigest string
	Resumes    string
	Partial    bool
	// Job is written to the journal: what the run carries out.
	Job state.Job
	// Parallelism is how many steps run at once; DefaultParallelism when below 1.
	Parallelism int
	OnError     OnError
	// Stop, once closed, lets running steps finish and starts no further step: the first interrupt.
	// The second interrupt cancels the context.
	Stop <-chan struct{}
	// Hold, if not nil, is called before each start. A non-empty result is the reason why nothing
	// more may be begun: the run stops as at an interrupt.
	Hold func() string
	// Durations are seconds per state.DurationKey, to start the longest path first.
	Durations map[string]float64
	// Sink receives the events, one after another, from the goroutine of Execute.
	// It must return soon: the run waits for it.
	Sink func(Event)
	// Now is the clock; time.Now when nil.
	Now func() time.Time
	// Busy, if not nil, is called for each step that starts; the function that it returns is called
	// once the step has ended and its successors have started. In between, a clock that waits for
	// all workers counts one as busy. See providers.Clock.
	Busy func(ctx context.Context) (working context.Context, done func())
	// Heartbeat is the time between two reports of a running step;
	// DefaultHeartbeat when 0, none when negative.
	Heartbeat time.Duration
}

// Status is the outcome of a step.
type Status string

// The outcomes of a step.
const (
	StatusDone   Status = "done"
	StatusFailed Status = "failed"
	// StatusSkipped: a step it depends on failed.
	StatusSkipped Status = "skipped"
	// StatusCancelled: the step was not started because the run was stopped.
	StatusCancelled Status = "cancelled"
)

// StepOutcome is the outcome of one step.
type StepOutcome struct {
	Step   state.Address
	Status Status
	// Start is when the step started, in seconds since the run did; Seconds is how long it took.
	Start, Seconds float64
	// Err is why the step failed.
	Err error
	// Cause is, for a skipped step, the first step whose failure skipped it.
	Cause state.Address
}

// Outcome is the outcome of a run.
type Outcome struct {
	// Steps are in the order of the plan.
	Steps   []StepOutcome
	Seconds float64
	// Stopped reports whether steps were not started because the run was stopped.
	Stopped bool
	// Overtaken reports whether the run ended with a *StopError: another run has begun, or was
	// permitted to.
	Overtaken bool

	Done, Failed, Skipped, Cancelled int
	// Outputs are the outputs of all steps that were done. They hold secrets.
	Outputs Outputs
}

// OK reports whether every step was done.
func (o *Outcome) OK() bool { return o.Done == len(o.Steps) }
