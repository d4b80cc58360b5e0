package balancer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// An apiServer is a stand-in for an API server that can stop being ready.
type apiServer struct {
	*httptest.Server
	unready atomic.Bool
	silent  atomic.Bool
	probes  atomic.Int32
	held    atomic.Int32
	release chan struct{} // closed when requests for /held may be answered
}

func newAPIServer(t *testing.T, name string) *apiServer {
	t.Helper()
	s := &apiServer{release: make(chan struct{})}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/wait":
			s.held.Add(1)
			<-r.Context().Done()
		case r.URL.Path == "/held":
			s.held.Add(1)
			<-s.release
			io.WriteString(w, name)
		case r.URL.Path == "/readyz" && s.silent.Load():
			<-r.Context().Done()
		case r.URL.Path == "/readyz" && s.unready.Load():
			s.probes.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			io.WriteString(w, name)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *apiServer) address() string { return s.Listener.Addr().String() }

// refusing returns an address where nothing listens.
func refusing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func newBalancer(t *testing.T, backends ...string) *Balancer {
	t.Helper()
	return newPatientBalancer(t, usual, backends...)
}

func newPatientBalancer(t *testing.T, p patience, backends ...string) *Balancer {
	t.Helper()
	b, err := start("127.0.0.1:0", backends, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// get requests a path through the balancer, each time on a new connection.
func get(t *testing.T, b *Balancer, path string) (string, error) {
	t.Helper()
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}
	resp, err := client.Get("https://" + b.Address() + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

func waitReady(t *testing.T, b *Balancer, want ...string) {
	t.Helper()
	err := process.Until(t.Context(), 20*time.Second, 10*time.Millisecond, "backends", func(context.Context) error {
		if got := b.Ready(); !slices.Equal(got, want) {
			return errors.New("other backends are ready")
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v: ready are %v, want %v", err, b.Ready(), want)
	}
}

func TestRefusedConnectionGoesToAnotherBackend(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, "one")
	server.unready.Store(true) // as during a bootstrap
	b := newBalancer(t, refusing(t), server.address(), refusing(t))
	for range 6 {
		if got, err := get(t, b, "/"); err != nil || got != "one" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
}

// TestUnreadyBackendGetsNoNewRequest checks that a backend that was ready and now holds requests, as
// a starting API server does, is used only if no other one is left.
func TestUnreadyBackendGetsNoNewRequest(t *testing.T) {
	t.Parallel()
	servers := []*apiServer{newAPIServer(t, "a"), newAPIServer(t, "b")}
	p := patience{probe: time.Hour, unready: time.Hour, silent: time.Hour}
	b := newPatientBalancer(t, p, servers[0].address(), servers[1].address())
	waitReady(t, b, servers[0].address(), servers[1].address())
	servers[0].silent.Store(true)
	waitReady(t, b, servers[1].address())
	for range 4 {
		if got, err := get(t, b, "/"); err != nil || got != "b" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	servers[1].unready.Store(true)
	waitReady(t, b)
	if got, err := get(t, b, "/"); err != nil || got != "a" {
		t.Fatalf("got %q, %v", got, err)
	}
}

// TestClientWaitsForAReadyBackend checks that a client waits while no backend is ready for a
// moment, instead of reaching one that refuses.
func TestClientWaitsForAReadyBackend(t *testing.T) {
	t.Parallel()
	servers := []*apiServer{newAPIServer(t, "a"), newAPIServer(t, "b"), newAPIServer(t, "c")}
	p := patience{probe: usual.probe, ready: time.Hour, unready: time.Hour, silent: time.Hour}
	b := newPatientBalancer(t, p, servers[0].address(), servers[1].address(), servers[2].address())
	waitReady(t, b, servers[0].address(), servers[1].address(), servers[2].address())
	for _, s := range servers[:2] {
		s.unready.Store(true)
	}
	servers[2].silent.Store(true)
	waitReady(t, b)
	answers := make(chan string, 3)
	for range cap(answers) {
		go func() {
			got, err := get(t, b, "/")
			answers <- fmt.Sprint(got, err)
		}()
	}
	waitFor(t, &servers[0].probes, servers[0].probes.Load()+2)
	if len(answers) > 0 {
		t.Errorf("a client got %q while no backend was ready", <-answers)
	}
	servers[1].unready.Store(false)
	for range cap(answers) {
		if got := <-answers; got != "b<nil>" {
			t.Errorf("got %q", got)
		}
	}
}

// TestEndedBackendIsNotReady checks that an API server that ends during a probe, and whose
// successor holds requests, gets no new ones.
func TestEndedBackendIsNotReady(t *testing.T) {
	t.Parallel()
	be := &backend{}
	be.told(time.Now(), true, nil)
	be.told(time.Now(), false, &url.Error{Op: "Get", Err: io.EOF})
	if be.now() != unready {
		t.Errorf("a backend whose connection has ended is in state %d", be.now())
	}
	be.told(time.Now(), false, &url.Error{Op: "Get", Err: context.DeadlineExceeded})
	if be.now() != unready {
		t.Errorf("a backend that was not ready since and does not answer is in state %d", be.now())
	}
	be.told(time.Now(), true, nil)
	if be.now() != ready {
		t.Errorf("a ready backend is in state %d", be.now())
	}
	be.told(time.Now().Add(-fresh), true, nil) // the balancer was paused meanwhile
	if be.now() != silent {
		t.Errorf("a backend that was ready some time ago is in state %d", be.now())
	}
}

func TestReadyBackendsArePreferredInTurn(t *testing.T) {
	t.Parallel()
	servers := []*apiServer{newAPIServer(t, "a"), newAPIServer(t, "b"), newAPIServer(t, "c")}
	servers[1].unready.Store(true)
	b := newBalancer(t, servers[0].address(), servers[1].address(), servers[2].address())
	waitReady(t, b, servers[0].address(), servers[2].address())
	seen := map[string]bool{}
	for range 6 {
		got, err := get(t, b, "/")
		if err != nil {
			t.Fatal(err)
		}
		seen[got] = true
	}
	if !seen["a"] || !seen["c"] || seen["b"] {
		t.Errorf("answers came from %v", seen)
	}
}

// TestUnreadyBackendAnswersOpenRequests checks that a backend that becomes unready still answers its open
// requests.
func TestUnreadyBackendAnswersOpenRequests(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, "one")
	b := newPatientBalancer(t, patience{probe: usual.probe, unready: time.Hour, silent: time.Millisecond}, server.address())
	waitReady(t, b, server.address())
	answered := make(chan error, 1)
	go func() {
		_, err := get(t, b, "/held")
		answered <- err
	}()
	waitFor(t, &server.held, 1)
	server.unready.Store(true)
	waitFor(t, &server.probes, 3)
	close(server.release)
	if err := <-answered; err != nil {
		t.Errorf("the answer was cut off: %v", err)
	}
}

// waitFor waits until a counter reaches a number.
func waitFor(t *testing.T, count *atomic.Int32, want int32) {
	t.Helper()
	err := process.Until(t.Context(), 20*time.Second, time.Millisecond, "requests", func(context.Context) error {
		if got := count.Load(); got < want {
			return fmt.Errorf("%d have come", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLostBackendConnectionsAreClosed checks that the connections to a lost backend are closed
// after a while.
func TestLostBackendConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patience patience
		lose     func(*apiServer)
	}{
		"unready": {patience{probe: usual.probe, unready: time.Millisecond, silent: time.Hour}, func(s *apiServer) { s.unready.Store(true) }},
		"silent":  {patience{probe: time.Second, unready: time.Hour, silent: time.Millisecond}, func(s *apiServer) { s.silent.Store(true) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newAPIServer(t, "one")
			b := newPatientBalancer(t, c.patience, server.address())
			waitReady(t, b, server.address())
			ended := make(chan error)
			go func() {
				_, err := get(t, b, "/wait")
				ended <- err
			}()
			waitFor(t, &server.held, 1)
			c.lose(server)
			select {
			case err := <-ended:
				if err == nil {
					t.Error("the connection ended without an error")
				}
			case <-time.After(15 * time.Second):
				t.Error("the connection to a lost backend stays open")
			}
		})
	}
}

func TestNoBackendClosesTheConnection(t *testing.T) {
	t.Parallel()
	if _, err := get(t, newBalancer(t, refusing(t)), "/"); err == nil {
		t.Error("a request without backends succeeded")
	}
}

func TestCloseEndsConnections(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, "one")
	b := newBalancer(t, server.address())
	waitReady(t, b, server.address())
	conn, err := net.Dial("tcp", b.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the connection stays open: %v", err)
	}
}
