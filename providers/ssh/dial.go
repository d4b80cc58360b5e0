package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/providers"
)

// clientVersion is the first line that the host gets (RFC 4253 section 4.2).
const clientVersion = "SSH-2.0-kubewright"

// Dialer makes connections. Targets that log in to a bastion with the same keys and trust
// the same host keys share the connection to it; all targets share decrypted keys and
// parsed known_hosts files. The zero Dialer is ready; Close it when the last connection is
// no longer needed.
type Dialer struct {
	keys     keyring
	known    knownHostsCache
	accepted acceptedKeys

	mu       sync.Mutex
	bastions map[string]*sharedConn // keyed by wayOf
	closed   bool
}

// sharedConn is a connection to a bastion, or the attempt to make one.
type sharedConn struct {
	ready chan struct{} // closed when conn or err is set
	conn  *Conn
	err   error
}

// Dial connects to one target, through bastions of its own.
func Dial(ctx context.Context, t Target) (*Conn, error) {
	d := &Dialer{}
	c, err := d.Dial(ctx, t)
	if err != nil {
		_ = d.Close()
		return nil, err
	}
	c.release = d.Close
	return c, nil
}

// Dial connects to the target and logs in. Errors wrap ErrUnreachable, ErrTimeout, ErrAuth,
// ErrHostKeyUnknown, ErrHostKeyChanged or, if a bastion forbids forwarding,
// ErrNoForwarding; or the context's error.
func (d *Dialer) Dial(ctx context.Context, t Target) (*Conn, error) {
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("cannot connect to host: %w", err)
	}
	return d.dialThrough(ctx, t, t.Bastions)
}

// Trust records keys of hosts on the way that were accepted before, in the form of
// Conn.HopKeys: where a target accepts new keys, no other key is accepted. Invalid keys are
// ignored.
func (d *Dialer) Trust(hopKeys map[string]string) {
	d.accepted.mu.Lock()
	defer d.accepted.mu.Unlock()
	for way, text := range hopKeys {
		if key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text)); err == nil {
			d.accepted.add(way, key)
		}
	}
}

// Close ends the connections to bastions, and with them all connections through them.
func (d *Dialer) Close() error {
	d.mu.Lock()
	d.closed = true
	shared := d.bastions
	d.bastions = nil
	d.mu.Unlock()
	for _, s := range shared {
		<-s.ready // its timeouts bound dialling
		if s.conn != nil {
			_ = s.conn.Close()
		}
	}
	return nil
}

func (d *Dialer) dialThrough(ctx context.Context, t Target, hops []Target) (*Conn, error) {
	if len(hops) == 0 {
		raw, err := connect(ctx, t, t.Timeouts.withDefaults().Connect, (&net.Dialer{}).DialContext)
		if err != nil {
			return nil, err
		}
		return d.handshake(ctx, raw, t, nil)
	}
	raw, bastion, err := d.connectThrough(ctx, t, hops)
	if err != nil && bastion != nil && bastion.Err() != nil { // it is shared and may be old; a new one can be made
		raw, bastion, err = d.connectThrough(ctx, t, hops)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot reach %s through bastion %s: %w", t.Address, hops[len(hops)-1].Address, err)
	}
	return d.handshake(ctx, raw, t, bastion)
}

// connectThrough makes the transport connection from the last of the hops. bastion, the
// connection to that one, is nil if it could not be made.
func (d *Dialer) connectThrough(ctx context.Context, t Target, hops []Target) (conn net.Conn, bastion *Conn, err error) {
	if bastion, err = d.bastion(ctx, hops); err != nil {
		return nil, nil, err
	}
	conn, err = connect(ctx, t, t.Timeouts.withDefaults().Connect, bastion.DialContext)
	return conn, bastion, err
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// connect makes the transport connection within its own deadline.
func connect(ctx context.Context, t Target, limit time.Duration, dial dialFunc) (net.Conn, error) {
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := dial(timed, "tcp", t.hostPort())
	if err == nil {
		return conn, nil
	}
	do := "connect to " + t.hostPort()
	var known *providers.Error
	switch {
	case ctx.Err() != nil:
		return nil, contextError(ctx, do)
	case errors.As(err, &known):
		return nil, err
	case timed.Err() != nil:
		return nil, &providers.Error{
			Kind: providers.ErrUnreachable, Do: do,
			Cause: fmt.Errorf("%w after %v", providers.ErrTimeout, limit),
		}
	}
	return nil, &providers.Error{Kind: providers.ErrUnreachable, Do: do, Cause: err}
}

// contextError converts a passed deadline into ErrTimeout and keeps a cancellation.
func contextError(ctx context.Context, do string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &providers.Error{Kind: providers.ErrTimeout, Do: do, Cause: ctx.Err()}
	}
	return fmt.Errorf("cannot %s: %w", do, ctx.Err())
}

