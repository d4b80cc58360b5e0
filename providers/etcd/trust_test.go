package etcd_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/test/bufconn"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/etcd"
	"github.com/kubewright/kubewright/state"
)

// authority signs one certificate, for a server and for a client.
type authority struct {
	ca, certificate, key []byte
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "etcd-ca"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed := func(template *x509.Certificate) []byte {
		der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return authority{signed(ca), signed(leaf), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})}
}

// holder is a host with etcd's client certificate.
type holder struct {
	dialer
	ca     []byte
	client authority
	// cut: nothing can be written any more after a handshake.
	cut bool
}

func (h holder) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := h.dialer.DialContext(ctx, network, address)
	if err == nil && h.cut {
		conn = &cutOff{Conn: conn}
	}
	return conn, err
}

// cutOff is a connection that the other side has closed after the two writes of a client's
// handshake (RFC 8446 §2).
type cutOff struct {
	net.Conn
	written int
}

func (c *cutOff) Write(b []byte) (int, error) {
	if c.written++; c.written > 2 {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(b)
}

func (h holder) ReadSecrets(context.Context, []string) (map[string]state.Secret, error) {
	return map[string]state.Secret{
		"/pki/etcd/ca.crt": state.NewSecret(h.ca), "/pki/etcd/healthcheck-client.crt": state.NewSecret(h.client.certificate), "/pki/etcd/healthcheck-client.key": state.NewSecret(h.client.key),
	}, nil
}

// TestUntrustedEtcdIsNotSilent checks that an etcd that answers, but with which one side does not trust
// the other, is distinguished from a silent one.
func TestUntrustedEtcdIsNotSilent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trusted, known bool // the server by us, and our certificate by the server
		cut            bool
		want           bool
	}{
		"it does not trust us":         {trusted: true, want: true},
		"it does not, and has closed":  {trusted: true, cut: true, want: true},
		"we do not trust it":           {known: true, want: true},
		"no server is there to answer": {trusted: true, known: true},
		"it trusts us, and has closed": {trusted: true, known: true, cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := newAuthority(t), newAuthority(t)
				l := bufconn.Listen(64 << 10)
				if !c.want && !c.cut {
					l.Close()
				} else {
					s := grpc.NewServer(grpc.Creds(credentials.NewTLS(serverConfig(t, theirs))))
					go s.Serve(l) //nolint:errcheck // ends with the test
					t.Cleanup(s.Stop)
				}
				host := holder{dialer{to: l}, ours.ca, ours, c.cut}
				if c.trusted {
					host.ca = theirs.ca
				}
				if c.known {
					host.client = theirs
				}
				client, err := etcd.Open(t.Context(), host, []string{"https://127.0.0.1:2379"}, etcd.Options{Folder: "/pki"})
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				_, _, err = client.Members(t.Context())
				if err == nil || errors.Is(err, providers.ErrUntrusted) != c.want || c.want && !errors.Is(err, providers.ErrUnreachable) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// serverConfig returns the TLS configuration of an etcd as set up by kubeadm.
func serverConfig(t *testing.T, a authority) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair(a.certificate, a.key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.ca)
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
}
