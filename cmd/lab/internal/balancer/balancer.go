// Package balancer is a TCP balancer in front of API servers, as one would put
// HAProxy there.
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

// How the balancer finds out about its backends, as a balancer in front of API
// servers is usually set up: a request for /readyz now and then.
const (
	probeEvery  = 500 * time.Millisecond
	dialTimeout = 5 * time.Second // this process may be slow as well, and the next backend unready
)

// patience is how long the balancer waits for backends.
type patience struct {
	probe time.Duration // until a backend has answered once
	ready time.Duration // until a backend is ready, where one has been as recently

	// Until the connections of a backend are closed that
	unready time.Duration // answers that it is not ready: what it has begun goes on
	silent  time.Duration // does not answer at all: its host is gone, or stands still
}

// A member of etcd that is restarted makes its API server unready, for many seconds
// on a machine that is busy, and the writes that it has taken wait for the member:
// who cuts them loses them. An API server that starts on such a machine may be silent for
// ten seconds.
var usual = patience{probe: 5 * time.Second, ready: 30 * time.Second, unready: time.Minute, silent: 30 * time.Second}

// A Balancer forwards TCP connections to the backends whose /readyz answers well.
// Where none does at the moment, a connection waits for one; where none has for a while
// (a cluster being founded), it goes to whichever backend takes it. A backend that stops
// being ready gets no more connections; those it has are closed when patience
// with it has ended, so that clients come back and reach another one instead of
// waiting for a dead host.
type Balancer struct {
	listener net.Listener
	patience patience
	backends []*backend
	cancel   context.CancelFunc
	group    sync.WaitGroup

	mu   sync.Mutex
	next int // backend whose turn it is
}

// A backend is one API server.
type backend struct {
	address string

	mu       sync.Mutex
	ended    bool      // it has not been ready since it refused, or said that it is not
	wasReady time.Time // when it was last asked and said that it is
	conns    map[net.Conn]struct{}
}

// state is what a backend is good for, the best last.
type state int

const (
	// unready says so, refuses connections, or has never answered: an API server that
	// starts takes connections, and keeps requests until it can tell who may ask.
	unready state = iota
	// silent was ready, and has not said so for a while.
	silent
	ready
)

// fresh is how long ago a backend may have been asked that is ready. A backend that
// ends refuses the next request, so another API server in its place is not taken for it,
// even by a balancer that stood still meanwhile.
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

// Address returns where the balancer listens.
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

// Close ends the balancer and all its connections.
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

// serve connects a client to the best backend that accepts. A client waits for a ready one
// where one may be expected: an API server that starts takes its request and refuses it.
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

// dial connects to the best backend that accepts; the connection is nil where none does.
func (b *Balancer) dial(ctx context.Context) (*backend, net.Conn) {
	for _, be := range b.order() {
		dialer := net.Dialer{Timeout: dialTimeout}
		if server, err := dialer.DialContext(ctx, "tcp", be.address); err == nil {
			return be, server
		}
	}
	return nil, nil
}

// expectsReady reports whether a client that came at a moment waits for a ready backend.
func (b *Balancer) expectsReady(came time.Time) bool {
	return time.Since(came) < b.patience.ready && slices.ContainsFunc(b.backends, func(be *backend) bool {
		be.mu.Lock()
		defer be.mu.Unlock()
		return time.Since(be.wasReady) < b.patience.ready
	})
}

// order returns the backends in the order to try them: the best ones first, each
// time starting with another.
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

// join copies both ways until both ends have finished or either fails.
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

// forward copies one direction and passes its end on.
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

// probe asks the backend for its readiness until the end.
func (be *backend) probe(ctx context.Context, p patience) {
	// The certificate is not ours to check: clients check it through us.
	// Each request has a connection of its own: one that is repeated, because the API
	// server has ended, is one that the next API server keeps.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	client := &http.Client{Transport: transport, Timeout: p.probe}
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	var wasReady, answered time.Time // when it last was, and did; wasReady is zero when nothing is to be closed
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

// told notes the answer of a backend that was asked at a moment, or that it gave none.
func (be *backend) told(asked time.Time, isReady bool, err error) {
	be.mu.Lock()
	defer be.mu.Unlock()
	switch timeout := net.Error(nil); {
	case isReady:
		be.ended, be.wasReady = false, asked
	case errors.As(err, &timeout) && timeout.Timeout():
		// It may be slow, and may have ended before it was asked.
	default:
		be.ended = true
	}
}

// isReadyNow asks once. The error means that the backend did not answer.
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
