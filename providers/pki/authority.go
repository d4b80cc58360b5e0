package pki

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"slices"
	"time"

	"github.com/kubewright/kubewright/planner"
)

// backdate is how long before now a certificate begins, for clocks that are behind.
const backdate = 5 * time.Minute

// authority is a CA in memory.
type authority struct {
	// certs are the certificates in its file; the first one signs, all are trusted.
	certs []*x509.Certificate
	// key is nil if only the certificate is known.
	key crypto.Signer
}

// loadAuthority reads a CA; key may be empty.
func loadAuthority(crt, key []byte) (*authority, error) {
	certs, err := parseCertificates(crt)
	if err != nil {
		return nil, err
	}
	if !certs[0].IsCA {
		return nil, errors.New("the certificate is not that of a CA")
	}
	a := &authority{certs: certs}
	if len(key) == 0 {
		return a, nil
	}
	if a.key, err = parseKey(key); err != nil {
		return nil, err
	}
	public, ok := a.key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(certs[0].PublicKey) {
		return nil, errors.New("the key does not belong to the certificate")
	}
	return a, nil
}

// bundle returns the PEM of all certificates in the CA's file.
func (a *authority) bundle() []byte {
	var out []byte
	for _, c := range a.certs {
		out = append(out, encodeCertificate(c.Raw)...)
	}
	return out
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: der})
}

// sign makes the certificate for a public key.
func (a *authority) sign(template *x509.Certificate, public crypto.PublicKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, a.certs[0], public, a.key)
	if err != nil {
		return nil, fmt.Errorf("cannot sign certificate: %w", err)
	}
	return encodeCertificate(der), nil
}

// selfSigned makes the certificate of a CA. As with kubeadm, its name is also its only DNS
// name, and it has no path length.
func selfSigned(op planner.IssueCA, key crypto.Signer, now time.Time) ([]byte, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: op.CommonName},
		DNSNames:              []string{op.CommonName},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(op.Validity),
		KeyUsage:              x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("cannot sign certificate: %w", err)
	}
	return encodeCertificate(der), nil
}

// leafTemplate returns a certificate template as kubeadm makes it: two key usages for all
// algorithms, DNS names sorted, every name once.
func leafTemplate(op planner.IssueCertificate, notBefore, notAfter time.Time) (*x509.Certificate, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	usages, err := extendedUsages(op.Usages)
	if err != nil {
		return nil, err
	}
	ips, err := addresses(op.IPAddresses)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(op.DNSNames)
	slices.Sort(names)
	return &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: op.CommonName, Organization: slices.Clone(op.Organizations)},
		DNSNames:              slices.Compact(names),
		IPAddresses:           ips,
		NotBefore:             notBefore,
		NotAfter:              notAfter,
		KeyUsage:              x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           usages,
		BasicConstraintsValid: true,
	}, nil
}

func extendedUsages(words []string) ([]x509.ExtKeyUsage, error) {
	var out []x509.ExtKeyUsage
	for _, w := range words {
		switch w {
		case serverAuth:
			out = append(out, x509.ExtKeyUsageServerAuth)
		case clientAuth:
			out = append(out, x509.ExtKeyUsageClientAuth)
		case "digital signature", "key encipherment":
			// Every leaf has these.
		default:
			return nil, fmt.Errorf("usage %q is neither %q nor %q", w, serverAuth, clientAuth)
		}
	}
	return out, nil
}

func addresses(texts []string) ([]net.IP, error) {
	var out []net.IP
	for _, text := range texts {
		ip := net.ParseIP(text)
		if ip == nil {
			return nil, fmt.Errorf("%q is no IP address", text)
		}
		if !slices.ContainsFunc(out, ip.Equal) {
			out = append(out, ip)
		}
	}
	return out, nil
}

// newSerial is uniform in [1, 2^63-1).
func newSerial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(math.MaxInt64-1))
	if err != nil {
		return nil, fmt.Errorf("internal error: cannot make serial number: %w", err)
	}
	return n.Add(n, big.NewInt(1)), nil
}
