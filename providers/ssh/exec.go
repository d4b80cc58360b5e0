package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/providers"
)

// Exec runs one command line in the login shell and returns its exit code; 128 + n if
// signal n ended it. stdin may be nil; stdout and stderr get the command's output, each
// from one goroutine, and nothing after Exec has returned.
//
// An error means that the exit code is unknown: ErrUnreachable if the command did not
// start, ErrDisconnected if it did, or the context's error. When the context ends, Exec
// returns at once and closes the channel; the command itself may continue until it reads or
// writes.
func (c *Conn) Exec(ctx context.Context, command string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	session, err := c.open(ctx)
	if err != nil {
		return 0, err
	}
	gate := &gate{}
	defer gate.shut()
	session.Stdin = gate.reader(stdin)
	session.Stdout = gate.writer(stdout)
	session.Stderr = gate.writer(stderr)

	ended, started := make(chan error, 1), make(chan struct{})
	release := sync.OnceFunc(c.sessions.release)
	go func() {
		defer release()
		defer func() { _ = session.Close() }()
		err := session.Start(command)
		close(started)
		if err != nil {
			ended <- &providers.Error{Kind: providers.ErrUnreachable, Do: "run a command on " + c.target.Address, Cause: sanitized(err)}
			return
		}
		ended <- session.Wait()
	}()
	if err := c.begun(ctx, started); err != nil {
		_ = session.Close()
		time.AfterFunc(closeTime, release) // a host need not confirm the end
		return 0, err
	}
	select {
	case err := <-ended:
		return c.exitCode(err)
	case <-ctx.Done():
		_ = session.Close()
		time.AfterFunc(closeTime, release) // a host need not confirm the end
		return 0, contextError(ctx, "run a command on "+c.target.Address)
	case <-c.done:
		select {
		case err := <-ended: // in time, although the connection ended right after it
			return c.exitCode(err)
		default:
			return 0, c.Err()
		}
	}
}

// closeTime is how long a closed session keeps its place if the host does not confirm the
// end.
const closeTime = 10 * time.Second

// begun waits until the host has answered the request to run a command.
func (c *Conn) begun(ctx context.Context, started <-chan struct{}) error {
	timer := time.NewTimer(c.openTime)
	defer timer.Stop()
	select {
	case <-started:
	case <-ctx.Done():
	case <-c.done:
	case <-timer.C:
		return &providers.Error{Kind: providers.ErrTimeout, Do: "run a command on " + c.target.Address, Cause: c.unanswered("run it")}
	}
	return nil
}

// unanswered reports that the host has not answered a request on the connection.
func (c *Conn) unanswered(what string) error {
	return fmt.Errorf("the host has not answered the request to %s for %s, although the connection lives: see what its sshd does", what, c.openTime)
}

// exitCode interprets the result of Wait.
func (c *Conn) exitCode(err error) (int, error) {
	var exit *ssh.ExitError
	var known *providers.Error
	switch {
	case err == nil, errors.Is(err, io.EOF) && c.Err() == nil:
		// EOF: the command succeeded without reading all its input.
		return 0, nil
	case errors.As(err, &exit):
		return exit.ExitStatus(), nil
	case errors.As(err, &known):
		return 0, known
	case c.Err() != nil:
		return 0, c.Err()
	}
	// Either there was no exit status, or copying failed although the
	// connection lives: the host closed the channel in the middle.
	return 0, &providers.Error{Kind: providers.ErrDisconnected, Do: "run a command on " + c.target.Address, Cause: sanitized(err)}
}

// Pauses before a refused session is retried although none of ours is open: sshd frees a
// session only after it has handled everything it has read, so a new request right after
// the end of the last session may come too early.
var sessionPauses = []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 250 * time.Millisecond, time.Second, 2 * time.Second}

