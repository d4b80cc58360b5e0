package executor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/kubewright/kubewright/planner"
)

// PanicError reports that a step panicked: a bug. It stops the run.
type PanicError struct {
	// Value is the value of the panic.
	Value any
	// Stack is the stack trace, for a bug report; it is not part of Error.
	Stack []byte
}

// Error returns a message with the value of the panic.
func (e *PanicError) Error() string { return fmt.Sprintf("internal error: panic: %v", e.Value) }

// StopError reports that the run has to end with the failed step: another run has taken over.
type StopError struct{ Err error }

// Error returns the reason.
func (e *StopError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *StopError) Unwrap() error { return e.Err }

// InterruptedError reports that a step was interrupted when the run was stopped at once. Its progress
// is unknown; the next plan observes it.
type InterruptedError struct{ Err error }

// Error returns a fixed message, followed by the error of the step unless that is only the
// cancellation.
func (e *InterruptedError) Error() string {
	const text = "the run was stopped during this operation, and how far it came is unknown"
	if errors.Is(e.Err, context.Canceled) {
		return text
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns the error of the step.
func (e *InterruptedError) Unwrap() error { return e.Err }

// IsInterrupted reports whether the error of a step is a *InterruptedError.
func IsInterrupted(err error) bool { return errors.As(err, new(*InterruptedError)) }

// endsRun reports whether no further step starts after the error.
func endsRun(err error) bool {
	return errors.As(err, new(*PanicError)) || errors.As(err, new(*StopError))
}

var (
	// errEnded is the answer to a report that arrives after RunStep has returned.
	errEnded = errors.New("internal error: reported on a step that has ended")
	// errExit is the error of a RunStep that ended its goroutine.
	errExit = errors.New("internal error: the step left without an answer")
)

// work runs one step and sends its completion, even after a panic.
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
		c.err = &InterruptedError{c.err}
	}
}
