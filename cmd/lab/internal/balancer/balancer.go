// Package balancer is a TCP load balancer in front of API servers, in the role of HAProxy.
package balancer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// The balancer probes its backends as load balancers in front of API servers usually do, with
// periodic requests for /readyz.
const (
	probeEvery  = 500 * time.Millisecond
	dialTimeout = 5 * time.Second // this process may be slow as well, and the next backend not ready
)

// patience is how long the balancer waits for backends.
type patience struct {
	probe time.Duration // for the first answer of a backend
	ready time.Duration // for a ready backend, if one was ready that recently

	// Until the connections of a backend are closed that
	unready time.Duration // answers that it is not ready: its open requests continue
	silent  time.Duration // does not answer at all: its host is gone or frozen
}

// A restarting etcd member makes its API server unready, for many seconds on a busy machine, and
// writes that the API server has accepted wait for the member: closing their connections loses
// them. On such a machine a starting API server may be silent for ten seconds.
var usual = patience{probe: 5 * time.Second, ready: 30 * time.Second, unready: time.Minute, silent: 30 * time.Second}

// A Balancer forwards TCP connections to the backends whose /readyz succeeds. If none is ready at
// the moment, a connection waits for one; if none has been for a while (during a bootstrap), it
// goes to any backend that accepts it. A backend that stops being ready gets no new connections;
// its existing ones are closed when its patience has run out, so that clients reconnect to
// another one instead of waiting for a dead host.
type Balancer struct {
	listener net.Listener
	patience patience
	backends []*backend
	cancel   context.CancelFunc
	group    sync.WaitGroup

	mu   sync.Mutex
	next int // next backend in turn
}

// A backend is one API server.
type backend struct {
	address string

	mu       sync.Mutex
	ended    bool      // it has refused or reported "not ready", and has not been ready since
	wasReady time.Time // time of the last probe that found it ready
	conns    map[net.Conn]struct{}
}

// state is the usability of a backend, in ascending order.
type state int

const (
	// unready reports "not ready", refuses connections, or has never answered: a starting API
	// server accepts connections, and holds requests until it can authorize them.
	unready state = iota
	// silent was ready, but has not answered for a while.
	silent
	ready
)

// fresh is the maximum age of the last successful probe of a ready backend. A backend that ends
// refuses the next request, so another API server in its place is not mistaken for it, even by a
// balancer that was paused meanwhile.
const fresh = probeEvery + 2*time.Second

// New listens on an address and serves until Close.
func New(listen string, backends []string) (*Balancer, error) {
	return start(listen, backends, usual)
}

