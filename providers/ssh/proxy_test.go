package ssh_test

import (
	"net"
	"sync"
	"testing"
)

// proxy forwards TCP connections to a server, up to a number of bytes in each direction;
// Then determines what happens after that. A negative number means no limit.
type proxy struct {
	ToClient, ToServer int64
	// Then is stall, or cut.
	Then proxyEnd

	listener net.Listener
	target   string
	frozen   chan struct{}
	mu       sync.Mutex
	conns    []net.Conn
}

// proxyEnd is the behaviour of a proxy after a direction has had its bytes.
type proxyEnd int

// The ends.
const (
	stall proxyEnd = iota // send nothing more, like a silent packet filter
	cut                   // close both sides
)

// newProxy starts a proxy in front of addr that ends with the test.
func newProxy(t testing.TB, addr string, toClient, toServer int64, then proxyEnd) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{ToClient: toClient, ToServer: toServer, Then: then, listener: l, target: addr, frozen: make(chan struct{})}
	go p.accept()
	t.Cleanup(p.close)
	return p
}

// Port returns the port on which the proxy listens.
func (p *proxy) Port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Freeze stops forwarding without closing anything.
func (p *proxy) Freeze() { close(p.frozen) }

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		go p.pass(client, server, p.ToClient)
		go p.pass(server, client, p.ToServer)
	}
}

func (p *proxy) pass(dst, src net.Conn, limit int64) {
	buf := make([]byte, 32<<10)
	var err error
	for n := 0; err == nil && limit != 0; {
		chunk := buf
		if limit > 0 {
			chunk = buf[:min(limit, int64(len(buf)))]
		}
		n, err = src.Read(chunk)
		select {
		case <-p.frozen:
			return
		default:
		}
		if _, werr := dst.Write(chunk[:n]); werr != nil {
			err = werr
		}
		if limit > 0 {
			limit -= int64(n)
		}
	}
	if err != nil || p.Then == cut {
		_ = dst.Close()
		_ = src.Close()
	}
}
