package executor

import (
	"time"
)

// nextBeat returns a channel that fires when the next running step is to be
// reported again, and a function that frees it.
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

// heartbeat reports every running step that is due. Beats that were missed,
// because the machine slept, are not made up for.
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
