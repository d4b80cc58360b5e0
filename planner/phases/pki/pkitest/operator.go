// Package pkitest plays the operator who keeps the keys of a cluster's CAs: it creates CAs, and signs
// everything that kubewright has to be supplied with. It is for tests only.
package pkitest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner/phases/pki"
)

// CA is a CA with its key.
type CA struct {
	certificate *x509.Certificate
	key         crypto.Signer
	// Certificate and Key are PEM.
	Certificate, Key []byte
}

// NewCA creates a CA that is valid for ten years from the given time. The algorithm is RSA or ECDSA.
func NewCA(t testing.TB, name, algorithm string, from time.Time) *CA {
	t.Helper()
	ca := &CA{key: newKey(t, algorithm), certificate: &x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{"Example"}}}}
	ca.Reissue(t, from)
	ca.Key = EncodeKey(t, ca.key)
	return ca
}

// Reissue issues the CA's certificate again for the same key, valid for ten years from the given time.
func (ca *CA) Reissue(t testing.TB, from time.Time) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: ca.certificate.Subject,
		NotBefore: from, NotAfter: from.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	ca.certificate, ca.Certificate = ca.sign(t, template, template, ca.key.Public())
}

func newKey(t testing.TB, algorithm string) crypto.Signer {
	t.Helper()
	var key crypto.Signer
	var err error
	if algorithm == "RSA" {
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	} else {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	must(t, err)
	return key
}

func serial(t testing.TB) *big.Int {
	t.Helper()
	n, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	must(t, err)
	return n
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (ca *CA) sign(t testing.TB, template, parent *x509.Certificate, public crypto.PublicKey) (*x509.Certificate, []byte) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, ca.key)
	must(t, err)
	c, err := x509.ParseCertificate(der)
	must(t, err)
	return c, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// EncodeKey encodes a private key as OpenSSL does (PKCS #8).
func EncodeKey(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// Supply signs a supply's certificate, valid for the given period, and returns its files by their path
// below the folder. If change is not nil, it may modify the certificate before it is signed.
func (ca *CA) Supply(t testing.TB, s pki.Supply, from, to time.Time, change func(*x509.Certificate)) map[string][]byte {
	t.Helper()
	key := newKey(t, "ECDSA")
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: s.Certificate.CommonName, Organization: s.Certificate.Organizations},
		NotBefore: from, NotAfter: to, DNSNames: s.Certificate.DNSNames, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	for _, ip := range s.Certificate.IPAddresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(ip))
	}
	for _, u := range s.Certificate.ExtendedUsages() {
		usage := x509.ExtKeyUsageClientAuth
		if u == "server auth" {
			usage = x509.ExtKeyUsageServerAuth
		}
		template.ExtKeyUsage = append(template.ExtKeyUsage, usage)
	}
	if change != nil {
		change(template)
	}
	_, certificate := ca.sign(t, template, ca.certificate, key.Public())
	if s.Kubeconfig == nil {
		return map[string][]byte{s.Name + ".crt": certificate, s.Name + ".key": EncodeKey(t, key)}
	}
	b64 := base64.StdEncoding.EncodeToString
	return map[string][]byte{s.Name: fmt.Appendf(nil, kubeconfig,
		b64(ca.Certificate), s.Kubeconfig.Server, b64(certificate), b64(EncodeKey(t, key)))}
}

// kubeconfig has the format that kubectl config writes.
const kubeconfig = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: %s
    server: %s
  name: prod
contexts:
- context:
    cluster: prod
    user: user
  name: user@prod
current-context: user@prod
kind: Config
preferences: {}
users:
- name: user
  user:
    client-certificate-data: %s
    client-key-data: %s
`
