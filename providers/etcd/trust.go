package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/kubewright/kubewright/providers"
)

// When one side does not trust the other's certificate, gRPC reports the member as one that
// does not answer in time, because it retries until the deadline. So the handshakes are
// watched.

// untrustedError reports a member that answered, but with which no connection could be made
// for lack of trust: it got no request.
type untrustedError struct {
	endpoint string
	cause    error
}

func (e *untrustedError) Error() string { return e.endpoint + ": " + e.cause.Error() }
func (e *untrustedError) Unwrap() []error {
	return []error{providers.ErrUntrusted, providers.ErrUnreachable, e.cause}
}

// trust records the TLS error that prevented a connection; nil after a successful one.
func (r *remote) trust(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = err
}

// watching are credentials that report the result of handshakes.
type watching struct {
	credentials.TransportCredentials
	tell func(error)
}

// ClientHandshake implements credentials.TransportCredentials.
func (w watching) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		if untrusted(err) {
			w.tell(err)
		}
		return conn, info, err
	}
	return &listened{conn, w.tell, make(chan struct{}, 1)}, info, nil
}

// Clone implements credentials.TransportCredentials.
func (w watching) Clone() credentials.TransportCredentials {
	return watching{w.TransportCredentials.Clone(), w.tell}
}

// listened is a connection on which the other side may still reject our certificate: in TLS
// 1.3 it does so after the handshake.
type listened struct {
	net.Conn
	tell func(error)
	// reading is held by the reader: a failed write waits here, and not for the connection's lock,
	// until a read that is under way has met its deadline.
	reading chan struct{}
}

// Read implements net.Conn.
func (w *listened) Read(b []byte) (int, error) {
	w.reading <- struct{}{}
	defer func() { <-w.reading }()
	n, err := w.Conn.Read(b)
	switch {
	case n > 0:
		w.tell(nil)
	case err != nil && untrusted(err):
		w.tell(err)
	}
	return n, err
}

// Write implements net.Conn. The other side may have closed the connection by now, and
// without this read its alert would be lost when the write fails.
func (w *listened) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	if err != nil && w.SetReadDeadline(time.Now().Add(time.Second)) == nil {
		_, _ = w.Read(make([]byte, 1))
	}
	return n, err
}

// untrusted reports whether a TLS error means that we do not trust the other side's
// certificate, or that the other side has sent an alert (crypto/tls reports those in this
// form).
func untrusted(err error) bool {
	if _, ours := errors.AsType[*tls.CertificateVerificationError](err); ours {
		return true
	}
	alert, ok := errors.AsType[*net.OpError](err)
	return ok && alert.Op == "remote error"
}
