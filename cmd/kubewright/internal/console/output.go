package console

import (
	"errors"
	"io"
	"sync/atomic"
)

// Output is stdout. It remembers that something could not be written, for those who
// print help, findings or progress and heed no error: a command whose output was lost,
// on a full disk say, has not succeeded.
type Output struct {
	io.Writer
	lost atomic.Pointer[outputError]
}

// outputError is what could not be written to stdout.
type outputError struct{ err error }

func (e *outputError) Error() string {
	return "standard output ends too early: " + e.err.Error() + ". What the command has done is done, and is not all told above"
}

func (e *outputError) Unwrap() error { return e.err }

// Write implements io.Writer.
func (o *Output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err == nil {
		return n, nil
	}
	lost := &outputError{err}
	o.lost.CompareAndSwap(nil, lost)
	return n, lost
}

// ErrorOr is how a command has ended: with err, or, if it believes to have said
// everything, with what was lost of that.
func (o *Output) ErrorOr(err error) error {
	var code Exit
	told := err == nil || errors.As(err, &code) && (code == ExitChanges || code == ExitDrift)
	if lost := o.lost.Load(); lost != nil && told {
		return lost
	}
	return err
}

// QuietOutput is output for a printer that would say on stderr itself what it could not
// write, in words of its own.
type QuietOutput struct{ *Output }

// Write implements io.Writer, and never fails.
func (h QuietOutput) Write(b []byte) (int, error) {
	_, _ = h.Output.Write(b)
	return len(b), nil
}
