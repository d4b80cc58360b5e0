package executor

import (
	"time"
)

// nextBeat returns a channel that fires at the next heartbeat of a running step, and a function
// that releases it.
func (x *execution) nextBeat() (<-chan time.Time, func()) {
	var next time.Time
	for _, t := range x.running {
		if next.IsZero() || t.nextBeat.Before(next) {
			next = t.nextBeat
		}
	}
	if next.IsZero() || x.opts.Heartbeat < 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(next.Sub(x.opts.Now()))
	return timer.C, func() { timer.Stop() }
}

// heartbeat reports every running step that is due. It does not make up for beats missed while the
// machine slept.
func (x *execution) heartbeat() {
	now := x.opts.Now()
	for _, t := range x.running {
		if t.nextBeat.After(now) {
			continue
		}
		x.emit(Event{Kind: KindHeartbeat, Step: t.step.ID, Seconds: now.Sub(t.began).Seconds()})
		for !t.nextBeat.After(now) {
			t.nextBeat = t.nextBeat.Add(x.opts.Heartbeat)
		}
	}
}
