package hosts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubewright/kubewright/providers"
)

const (
	// reopenPatience is how long callers wait for an attempt to reconnect, from its beginning:
	// if the host is off, they have time left to ask another one.
	reopenPatience = 5 * time.Second
	// reopenPause is the time between a failed attempt and the next one.
	reopenPause = 5 * time.Second
)

// reopening is an attempt to reconnect a host whose connection has ended. All callers that need
// the host share it.
type reopening struct {
	over chan struct{} // closed when host or err is set
	late chan struct{} // closed when callers stop waiting
	lost error         // why the previous connection has ended
	host providers.Host
	err  error
	next time.Time // the earliest time of another attempt
}

// Connect returns the connected host of the member. It reconnects a host whose connection has
// ended; requests that were in flight are not repeated.
func (m *Member) Connect(ctx context.Context) (providers.Host, error) {
	m.mu.Lock()
	if m.host == nil {
		defer m.mu.Unlock()
		h, err := m.open(ctx)
		if err != nil {
			return nil, err
		}
		m.host = h
		return h, nil
	}
	h, lost := m.host, ended(m.host)
	var again *reopening
	if lost != nil {
		again = m.reopen(ctx, lost)
	}
	m.mu.Unlock()
	if again == nil {
		return h, nil
	}
	return again.wait(ctx, m)
}

// ended returns why the connection to a host has ended; nil while it is open, and for a host
// without one.
func ended(h providers.Host) error {
	for {
		if c, ok := h.(interface{ Ended() error }); ok {
			return c.Ended()
		}
		inner, ok := h.(interface{ Unwrap() providers.Host })
		if !ok {
			return nil
		}
		h = inner.Unwrap()
	}
}

// reopen starts reconnecting the host, unless an attempt is in progress or has just failed. The
// first caller may give up; the others still want the connection. The member is locked.
func (m *Member) reopen(ctx context.Context, lost error) *reopening {
	if a := m.again; a != nil && (!a.isOver() || a.err != nil && time.Now().Before(a.next)) {
		return a
	}
	a := &reopening{over: make(chan struct{}), late: make(chan struct{}), lost: lost}
	m.again = a
	time.AfterFunc(reopenPatience, func() { close(a.late) })
	ctx = context.WithoutCancel(ctx)
	go func() {
		h, err := m.open(ctx)
		m.mu.Lock()
		defer m.mu.Unlock()
		defer close(a.over)
		if err != nil {
			if errors.Is(err, providers.ErrTimeout) { // it accepted the connection and did not answer
				err = m.unreachable(err)
			}
			a.err, a.next = err, time.Now().Add(reopenPause)
			return
		}
		_ = m.host.Close()
		m.host, a.host = h, h
		if m.closed {
			_ = h.Close()
		}
	}()
	return a
}

func (a *reopening) isOver() bool {
	select {
	case <-a.over:
		return true
	default:
		return false
	}
}

// wait waits for the result of the attempt, and no longer than reopenPatience after its
// beginning.
func (a *reopening) wait(ctx context.Context, m *Member) (providers.Host, error) {
	select {
	case <-a.over:
	case <-a.late:
	case <-ctx.Done():
	}
	switch {
	case a.isOver():
		return a.host, a.err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	// The text of the old connection's error, not its kind: no request is in flight.
	return nil, m.unreachable(fmt.Errorf("no new connection has come about in %v, and of the one before: %s", reopenPatience, a.lost))
}

// unreachable returns the error of a silent host, of whatever kind, as one that says that
// nothing was sent: another host may be asked.
func (m *Member) unreachable(err error) error {
	return &providers.Error{Kind: providers.ErrUnreachable, Do: "reach " + m.Target.String(), Cause: err}
}
