package config_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/keypair"
	"github.com/kubewright/kubewright/state"
)

func selfSigned(t *testing.T, key crypto.Signer, change func(*x509.Certificate)) string {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "given"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if change != nil {
		change(c)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return block("CERTIFICATE", der)
}

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func pkcs8(t *testing.T, key crypto.Signer) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return block("PRIVATE KEY", der)
}

// TestOperatorCAMatchesItsKey checks that a CA of the operator is compared with its key before any host is
// observed.
func TestOperatorCAMatchesItsKey(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	large, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	own := selfSigned(t, key, nil)
	for name, c := range map[string]struct {
		certificate, key string
		onHosts          bool
		want             string
	}{
		"chain stays": {own + selfSigned(t, large, nil), pkcs8(t, key), false, ""},
		"chain on hosts": {
			own + selfSigned(t, large, func(c *x509.Certificate) { c.Subject.CommonName = "root" }), pkcs8(t, key), true,
			"Invalid CA certificate: There are 2 certificates: \"given\", \"root\". With on_hosts the controller manager signs with this file, and it exits if there is more than one in it. Provide only the first: clients that trust it need no other.",
		},
		"PKCS #8":          {own, pkcs8(t, key), true, ""},
		"OpenSSL's SEC 1":  {own, block("EC PARAMETERS", []byte{6, 8}) + block("EC PRIVATE KEY", sec1), true, ""},
		"PKCS #1":          {selfSigned(t, large, nil), block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(large)), true, ""},
		"Ed25519 stays":    {selfSigned(t, edwards, nil), pkcs8(t, edwards), false, ""},
		"Ed25519 on hosts": {selfSigned(t, edwards, nil), pkcs8(t, edwards), true, "kubeadm and the controller manager read keys of RSA and ECDSA only, and this one is of Ed25519. Leave on_hosts out, so that the key stays with you, or take another CA."},
		"another key":      {own, pkcs8(t, large), false, "This is not the key of the certificate."},
		"no key":           {own, "ca.key", false, `A path alone is not read: write file("ca.key").`},
		"encrypted key":    {own, block("ENCRYPTED PRIVATE KEY", sec1), false, "The key is encrypted"},
		"no CA":            {selfSigned(t, key, func(c *x509.Certificate) { c.IsCA = false }), pkcs8(t, key), false, "The certificate is \"CN=given\", and it is not that of a CA: it cannot sign others."},
		"may not sign": {
			selfSigned(t, key, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature }), pkcs8(t, key), false,
			"it may not sign others: its key usage does not allow it",
		},
		"key instead": {pkcs8(t, key), pkcs8(t, key), false, "A block of this PEM is no certificate."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl := config.NewCluster("prod", "1.36.3")
			cl.Certificates.CA = config.GivenCA{Certificate: c.certificate, Key: state.NewSecret([]byte(c.key)), OnHosts: c.onHosts}
			cfg := &config.Config{Clusters: []*config.Cluster{cl}, Nodes: []*config.Node{{
				Target: state.NodeTarget("a"), Cluster: "prod", Role: config.ControlPlane, Address: "10.0.0.1", Connection: config.Connection{Type: "ssh"},
			}}}
			var text []string
			for _, d := range cfg.Validate() {
				if strings.Contains(d.Summary, "CA") {
					text = append(text, d.Summary+": "+d.Detail)
				}
			}
			all := strings.Join(text, "\n")
			if c.want == "" && all != "" || !strings.Contains(all, c.want) || len(text) > 1 {
				t.Errorf("got %q, want %q", all, c.want)
			}
			for _, line := range strings.Split(c.key, "\n") {
				if len(line) > 20 && !strings.HasPrefix(line, "-----") && strings.Contains(all, line) {
					t.Error("the message contains the key")
				}
			}
		})
	}
}

// TestOtherSigningFileAllowsCAChain checks that a controller manager that signs with another file accepts
// further certificates after the CA.
func TestOtherSigningFileAllowsCAChain(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cl := config.NewCluster("prod", "1.36.3")
	cl.Certificates.CA = config.GivenCA{Certificate: selfSigned(t, key, nil) + selfSigned(t, key, nil), Key: state.NewSecret([]byte(pkcs8(t, key))), OnHosts: true}
	cl.ControllerManager.Args = []config.Arg{{Name: "cluster-signing-cert-file", Value: "/etc/kubernetes/pki/signing.crt"}}
	for _, d := range (&config.Config{Clusters: []*config.Cluster{cl}}).Validate() {
		if strings.Contains(d.Summary, "CA") {
			t.Error(d)
		}
	}
}

// TestResolveReference checks that a reference resolves to a value that a plan does not hold, and to
// nothing else.
func TestResolveReference(t *testing.T) {
	t.Parallel()
	cl := config.NewCluster("prod", "1.36.3")
	cl.Certificates.EtcdCA = config.GivenCA{Certificate: "crt", Key: state.NewSecret([]byte("hush"))}
	cfg := &config.Config{Clusters: []*config.Cluster{config.NewCluster("a", "1.36.3"), cl}}
	s, err := cfg.Resolve(cl.Reference("certificates.etcd_ca.key"))
	if err != nil || string(s.Reveal()) != "hush" {
		t.Errorf("got %q, %v", s.Reveal(), err)
	}
	for _, ref := range []string{"", "config:", "config:cluster.prod#certificates.ca.key", "config:cluster.a#certificates.etcd_ca.key", "config:cluster.prod#name"} {
		if s, err := cfg.Resolve(ref); err == nil || !s.IsZero() {
			t.Errorf("%s: found something", ref)
		}
	}
}

// TestInvalidKeysAreRefused checks that an invalid key is refused without quoting any of it.
func TestInvalidKeysAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ca.key": "this is not PEM, which begins with -----BEGIN PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n":                 "the PEM holds no private key of RSA, ECDSA or Ed25519",
		"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n": "the key is encrypted; decrypt it and give it in a sensitive variable",
	} {
		if _, err := keypair.ParseKey([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}
