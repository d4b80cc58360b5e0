package http

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/state/backend"
)

// TestSlowHandshakeIsNoError checks that a server that takes half a minute for its TLS handshake,
// longer than Go's default limit, is read.
func TestSlowHandshakeIsNoError(t *testing.T) {
	t.Parallel()
	served := httptest.NewTLSServer(nil)
	certificates := served.TLS.Certificates
	served.Close()
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		client, err := newClient(backend.Settings{"skip_cert_verification": "true", "retry_max": "0", "retry_wait_min": "0", "retry_wait_max": "0"})
		if err != nil {
			t.Fatal(err)
		}
		transport := client.HTTPClient.Transport.(*nethttp.Transport)
		transport.Proxy = nil
		transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return here, nil }
		go func() {
			time.Sleep(30 * time.Second)
			conn := tls.Server(there, &tls.Config{Certificates: certificates})
			if _, err := conn.Read(make([]byte, 4096)); err != nil {
				t.Errorf("the server reads: %v", err)
			}
			if _, err := conn.Write([]byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")); err != nil {
				t.Errorf("the server writes: %v", err)
			}
			_, _ = io.Copy(io.Discard, conn) // until the client closes
			_ = there.Close()
		}()
		defer transport.CloseIdleConnections()
		answer, err := client.Get("https://states.example.com/prod")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.StatusCode != nethttp.StatusNotFound {
			t.Errorf("status %s", answer.Status)
		}
	})
}