func start(listen string, backends []string, p patience) (*Balancer, error) {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("cannot start the balancer: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &Balancer{listener: listener, patience: p, cancel: cancel}
	for _, address := range backends {
		b.backends = append(b.backends, &backend{address: address, ended: true, conns: map[net.Conn]struct{}{}})
	}
	for _, be := range b.backends {
		b.group.Go(func() { be.probe(ctx, p) })
	}
	b.group.Go(func() { b.accept(ctx) })
	return b, nil
}

// Address returns the address that the balancer listens on.
func (b *Balancer) Address() string { return b.listener.Addr().String() }

// Ready returns the addresses of the backends that are ready.
func (b *Balancer) Ready() []string {
	var all []string
	for _, be := range b.backends {
		if be.now() == ready {
			all = append(all, be.address)
		}
	}
	return all
}

// Close stops the balancer and closes all its connections.
func (b *Balancer) Close() error {
	b.cancel()
	err := b.listener.Close()
	for _, be := range b.backends {
		be.closeConns()
	}
	b.group.Wait()
	return err
}

func (b *Balancer) accept(ctx context.Context) {
	for {
		conn, err := b.listener.Accept()
		if err != nil {
			return // closed
		}
		b.group.Go(func() { b.serve(ctx, conn) })
	}
}

// serve connects a client to the best backend that accepts. If a backend is expected to become
// ready, the client waits for it: a starting API server would accept its request and refuse it.
func (b *Balancer) serve(ctx context.Context, client net.Conn) {
	defer client.Close()
	for began := time.Now(); ; {
		be, server := b.dial(ctx)
		if server == nil {
			return
		}
		if be.now() == ready || !b.expectsReady(began) {
			be.join(ctx, client, server)
			return
		}
		server.Close()
		select {
		case <-ctx.Done():
			return
		case <-time.After(probeEvery):
		}
	}
}

// dial connects to the best backend that accepts; the connection is nil if none does.
func (b *Balancer) dial(ctx context.Context) (*backend, net.Conn) {
	for _, be := range b.order() {
		dialer := net.Dialer{Timeout: dialTimeout}
		if server, err := dialer.DialContext(ctx, "tcp", be.address); err == nil {
			return be, server
		}
	}
	return nil, nil
}

// expectsReady reports whether a client that connected at a moment waits for a ready backend.
func (b *Balancer) expectsReady(came time.Time) bool {
	return time.Since(came) < b.patience.ready && slices.ContainsFunc(b.backends, func(be *backend) bool {
		be.mu.Lock()
		defer be.mu.Unlock()
		return time.Since(be.wasReady) < b.patience.ready
	})
}

// order returns the backends in the order to try them: the best ones first, starting with a
// different one each time.
func (b *Balancer) order() []*backend {
	b.mu.Lock()
	first := b.next
	b.next++
	b.mu.Unlock()
	var by [ready + 1][]*backend
	for i := range b.backends {
		be := b.backends[(first+i)%len(b.backends)]
		now := be.now()
		by[now] = append(by[now], be)
	}
	return slices.Concat(by[ready], by[silent], by[unready])
}

func (be *backend) now() state {
	be.mu.Lock()
	defer be.mu.Unlock()
	switch {
	case be.ended:
		return unready
	case time.Since(be.wasReady) >= fresh:
		return silent
	}
	return ready
}

// join copies in both directions until both ends have finished or either fails.
func (be *backend) join(ctx context.Context, client, server net.Conn) {
	be.mu.Lock()
	be.conns[client], be.conns[server] = struct{}{}, struct{}{}
	be.mu.Unlock()
	defer func() {
		client.Close()
		server.Close()
		be.mu.Lock()
		delete(be.conns, client)
		delete(be.conns, server)
		be.mu.Unlock()
	}()
	if ctx.Err() != nil {
		return // closed before the connection was on the list
	}
	var group sync.WaitGroup
	group.Go(func() { forward(server, client) })
	group.Go(func() { forward(client, server) })
	group.Wait()
}

// forward copies one direction and forwards its end.
func forward(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		from.Close()
		return
	}
	if half, ok := to.(*net.TCPConn); ok {
		half.CloseWrite()
	}
}

func (be *backend) closeConns() {
	be.mu.Lock()
	defer be.mu.Unlock()
	for conn := range be.conns {
		conn.Close()
	}
}

// probe checks the readiness of the backend until ctx ends.
func (be *backend) probe(ctx context.Context, p patience) {
	// The certificate is not verified here: clients verify it through the balancer. Each request
	// uses a new connection: a request that is repeated because the API server has ended would be
	// held by the next API server.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	client := &http.Client{Transport: transport, Timeout: p.probe}
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	var wasReady, answered time.Time // time of the last such probes; wasReady is zero when there is nothing to close
	for {
		now := time.Now()
		isReady, err := be.isReadyNow(ctx, client)
		be.told(now, isReady, err)
		if err == nil {
			answered = now
		}
		switch {
		case isReady:
			wasReady = now
		case wasReady.IsZero():
		case time.Since(wasReady) >= p.unready || err != nil && time.Since(answered) >= p.silent:
			be.closeConns()
			wasReady = time.Time{}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// told records the answer to a probe that was sent at a moment, or its failure.
func (be *backend) told(asked time.Time, isReady bool, err error) {
	be.mu.Lock()
	defer be.mu.Unlock()
	switch timeout := net.Error(nil); {
	case isReady:
		be.ended, be.wasReady = false, asked
	case errors.As(err, &timeout) && timeout.Timeout():
		// The backend may be slow, or may have ended before the probe.
	default:
		be.ended = true
	}
}

// isReadyNow probes once. An error means that the backend did not answer.
func (be *backend) isReadyNow(ctx context.Context, client *http.Client) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+be.address+"/readyz", nil)
	if err != nil {
		return false, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK && err == nil, err
}
