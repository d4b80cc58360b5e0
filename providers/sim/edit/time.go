package edit

import (
	"fmt"
	"time"
)

// day is the smallest stride in which time passes, and maxStrides limits the strides for
// long periods: whatever falls due on the way, such as a kubelet's certificate, is done on
// the way.
const (
	day        = 24 * time.Hour
	maxStrides = 500
)

// time advances the time of all hosts.
func (e *edit) time() error {
	word, err := e.word("a duration")
	if err != nil {
		return err
	}
	d, err := duration(word)
	if err == nil && d <= 0 {
		err = fmt.Errorf("%q is in the past: time only moves forward", word)
	}
	if err != nil {
		return err
	}
	stride := max(day, d/maxStrides)
	for ; d > 0; d -= stride {
		e.servers.Advance(min(d, stride))
	}
	return nil
}

// duration parses a duration.
func duration(word string) (time.Duration, error) {
	d, err := time.ParseDuration(word)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration; write one as in 8000h", word)
	}
	return d, nil
}
