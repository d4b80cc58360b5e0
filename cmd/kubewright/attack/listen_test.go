package attack

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
)

// listen returns the address of an HTTP server that must never receive a text.
func (a *arena) listen(secret string) string {
	a.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b, err := httputil.DumpRequest(r, true); err != nil || strings.Contains(string(b), secret) {
			a.Errorf("sent to an address of the attacker's:\n%s", b)
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	a.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// serve returns the address of a server that notes connections and closes them.
func (a *arena) serve(connected func()) string {
	a.Helper()
	return a.accept(func(c net.Conn) {
		connected()
		_ = c.Close()
	}).String()
}

// accept handles each connection in a goroutine until the attack ends, and returns the address
// of the server.
func (a *arena) accept(handle func(net.Conn)) *net.TCPAddr {
	a.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	a.must(err)
	a.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go handle(c)
		}
	}()
	return l.Addr().(*net.TCPAddr)
}
