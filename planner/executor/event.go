package executor

import (
	"time"

	"github.com/kubewright/kubewright/state"
)

// Kind is the kind of an Event.
type Kind string

// The kinds of an Event.
const (
	// KindRun opens the stream; Total is set.
	KindRun Kind = "run"
	// KindStarted: a step starts.
	KindStarted Kind = "started"
	// KindOp: operation Op of a step is about to be performed; Summary describes it.
	KindOp Kind = "op"
	// KindOpDone: operation Op of a step is done.
	KindOpDone Kind = "op_done"
	// KindLog: Summary is a line for the user.
	KindLog Kind = "log"
	// KindOutput: Summary is the latest output of operation Op of a step. It is only for live
	// display and does not count as an event of the run.
	KindOutput Kind = "output"
	// KindHeartbeat: a step is still running, for Seconds so far.
	KindHeartbeat Kind = "heartbeat"
	// KindDone: a step succeeded, after Seconds.
	KindDone Kind = "done"
	// KindFailed: a step failed, after Seconds, with Err.
	KindFailed Kind = "failed"
	// KindSkipped: a step will not run because Cause failed.
	KindSkipped Kind = "skipped"
	// KindCancelled: a step was not started because the run was stopped.
	KindCancelled Kind = "cancelled"
	// KindStopping: no further step starts; Summary says why.
	KindStopping Kind = "stopping"
	// KindFinished closes the stream, after Seconds; Err is why the run itself could not continue.
	KindFinished Kind = "finished"
)

// Event is one thing that happened in a run. Which fields are set depends on Kind.
type Event struct {
	// Seq counts from 1 without a gap.
	Seq  int64
	Time time.Time
	Kind Kind
	// Step is zero for events of the whole run.
	Step state.Address
	// Op is the index of an operation of the step; Ops is how many it has.
	Op, Ops int
	Summary string
	Err     error
	// Cause is the step whose failure skipped this one.
	Cause   state.Address
	Seconds float64
	// Done is the number of steps that succeeded so far, Total the number of all steps.
	Done, Total int
}
