package budget

import (
	"fmt"
	"sync"
	"time"
)

// LeastRate is the rate in bytes per second at which an answer, or an upload, extends its
// own deadline.
const LeastRate = 16 << 10

// Pace is how fast an answer has to arrive.
type Pace struct {
	// Silence bounds the time without any data; 0 for no limit.
	Silence time.Duration
	// Total bounds the time of the answer, in addition to the time that its bytes take at
	// LeastRate; 0 for no limit.
	Total time.Duration
}

// SilentError reports that no data has arrived for a while.
type SilentError struct{ Silence time.Duration }

func (e *SilentError) Error() string { return fmt.Sprintf("nothing has come for %s", e.Silence) }

// SlowError reports an answer that did not complete in time.
type SlowError struct {
	// Took is how long it was waited for, and Bytes how many bytes have arrived.
	Took  time.Duration
	Bytes int64
}

func (e *SlowError) Error() string {
	return fmt.Sprintf("no end of the answer after %s, in which %d bytes have come", e.Took.Round(time.Second), e.Bytes)
}

// Watch ends an answer that does not keep its pace. Several goroutines may use one Watch.
type Watch struct {
	pace Pace
	end  func(error)

	mu    sync.Mutex
	timer *time.Timer
	began time.Time // zero before the first call
	heard time.Time // when data arrived last
	// until is the deadline without the extension for the bytes; zero for none.
	until time.Time
	bytes int64
	// paused is since when the operator's side delays the answer; zero if it does not.
	paused time.Time
	done   bool
}

// Watch returns a watch that calls end once, with a *SilentError or a *SlowError. It starts
// with the first call of Heard or Allow.
func (p Pace) Watch(end func(error)) *Watch { return &Watch{pace: p, end: end} }

// Heard records that n bytes have arrived.
func (w *Watch) Heard(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.start(now)
	w.heard = now
	w.bytes += int64(n)
}

// Allow extends the deadline to d from now, if it is earlier.
func (w *Watch) Allow(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.start(now)
	if !w.until.IsZero() && now.Add(d).After(w.deadline()) {
		w.until = now.Add(d - w.credit())
	}
}

// Limit sets the deadline to d from now, whether it was earlier or later.
func (w *Watch) Limit(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.start(now)
	w.until = now.Add(d - w.credit())
	w.arm()
}

// Pause stops the clock until Resume: the operator's side does not take more data at the
// moment.
func (w *Watch) Pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = time.Now()
	if w.timer != nil {
		w.timer.Stop()
	}
}

// Resume ends a Pause.
func (w *Watch) Resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paused.IsZero() {
		return
	}
	waited := time.Since(w.paused)
	w.paused = time.Time{}
	if w.began.IsZero() {
		return
	}
	w.began, w.heard = w.began.Add(waited), w.heard.Add(waited)
	if !w.until.IsZero() {
		w.until = w.until.Add(waited)
	}
	w.arm()
}

// Stop ends the watch. It does not wait for a call of end that is under way.
func (w *Watch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *Watch) start(now time.Time) {
	if !w.began.IsZero() || w.done {
		return
	}
	w.began, w.heard = now, now
	if w.pace.Total > 0 {
		w.until = now.Add(w.pace.Total)
	}
	w.arm()
}

// arm schedules the next call of look.
func (w *Watch) arm() {
	next, ok := w.next()
	switch {
	case w.done, !ok, !w.paused.IsZero():
	case w.timer == nil:
		w.timer = time.AfterFunc(time.Until(next), w.look)
	default:
		w.timer.Reset(time.Until(next))
	}
}

// credit returns the time that the bytes so far take at LeastRate. It computes
// milliseconds: in nanoseconds the product overflows at 9 GB, a possible size of an etcd
// snapshot.
func (w *Watch) credit() time.Duration {
	return time.Duration(w.bytes*1000/LeastRate) * time.Millisecond
}

func (w *Watch) deadline() time.Time { return w.until.Add(w.credit()) }

// next returns the time of the next deadline, if there is one.
func (w *Watch) next() (time.Time, bool) {
	var at time.Time
	if w.pace.Silence > 0 {
		at = w.heard.Add(w.pace.Silence)
	}
	if !w.until.IsZero() && (at.IsZero() || w.deadline().Before(at)) {
		at = w.deadline()
	}
	return at, !at.IsZero()
}

// look ends the answer if a deadline has passed.
func (w *Watch) look() {
	if err := w.verdict(time.Now()); err != nil {
		w.end(err)
	}
}

func (w *Watch) verdict(now time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || !w.paused.IsZero() {
		return nil
	}
	if next, _ := w.next(); now.Before(next) {
		w.arm()
		return nil
	}
	w.done = true
	if w.pace.Silence > 0 && !now.Before(w.heard.Add(w.pace.Silence)) {
		return &SilentError{w.pace.Silence}
	}
	return &SlowError{now.Sub(w.began), w.bytes}
}
