package shell

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/kubewright/kubewright/state"
)

// errSeen ends a handshake once the server has shown its certificate, so that our own is
// not tried.
var errSeen = errors.New("seen")

// ServedCertificate implements providers.Host.
func (h *Host) ServedCertificate(ctx context.Context, address string) (state.CertificateInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, httpTimeout)
	defer cancel()
	conn, err := h.DialContext(ctx, "tcp", address)
	if err != nil {
		return state.CertificateInfo{}, err
	}
	defer conn.Close()
	var served state.CertificateInfo
	client := tls.Client(conn, &tls.Config{
		MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, //nolint:gosec // it is compared with a file of the host's
		VerifyConnection: func(s tls.ConnectionState) error {
			served = state.CertificateInfoOf(s.PeerCertificates[0])
			return errSeen
		},
	})
	if err := client.HandshakeContext(ctx); !errors.Is(err, errSeen) {
		return state.CertificateInfo{}, fmt.Errorf("cannot see the certificate at %s: %w", address, err)
	}
	return served, nil
}
