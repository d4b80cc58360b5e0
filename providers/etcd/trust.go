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

// A member that answers, and with which one side does not trust the other's
// certificate, looks to gRPC as one that does not answer in time: it tries again
// until its time is over. So it is watched what becomes of handshakes.

// untrustedError is that of a member which answered, and with which no connection
// came about for want of trust: nothing was asked of it.
type untrustedError struct {
	endpoint string
	cause    error
}

func (e *untrustedError) Error() string { return e.endpoint + ": " + e.cause.Error() }
func (e *untrustedError) Unwrap() []error {
	return []error{providers.ErrUntrusted, providers.ErrUnreachable, e.cause}
}

// trust keeps why a connection did not come about for want of trust; nil when it did.
func (r *remote) trust(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = err
}

// watching are credentials that tell what becomes of handshakes.
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
	return &listened{conn, w.tell}, info, nil
}

// Clone implements credentials.TransportCredentials.
func (w watching) Clone() credentials.TransportCredentials {
	return watching{w.TransportCredentials.Clone(), w.tell}
}

// listened is a connection of which the other side may still say that it does not
// trust us: in TLS 1.3 it does so behind the handshake.
type listened struct {
	net.Conn
	tell func(error)
}

// Read implements net.Conn.
func (w *listened) Read(b []byte) (int, error) {
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
// who cannot write to it would not read why.
func (w *listened) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	if err != nil && w.SetReadDeadline(time.Now().Add(time.Second)) == nil {
		_, _ = w.Read(make([]byte, 1))
	}
	return n, err
}

// untrusted tells of an error of TLS that we do not trust the other side's
// certificate, or that it has sent an alert (crypto/tls gives that this form).
func untrusted(err error) bool {
	if _, ours := errors.AsType[*tls.CertificateVerificationError](err); ours {
		return true
	}
	alert, ok := errors.AsType[*net.OpError](err)
	return ok && alert.Op == "remote error"
}
