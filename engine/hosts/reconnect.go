package hosts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubewright/kubewright/providers"
)

const (
	// reopenPatience is how long those who ask wait for an attempt to connect again, from
	// when it began: where the host is off, there is time left to ask another one.
	reopenPatience = 5 * time.Second
	// reopenPause is between an attempt that failed and the next one.
	reopenPause = 5 * time.Second
)

// reopening is an attempt to connect a host again whose connection has ended. All who ask
// for the host share it.
type reopening struct {
	over chan struct{} // closed when host or err is set
	late chan struct{} // closed when nothing waits for it any more
	lost error         // why the connection before has ended
	host providers.Host
	err  error
	next time.Time // not before then is there another attempt
}

// Connect returns the member's host, connected. One whose connection has ended since is
// connected again; what was under way on it is not done again.
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

// ended is why the connection to a host has ended; nil while it lives, and of a host that
// has none.
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

// reopen begins to connect the host again, unless an attempt is under way or has just failed. The
// first to ask may give up; the others still want the connection. The member is locked.
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
			if errors.Is(err, providers.ErrTimeout) { // it took the connection, and said nothing
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

// wait waits for what becomes of the attempt, and not longer than others would.
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
	// The words of what ended it, not its kind: nothing is under way.
	return nil, m.unreachable(fmt.Errorf("no new connection has come about in %v, and of the one before: %s", reopenPatience, a.lost))
}

// unreachable says of a host that keeps silent, in whatever way, that nothing was sent:
// others may be asked.
func (m *Member) unreachable(err error) error {
	return &providers.Error{Kind: providers.ErrUnreachable, Do: "reach " + m.Target.String(), Cause: err}
}
