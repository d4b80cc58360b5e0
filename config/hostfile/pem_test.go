package hostfile_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config/hostfile"
)

// TestCertificatesAndKeysAreRead checks what components take as the files of certificates and keys, and
// what they do not.
func TestCertificatesAndKeysAreRead(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must := func(der []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	must(nil, err)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), SubjectKeyId: []byte{1}, KeyUsage: x509.KeyUsageCRLSign, NotAfter: time.Now().Add(time.Hour)}
	certificate := must(x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key))
	list := must(x509.CreateRevocationList(rand.Reader, &x509.RevocationList{Number: big.NewInt(1), NextUpdate: time.Now().Add(time.Hour)}, ca, key))
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	public := block("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(key.Public())))
	pkcs8, sec1 := block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key))), block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(key)))
	cert, parameters := block("CERTIFICATE", certificate), block("EC PARAMETERS", []byte{6})
	for _, c := range []struct{ argument, content, want string }{
		{"client-ca-file", cert, ""},
		{"client-ca-file", "# ours\n" + public + cert + cert, ""},
		{"client-ca-file", public, "no certificate"},
		{"tls-cert-file", cert + block("CERTIFICATE", []byte("x")), "damaged"},
		{"trusted-ca-file", "", "no certificate"},
		{"tls-private-key-file", pkcs8, ""},
		{"tls-private-key-file", parameters + sec1, ""},
		{"tls-private-key-file", "", "not PEM"},
		{"key-file", cert, "no private key"},
		{"key-file", block("ENCRYPTED PRIVATE KEY", []byte("x")), "encrypted"},
		{"key-file", block("RSA PRIVATE KEY", []byte("x")), "no private key"},
		{"service-account-signing-key-file", public, "no private key"},
		{"service-account-key-file", public, ""},
		{"service-account-key-file", cert, ""},
		{"service-account-key-file", sec1, ""},
		{"service-account-key-file", "none", "no key"},
		{"auth-token", pkcs8, ""},
		{"client-crl-file", string(list), ""},
		{"client-crl-file", block("X509 CRL", list), "in DER, not in PEM"},
		{"token-auth-file", "anything", ""},
	} {
		got := ""
		if err := hostfile.Check(c.argument, c.content); err != nil {
			got = err.Error()
		}
		if got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("--%s: %q, want %q, of\n%s", c.argument, got, c.want, c.content)
		}
	}
}
