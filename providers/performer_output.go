package providers

import (
	"fmt"
	"time"
)

// outputInterval is how long a line is shown before the next one replaces it.
const outputInterval = time.Second

// outputWidth is how much of a line is shown, in bytes.
const outputWidth = 256

// listen begins to pass the output of operations to the user: the latest line, once per
// interval. The printing side never waits. hear takes a line, with the operation's index
// relative to the one under way, and is nil if there is no reader; end passes the last line
// on and stops.
func (w *work) listen() (hear func(op int, line string), end func()) {
	if w.progress.Output == nil {
		return nil, func() {}
	}
	first, ended, done := w.op, make(chan struct{}), make(chan struct{})
	latest := make(chan heardLine, 1)
	go func() {
		defer close(done)
		for {
			select {
			case l := <-latest:
				w.tell(first, l)
			case <-ended:
				select {
				case l := <-latest:
					w.tell(first, l)
				default:
				}
				return
			}
			select {
			case <-time.After(outputInterval):
			case <-ended:
			}
		}
	}()
	hear = func(op int, line string) {
		select {
		case <-latest: // replaced by the newer line
		default:
		}
		select {
		case latest <- heardLine{op, line}:
		default: // another line was faster
		}
	}
	return hear, func() { close(ended); <-done }
}

// heardLine is a line that an operation has printed.
type heardLine struct {
	op   int
	text string
}

// tell masks the secrets before the line is cut, so that no part of one is left.
func (w *work) tell(first int, l heardLine) {
	w.progress.Output(first+l.op, Sanitize(w.mask(l.text), outputWidth))
}

// amount describes how much of size has passed.
func amount(done, size int64) string {
	return fmt.Sprintf("%.1f of %.1f MiB", mebibytes(done), mebibytes(size))
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
