package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/providers"
)

// maxSessions limits the concurrent commands of a connection; sshd's default for
// MaxSessions is 10. Further commands wait.
const maxSessions = 8

// Conn is a connection to one host. Its methods may be called from several goroutines.
type Conn struct {
	target   Target
	via      *Conn // the bastion, nil without one
	client   *ssh.Client
	raw      *countingConn
	hostKey  ssh.PublicKey
	newKey   bool
	sessions *sessionLimit
	openTime time.Duration
	release  func() error // closes what only this connection uses; may be nil

	done chan struct{} // closed when the connection has ended

	mu  sync.Mutex
	err error // why it ended; set before done is closed
}

func newConn(client *ssh.Client, raw *countingConn, a *attempt) *Conn {
	c := &Conn{
		target:   a.target,
		via:      a.via,
		client:   client,
		raw:      raw,
		hostKey:  a.check.accepted,
		newKey:   a.check.isNew,
		sessions: newSessionLimit(maxSessions),
		openTime: a.times.Open,
		done:     make(chan struct{}),
	}
	go c.wait()
	go c.keepAlive(a.times.Keepalive, a.times.KeepaliveMisses)
	return c
}

// HostKey returns the verified key of the host, in authorized_keys form: "ssh-ed25519
// AAAA…". It is the value for a pin.
func (c *Conn) HostKey() string { return marshalKey(c.hostKey) }

// HopKeys returns the keys of the hosts that were passed, keyed by the ways to them: their
// names in known_hosts, joined by commas.
func (c *Conn) HopKeys() map[string]string {
	out := map[string]string{}
	for hop := c.via; hop != nil; hop = hop.via {
		out[hop.via.wayOn(hop.target)] = hop.HostKey()
	}
	return out
}

// wayOn returns the way to a target that is reached through the connection, or directly if
// c is nil.
func (c *Conn) wayOn(t Target) string {
	if c == nil {
		return t.knownAs()
	}
	return c.via.wayOn(c.target) + "," + t.knownAs()
}

// HostKeyIsNew reports whether the host's key was unknown and was accepted because the
// target allows that. The caller pins it, and informs the operator.
func (c *Conn) HostKeyIsNew() bool { return c.newKey }

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Via returns the connection to the bastion that this one goes through; nil without one.
func (c *Conn) Via() *Conn { return c.via }

// Err returns nil while the connection lives, and afterwards why it ended.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection and everything that runs on it. Commands on the host get no
// signal; those that read from us see the end of their input.
func (c *Conn) Close() error {
	c.end(&providers.Error{Kind: providers.ErrDisconnected, Do: "use the connection to " + c.target.Address, Cause: net.ErrClosed})
	<-c.done
	if c.release != nil {
		return c.release()
	}
	return nil
}

// end records why the connection ends, unless it has, and closes it.
func (c *Conn) end(cause error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = cause
	}
	c.mu.Unlock()
	_ = c.raw.Close() // at once, even if a write to the host hangs
	_ = c.client.Close()
}

// wait detects the end of the connection.
func (c *Conn) wait() {
	err := c.client.Wait()
	if err == nil {
		err = net.ErrClosed
	}
	c.end(&providers.Error{Kind: providers.ErrDisconnected, Do: "use the connection to " + c.target.Address, Cause: sanitized(err)})
	close(c.done)
}

// keepAlive requests an answer from the host at every tick and ends the connection after so
// many ticks without any byte from the host. An upload over a slow line delays the answer
// for long, but window adjustments arrive in the meantime.
func (c *Conn) keepAlive(every time.Duration, misses int) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	answered := make(chan struct{}, 1)
	asking, missed := false, 0
	seen := c.raw.received.Load()
	for {
		select {
		case <-c.done:
			return
		case <-answered:
			asking = false
		case <-ticker.C:
			if now := c.raw.received.Load(); now != seen {
				seen, missed = now, 0
			} else if asking {
				missed++
			}
			if missed >= misses {
				c.end(&providers.Error{
					Kind: providers.ErrDisconnected, Do: "use the connection to " + c.target.Address,
					Cause: fmt.Errorf("no sign of life for %v", time.Duration(misses)*every),
				})
				return
			}
			if !asking {
				asking = true
				go func() {
					// Any answer will do; sshd answers that it does not know the request.
					_, _, _ = c.client.SendRequest("keepalive@openssh.com", true, nil)
					answered <- struct{}{}
				}()
			}
		}
	}
}

// DialContext connects to an address as the host itself would (direct-tcpip). It fails with
// ErrNoForwarding if sshd forbids that, and with ErrUnreachable if the host could not
// connect, or if the connection to the host itself was lost: in both cases nothing was sent
// through it. An additional ErrRefused means that nothing listens there; sshd passes on
// only the system's error text.
func (c *Conn) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	do := fmt.Sprintf("connect to %s from %s", address, c.target.Address)
	opening, cancel := context.WithTimeout(ctx, c.openTime)
	defer cancel()
	conn, err := c.client.DialContext(opening, network, address)
	if err == nil {
		return conn, nil
	}
	var refused *ssh.OpenChannelError
	switch {
	case ctx.Err() != nil:
		return nil, contextError(ctx, do)
	case errors.As(err, &refused) && refused.Reason == ssh.Prohibited:
		return nil, &providers.Error{Kind: providers.ErrNoForwarding, Do: do}
	case errors.As(err, &refused) && refused.Reason == ssh.ConnectionFailed && strings.Contains(strings.ToLower(refused.Message), "refused"):
		return nil, &providers.Error{Kind: providers.ErrUnreachable, Do: do, Cause: providers.ErrRefused}
	case errors.As(err, &refused):
		return nil, &providers.Error{Kind: providers.ErrUnreachable, Do: do, Cause: errors.New(providers.Sanitize(refused.Message, 200))}
	case opening.Err() != nil && c.Err() == nil:
		err = c.unanswered("connect")
	case c.Err() != nil:
		err = errors.New(c.Err().Error()) // its text, not its kind: nothing was under way
	}
	return nil, &providers.Error{Kind: providers.ErrUnreachable, Do: do, Cause: sanitized(err)}
}