// bastion returns the shared connection to the last of the hops, and makes it if there is
// no live one. Concurrent callers wait for the same attempt. An error that a retry cannot
// cure is remembered.
func (d *Dialer) bastion(ctx context.Context, hops []Target) (*Conn, error) {
	way := wayOf(hops)
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil, &providers.Error{Kind: providers.ErrUnreachable, Do: "connect", Cause: net.ErrClosed}
	}
	s := d.bastions[way]
	if s == nil || s.over() {
		s = &sharedConn{ready: make(chan struct{})}
		if d.bastions == nil {
			d.bastions = map[string]*sharedConn{}
		}
		d.bastions[way] = s
		// The first caller may give up; the others still want the connection.
		go s.dial(context.WithoutCancel(ctx), d, hops)
	}
	d.mu.Unlock()
	select {
	case <-s.ready:
		return s.conn, s.err
	case <-ctx.Done():
		return nil, contextError(ctx, "connect to "+hops[len(hops)-1].hostPort())
	}
}

// wayOf returns a key for a way over bastions, with everything that decides how each is
// logged in to and by which key it is known: one target's trust must not apply to another.
func wayOf(hops []Target) string {
	var way strings.Builder
	for _, hop := range hops {
		hop.Bastions, hop.Passphrase, hop.Timeouts = nil, nil, Timeouts{} // they affect neither
		fmt.Fprintf(&way, "%#v\n", hop)
	}
	return way.String()
}

func (s *sharedConn) dial(ctx context.Context, d *Dialer, hops []Target) {
	last := len(hops) - 1
	s.conn, s.err = d.dialThrough(ctx, hops[last], hops[:last])
	close(s.ready)
}

// over reports whether the connection has ended, or the attempt failed for a temporary
// reason.
func (s *sharedConn) over() bool {
	select {
	case <-s.ready:
	default:
		return false
	}
	if s.err != nil {
		return errors.Is(s.err, providers.ErrUnreachable) || errors.Is(s.err, providers.ErrTimeout)
	}
	return s.conn.Err() != nil
}

// attempt is one handshake, with the data that its callbacks share.
type attempt struct {
	target Target
	via    *Conn // the bastion, nil without one
	times  Timeouts
	check  *hostKeyCheck
	watch  *watchdog
	offers []offer
	left   int // the number of keys that are not offered

	mu      sync.Mutex
	signErr error // why a key could not sign
}

