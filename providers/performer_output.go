package providers

import (
	"fmt"
	"time"
)

// outputInterval is how long a line stands before the next one takes its place.
const outputInterval = time.Second

// outputWidth is how much of a line is shown, in bytes.
const outputWidth = 256

// listen begins to hand what operations print to the reader: the last line, once in an
// interval. Whoever prints never waits for that. The first function takes a line, with
// the operation's place behind the one under way, and is nil when there is no reader;
// the second hands on what is left and ends it.
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
		case <-latest: // it is overtaken
		default:
		}
		select {
		case latest <- heardLine{op, line}:
		default: // somebody else was faster
		}
	}
	return hear, func() { close(ended); <-done }
}

// heardLine is a line that an operation has printed.
type heardLine struct {
	op   int
	text string
}

// tell takes the secrets out before the line is cut, so that no part of one is left.
func (w *work) tell(first int, l heardLine) {
	w.progress.Output(first+l.op, Sanitize(w.mask(l.text), outputWidth))
}

// amount returns how much of so many bytes has passed.
func amount(done, size int64) string {
	return fmt.Sprintf("%.1f of %.1f MiB", mebibytes(done), mebibytes(size))
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
