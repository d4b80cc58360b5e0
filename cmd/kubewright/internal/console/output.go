package console

import (
	"errors"
	"io"
	"sync/atomic"
)

// Output is stdout. It remembers a write error on behalf of printers of help, findings or
// progress that check none: a command whose output is lost, for example on a full disk, has not
// succeeded.
type Output struct {
	io.Writer
	lost atomic.Pointer[outputError]
}

// outputError is a failed write to stdout.
type outputError struct{ err error }

func (e *outputError) Error() string {
	return "standard output ends too early: " + e.err.Error() + ". What the command has done is done, and is not all printed above"
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

// ErrorOr returns err; or the write error of stdout, if err is nil or only the exit code of a
// plan with changes.
func (o *Output) ErrorOr(err error) error {
	var code Exit
	told := err == nil || errors.As(err, &code) && (code == ExitChanges || code == ExitDrift)
	if lost := o.lost.Load(); lost != nil && told {
		return lost
	}
	return err
}

// QuietOutput is output for a printer that would itself report a write error on stderr.
type QuietOutput struct{ *Output }

// Write implements io.Writer, and never fails.
func (h QuietOutput) Write(b []byte) (int, error) {
	_, _ = h.Output.Write(b)
	return len(b), nil
}
