package executor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/kubewright/kubewright/planner"
)

// PanicError says that a step panicked: a fault of ours. It stops the run.
type PanicError struct {
	// Value is what was panicked with.
	Value any
	// Stack is where, for the report of the fault; it is not part of Error.
	Stack []byte
}

// Error says what was panicked with.
func (e *PanicError) Error() string { return fmt.Sprintf("internal error: panic: %v", e.Value) }

// StopError says that the run has to end with the step that failed: somebody
// else has taken over.
type StopError struct{ Err error }

// Error says why.
func (e *StopError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *StopError) Unwrap() error { return e.Err }

// CutShortError says that a step was under way when the run was stopped at once. How
// far it came is not known: the next plan looks.
type CutShortError struct{ Err error }

// Error says so, and how the step took it unless that was all it had to say.
func (e *CutShortError) Error() string {
	const text = "the run was stopped during this operation, and how far it came is unknown"
	if errors.Is(e.Err, context.Canceled) {
		return text
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns what the step said.
func (e *CutShortError) Unwrap() error { return e.Err }

// IsCutShort tells of the error of a step that it is a *CutShortError.
func IsCutShort(err error) bool { return errors.As(err, new(*CutShortError)) }

// endsRun tells a failure after which nothing new is started.
func endsRun(err error) bool {
	return errors.As(err, new(*PanicError)) || errors.As(err, new(*StopError))
}

var (
	// errEnded answers a report that comes after RunStep has returned.
	errEnded = errors.New("internal error: reported on a step that has ended")
	// errExit stands for a RunStep that ended its goroutine.
	errExit = errors.New("internal error: the step left without an answer")
)

// work runs one step and sends its completion, whatever happens in it.
func (x *execution) work(ctx context.Context, step *planner.Step, run Run) {
	c := completion{step: step.ID, err: errExit}
	ended := make(chan struct{})
	defer func() {
		if v := recover(); v != nil {
			c.err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		close(ended)
		x.completions <- c
	}()
	report := func(e OpEvent) error {
		r := reportRequest{step: step.ID, event: e, answer: make(chan error, 1)}
		select {
		case <-ended:
			return errEnded
		case x.reports <- r:
			return <-r.answer
		}
	}
	c.result, c.err = x.runner.RunStep(ctx, step, run, report)
	if c.err != nil && ctx.Err() != nil && !endsRun(c.err) {
		c.err = &CutShortError{c.err}
	}
}