// open opens a session as soon as there is a free place for one. If sshd's MaxSessions is
// below our own limit, its refusals lower that.
func (c *Conn) open(ctx context.Context) (*ssh.Session, error) {
	do := "run a command on " + c.target.Address
	for {
		if err := c.sessions.acquire(ctx, c.done); err != nil {
			return nil, contextError(ctx, do)
		}
		session, err := c.newSession(ctx)
		var refused *ssh.OpenChannelError
		if errors.As(err, &refused) {
			if c.sessions.refused() {
				continue // wait until one of ours ends
			}
			session, err = c.insist(ctx)
		}
		if err == nil {
			return session, nil
		}
		c.sessions.release()
		switch {
		case ctx.Err() != nil:
			return nil, contextError(ctx, do)
		case c.Err() != nil:
			return nil, c.Err()
		case errors.As(err, &refused):
			err = fmt.Errorf("the host opens no session: %s", providers.Sanitize(refused.Message, 200))
		}
		return nil, &providers.Error{Kind: providers.ErrUnreachable, Do: do, Cause: sanitized(err)}
	}
}

// insist retries a refused session. Meanwhile it holds the only place, so that no other
// command of ours takes the session that sshd frees.
func (c *Conn) insist(ctx context.Context) (*ssh.Session, error) {
	for try := 0; ; try++ {
		select {
		case <-time.After(sessionPauses[try]):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		session, err := c.newSession(ctx)
		var refused *ssh.OpenChannelError
		if !errors.As(err, &refused) || try == len(sessionPauses)-1 {
			return session, err
		}
	}
}

// newSession opens a session channel; x/crypto accepts no context for that.
func (c *Conn) newSession(ctx context.Context) (*ssh.Session, error) {
	type result struct {
		session *ssh.Session
		err     error
	}
	opened := make(chan result, 1)
	err := errAbandoned
	timer := time.NewTimer(c.openTime)
	defer timer.Stop()
	go func() {
		s, err := c.client.NewSession()
		opened <- result{s, err}
	}()
	select {
	case r := <-opened:
		return r.session, r.err
	case <-ctx.Done():
	case <-c.done:
	case <-timer.C:
		err = c.unanswered("open a session")
	}
	go func() { // the caller has given up
		if r := <-opened; r.err == nil {
			_ = r.session.Close()
		}
	}()
	return nil, err
}

var errAbandoned = errors.New("abandoned")

// sessionLimit counts open sessions and makes further ones wait.
type sessionLimit struct {
	mu      sync.Mutex
	limit   int
	active  int
	changed chan struct{} // closed and replaced at every change
}

func newSessionLimit(limit int) *sessionLimit {
	return &sessionLimit{limit: limit, changed: make(chan struct{})}
}

// acquire takes a place. It fails only when the context ends; after the end of the
// connection it succeeds, and the caller gets the error.
func (l *sessionLimit) acquire(ctx context.Context, ended <-chan struct{}) error {
	for {
		l.mu.Lock()
		changed := l.changed
		free := l.active < l.limit
		if free {
			l.active++
		}
		l.mu.Unlock()
		if free {
			return nil
		}
		select {
		case <-changed:
		case <-ended:
			l.mu.Lock()
			l.active++
			l.mu.Unlock()
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *sessionLimit) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active--
	l.broadcast()
}

// refused records that the host did not grant a session for a taken place. If others are
// open, or being opened, the place is returned and their number becomes the limit;
// otherwise the caller keeps it, as the only one.
func (l *sessionLimit) refused() (others bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active == 1 {
		l.limit = 1
		return false
	}
	l.active--
	l.limit = min(l.limit, l.active)
	l.broadcast()
	return true
}

func (l *sessionLimit) broadcast() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// gate passes a command's input and output until it is shut, so that an Exec that returned
// early leaves the caller's readers and writers alone.
type gate struct {
	mu   sync.Mutex
	down bool
}

// shut waits for a write under way; later reads see the end, later writes fail. It does not
// wait for a read under way, which may never end.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down = true
}

func (g *gate) reader(r io.Reader) io.Reader {
	if r == nil {
		return nil
	}
	return gatedReader{g, r}
}

func (g *gate) writer(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return gatedWriter{g, w}
}

type gatedReader struct {
	gate *gate
	r    io.Reader
}

func (r gatedReader) Read(p []byte) (int, error) {
	r.gate.mu.Lock()
	down := r.gate.down
	r.gate.mu.Unlock()
	if down {
		return 0, io.EOF
	}
	return r.r.Read(p)
}

type gatedWriter struct {
	gate *gate
	w    io.Writer
}

func (w gatedWriter) Write(p []byte) (int, error) {
	w.gate.mu.Lock()
	defer w.gate.mu.Unlock()
	if w.gate.down {
		return 0, io.ErrClosedPipe
	}
	return w.w.Write(p)
}
