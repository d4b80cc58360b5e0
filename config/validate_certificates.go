package config

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Algorithms are those that keys can be made with.
func Algorithms() []string {
	return []string{"RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256", "ECDSA-P384"}
}

// certificates checks how certificates are made, and the CAs that are given.
func (c checker) certificates(cl *Cluster) {
	p := cl.Certificates
	c.absolute("certificates.dir", p.Dir)
	c.oneOf("certificates.algorithm", "Unknown key algorithm", p.Algorithm, Algorithms()...)
	c.periods(p)
	external := false
	for _, ca := range []struct {
		name string
		ca   GivenCA
	}{{"ca", p.CA}, {"front_proxy_ca", p.FrontProxyCA}, {"etcd_ca", p.EtcdCA}} {
		c.givenCA("certificates."+ca.name, ca.ca, p.Supplied)
		external = external || !ca.ca.IsZero() && ca.ca.Key.IsZero()
	}
	switch {
	case p.Supplied != "" && !external:
		c.errorf("certificates.supplied", "Nothing to be supplied", "supplied is for a CA whose key is not at hand, and every CA here has its key. Remove it, or give a CA's certificate without its key.")
	case cl.UploadCerts && !p.CA.IsZero() && !p.CA.OnHosts:
		c.errorf("upload_certs", "Certificates cannot be uploaded", "upload_certs puts the CA's key into the cluster, and that key stays with you. Write on_hosts = true in the block ca, or leave upload_certs out.")
	}
}

// periods checks how long certificates are valid.
func (c checker) periods(p Certificates) {
	const valid, ca, renew = "certificates.validity", "certificates.ca_validity", "certificates.renew_before"
	bad := false
	for path, d := range map[string]time.Duration{valid: p.Validity, ca: p.CAValidity, renew: p.RenewBefore} {
		if d <= 0 && c.written(path) {
			c.errorf(path, "Duration is not positive", "Certificates would end before they begin.")
			bad = true
		}
	}
	if bad || p.Validity == 0 || p.CAValidity == 0 {
		return
	}
	if p.Validity > p.CAValidity {
		c.errorf(valid, "Certificates outlive their CA", "validity (%s) is longer than ca_validity (%s). A certificate is worth nothing after its CA.", p.Validity, p.CAValidity)
	}
	if p.RenewBefore >= p.Validity {
		c.errorf(renew, "Certificates are always due", "renew_before (%s) is not less than validity (%s): every plan would renew every certificate.", p.RenewBefore, p.Validity)
	}
	if p.Validity > DefaultValidity {
		c.warnf(valid, "Long validity", "%s is more than kubeadm's recommended year. A stolen key can be used for as long; certificates are renewed by an apply, and by every upgrade.", p.Validity)
	}
	if p.CAValidity > DefaultCAValidity {
		c.warnf(ca, "Long validity", "%s is more than kubeadm's recommended ten years.", p.CAValidity)
	}
}

// givenCA checks a CA of the operator's.
func (c checker) givenCA(path string, ca GivenCA, supplied string) {
	if ca.IsZero() {
		return
	}
	cert := c.caCertificate(path+".certificate", ca.Certificate)
	switch {
	case ca.Key.IsZero() && ca.OnHosts:
		c.errorf(path+".on_hosts", "CA without key", "on_hosts copies the key to the control planes, and there is no key.")
	case ca.Key.IsZero() && supplied == "":
		c.errorf(path, "CA without key", "Without the CA's key nothing can be signed. Give key, or supply certificates and kubeconfigs per node in a folder: supplied = \"DIR\".")
	case !ca.Key.IsZero() && cert != nil:
		c.caKey(path+".key", ca.Key.Reveal(), cert)
	}
}