func (d *Dialer) handshake(ctx context.Context, raw net.Conn, t Target, via *Conn) (*Conn, error) {
	conn := &countingConn{Conn: raw}
	a := &attempt{target: t, via: via, times: t.Timeouts.withDefaults()}
	c, err := d.login(ctx, conn, a)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

func (d *Dialer) login(ctx context.Context, conn *countingConn, a *attempt) (*Conn, error) {
	do := "log in to " + a.target.String()
	var err error
	if a.check, err = newHostKeyCheck(a.target, a.via.wayOn(a.target), &d.known, &d.accepted); err != nil {
		return nil, &providers.Error{Kind: providers.ErrHostKeyUnknown, Do: do, Cause: err}
	}
	a.watch = newWatchdog(conn)
	defer a.watch.stop()
	ids := &identities{target: a.target, ring: &d.keys, patient: a.patient, failed: a.signFailed}
	closer, err := ids.collect()
	if err != nil {
		return nil, &providers.Error{Kind: providers.ErrAuth, Do: do, Cause: err}
	}
	defer func() { _ = closer.Close() }()
	if a.offers, a.left = ids.offers, ids.left; len(a.offers) == 0 {
		return nil, &providers.Error{Kind: providers.ErrAuth, Do: do, Cause: ids.none()}
	}
	cancelled := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer cancelled()

	a.watch.set("handshake", a.times.Handshake)
	client, chans, reqs, err := ssh.NewClientConn(conn, a.target.hostPort(), a.config())
	if err != nil {
		return nil, a.explain(ctx, do, err)
	}
	if !a.watch.stop() {
		return nil, a.explain(ctx, do, errTooLate)
	}
	return newConn(ssh.NewClient(client, chans, reqs), conn, a), nil
}

var errTooLate = errors.New("logged in too late")

func (a *attempt) config() *ssh.ClientConfig {
	return &ssh.ClientConfig{
		Config: ssh.Config{KeyExchanges: keyExchanges, Ciphers: ciphers, MACs: macs},
		User:   a.target.User,
		Auth: []ssh.AuthMethod{ssh.PublicKeysCallback(func() ([]ssh.Signer, error) {
			signers := make([]ssh.Signer, len(a.offers))
			for i, o := range a.offers {
				signers[i] = o.signer
			}
			return signers, nil
		})},
		HostKeyAlgorithms: a.check.algorithms(),
		HostKeyCallback: func(name string, remote net.Addr, key ssh.PublicKey) error {
			err := a.check.verify(name, remote, key)
			if err == nil {
				a.watch.set("authentication", a.times.Auth)
			}
			return err
		},
		ClientVersion: clientVersion,
	}
}

// patient runs f while the host's deadline for the authentication is suspended, because f
// waits for the operator.
func (a *attempt) patient(f func()) {
	a.watch.set("authentication", askTime)
	f()
	a.watch.set("authentication", a.times.Auth)
}

func (a *attempt) signFailed(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.signErr = err
}

// explain returns the meaning of a failed handshake.
func (a *attempt) explain(ctx context.Context, do string, err error) error {
	a.mu.Lock()
	signErr := a.signErr
	a.mu.Unlock()
	err = a.check.explain(err)
	var known *providers.Error
	phase, late := a.watch.late()
	switch {
	case ctx.Err() != nil:
		return contextError(ctx, do)
	case errors.As(err, &known):
		return known
	case signErr != nil:
		return &providers.Error{Kind: providers.ErrAuth, Do: do, Cause: signErr}
	case late:
		return &providers.Error{Kind: providers.ErrTimeout, Do: do, Cause: fmt.Errorf("no answer during the %s", phase)}
	case a.check.accepted != nil && !isNetworkError(err):
		return &providers.Error{Kind: providers.ErrAuth, Do: do, Cause: a.refused(err)}
	}
	return &providers.Error{Kind: providers.ErrUnreachable, Do: do, Cause: sanitized(err)}
}

// refused lists the keys that the host did not accept.
func (a *attempt) refused(err error) error {
	names := make([]string, len(a.offers))
	for i, o := range a.offers {
		names[i] = fmt.Sprintf("%s (%s)", o.name, describe(o.signer.PublicKey()))
	}
	text := "the host accepted none of these keys: " + strings.Join(names, ", ")
	if a.left == 0 {
		return fmt.Errorf("%s (%w)", text, sanitized(err))
	}
	return providers.WithRemedy(fmt.Errorf("%s; %d more were not offered, as hosts close the connection after so many (%w)", text, a.left, sanitized(err)),
		"name the key that the host knows in private_key: it is offered before those of the agent")
}

// isNetworkError reports whether the connection broke, as opposed to a refusal by the host.
func isNetworkError(err error) bool {
	var netErr net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &netErr)
}

// sanitizedError is an error whose text a host has influenced.
type sanitizedError struct{ error }

func (e sanitizedError) Error() string { return providers.Sanitize(e.error.Error(), 500) }
func (e sanitizedError) Unwrap() error { return e.error }

func sanitized(err error) error { return sanitizedError{err} }
