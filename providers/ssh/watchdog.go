package ssh

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// watchdog closes a connection when a phase of the handshake takes too long. It replaces
// connection deadlines, which a connection through a bastion lacks; and x/crypto's Timeout
// covers the TCP connect only.
type watchdog struct {
	mu    sync.Mutex
	conn  io.Closer
	timer *time.Timer
	phase string
	fired bool
	done  bool
}

func newWatchdog(conn io.Closer) *watchdog { return &watchdog{conn: conn} }

// set starts the next phase, or restarts the present one.
func (w *watchdog) set(phase string, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.fired {
		return
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.phase = phase
	var timer *time.Timer
	timer = time.AfterFunc(limit, func() { w.fire(&timer) })
	w.timer = timer
}

// fire closes the connection, unless another phase began in the meantime.
func (w *watchdog) fire(timer **time.Timer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.timer != *timer {
		return
	}
	w.fired = true
	_ = w.conn.Close()
}

// stop ends the watch and reports whether all phases were in time.
func (w *watchdog) stop() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	if w.timer != nil {
		w.timer.Stop()
	}
	return !w.fired
}

// late returns the phase that took too long, if one did.
func (w *watchdog) late() (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.phase, w.fired
}

// countingConn counts the bytes that arrive: any byte proves that the host lives.
type countingConn struct {
	net.Conn
	received atomic.Int64
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	return n, err
}