// caCertificate parses the first certificate, which is the one that signs.
func (c checker) caCertificate(path, text string) *x509.Certificate {
	const summary = "Invalid CA certificate"
	if text == "" {
		return nil
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		hint := ""
		if !strings.Contains(text, "\n") {
			hint = " A path alone is not read: write file(\"ca.crt\")."
		}
		c.errorf(path, summary, "This is not PEM, which begins with -----BEGIN CERTIFICATE-----.%s", hint)
		return nil
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	switch {
	case block.Type != "CERTIFICATE" || err != nil:
		c.errorf(path, summary, "The first block of this PEM is no certificate.")
		return nil
	case !cert.IsCA || !cert.BasicConstraintsValid:
		c.errorf(path, summary, "The certificate %q is not that of a CA: it cannot sign others.", cert.Subject)
		return nil
	case cert.KeyUsage != 0 && cert.KeyUsage&x509.KeyUsageCertSign == 0:
		c.errorf(path, summary, "The certificate %q may not sign others: its key usage does not say so.", cert.Subject)
	}
	return cert
}

// caKey wants the key of the certificate.
func (c checker) caKey(path string, text []byte, cert *x509.Certificate) {
	const summary = "Invalid CA key"
	key, err := parseKey(text)
	if err != nil {
		c.errorf(path, summary, "%s.", err)
		return
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil || !bytes.Equal(public, cert.RawSubjectPublicKeyInfo) {
		c.errorf(path, summary, "This is not the key of the CA certificate.")
	}
}

// parseKey reads a private key. Its errors hold nothing of it.
func parseKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("this is not PEM, which begins with -----BEGIN PRIVATE KEY-----; a path alone is not read: write file(\"ca.key\")")
	}
	if strings.Contains(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "" {
		return nil, errors.New("the key is encrypted; decrypt it and give it in a sensitive variable")
	}
	for _, parse := range []func([]byte) (any, error){
		x509.ParsePKCS8PrivateKey,
		func(b []byte) (any, error) { return x509.ParsePKCS1PrivateKey(b) },
		func(b []byte) (any, error) { return x509.ParseECPrivateKey(b) },
	} {
		if k, err := parse(block.Bytes); err == nil {
			if s, ok := k.(crypto.Signer); ok {
				return s, nil
			}
		}
	}
	return nil, errors.New("the PEM holds no private key of RSA, ECDSA or Ed25519")
}

var (
	tokenPattern = regexp.MustCompile(`^([a-z0-9]{6})\.[a-z0-9]{16}$`)
	groupPattern = regexp.MustCompile(`^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$`)
)

// tokens checks bootstrap tokens.
func (c checker) tokens(tokens []BootstrapToken) {
	ids := map[string]bool{}
	for _, t := range tokens {
		const summary = "Invalid bootstrap token"
		if !t.Token.IsZero() {
			m := tokenPattern.FindSubmatch(t.Token.Reveal())
			if m == nil {
				c.errorAt(t.Source, summary, "A token is six characters, a dot and sixteen characters, of lower case letters and digits, as in \"abcdef.0123456789abcdef\".")
			} else if ids[string(m[1])] {
				c.errorAt(t.Source, summary, "Two tokens have the same first part, which is their name.")
			} else {
				ids[string(m[1])] = true
			}
		}
		if t.TTL < 0 {
			c.errorAt(t.Source, summary, "ttl is negative; \"0s\" is for ever.")
		}
		if t.Expires != "" {
			if t.TTL != 0 {
				c.errorAt(t.Source, summary, "ttl and expires exclude each other.")
			}
			if _, err := time.Parse(time.RFC3339, t.Expires); err != nil {
				c.errorAt(t.Source, summary, "expires is %s, which is no moment such as \"2030-01-02T15:04:05Z\".", Quote(t.Expires))
			}
		}
		c.tokenUse(t)
	}
}

func (c checker) tokenUse(t BootstrapToken) {
	const summary = "Invalid bootstrap token"
	for _, u := range t.Usages {
		if u != "signing" && u != "authentication" {
			c.errorAt(t.Source, summary, "%s is no usage: signing, authentication.%s", Quote(u), didYouMean(u, DefaultTokenUsages()))
		}
	}
	for _, g := range t.Groups {
		if !groupPattern.MatchString(g) {
			c.errorAt(t.Source, summary, "%s is no group for bootstrap tokens; those are system:bootstrappers: and more, in lower case.", Quote(g))
		}
	}
	if len(t.Groups) > 0 && !slices.Contains(t.Usages, "authentication") {
		c.errorAt(t.Source, summary, "Groups are given, but the token is not for authentication.")
	}
}
