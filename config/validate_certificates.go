package config

import (
	"crypto/x509"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config/keypair"
)

// Algorithms returns the key algorithms.
func Algorithms() []string {
	return []string{"RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256", "ECDSA-P384"}
}

// certificates checks how certificates are made, and the operator's CAs.
func (c checker) certificates(cl *Cluster) {
	p := cl.Certificates
	c.ownFolder("certificates.dir", p.Dir)
	c.oneOf("certificates.algorithm", "Unknown key algorithm", p.Algorithm, Algorithms()...)
	c.periods(p)
	external := false
	for _, ca := range []struct {
		name string
		ca   GivenCA
	}{{"ca", p.CA}, {"front_proxy_ca", p.FrontProxyCA}, {"etcd_ca", p.EtcdCA}} {
		if ca.name == "etcd_ca" && cl.Etcd.External != nil {
			continue // it is misplaced, which is reported
		}
		c.givenCA("certificates."+ca.name, ca.ca, p.Supplied)
		// A written but empty one could not be read, which is reported.
		external = external || ca.ca.Key.IsZero() && (!ca.ca.IsZero() || c.written("certificates."+ca.name))
	}
	switch {
	case p.Supplied != "" && !external:
		c.errorf("certificates.supplied", "Nothing to be supplied", "supplied is for a CA whose key is not at hand, and every CA here has its key. Remove it, or give a CA's certificate without its key.")
	case cl.UploadCerts && !p.CA.IsZero() && !p.CA.OnHosts:
		c.errorf("upload_certs", "Certificates cannot be uploaded", "upload_certs puts the CA's key into the cluster, and that key stays with you. Write on_hosts = true in the block ca, or leave upload_certs out.")
	}
	c.signingCA(cl)
	c.certificateKey(cl)
}

// signingCA requires the CA with which the controller manager signs to be a single certificate:
// it exits if its file has more (pkg/controller/certificates/signer).
func (c checker) signingCA(cl *Cluster) {
	ca := cl.Certificates.CA
	certs, err := keypair.ParseCertificates([]byte(ca.Certificate))
	if err != nil || len(certs) == 1 || !ca.OnHosts || lastArg(cl.ControllerManager.Args, "cluster-signing-cert-file") != "" {
		return
	}
	names := make([]string, len(certs))
	for i, cert := range certs {
		names[i] = Quote(cert.Subject.CommonName)
	}
	c.errorf("certificates.ca.certificate", "Invalid CA certificate", "There are %d certificates: %s. With on_hosts the controller manager signs with this file, and it exits if there is more than one in it. Provide only the first: clients that trust it need no other.", len(certs), strings.Join(names, ", "))
}

// certificateKey checks the key that encrypts uploaded certificates: AES-256.
func (c checker) certificateKey(cl *Cluster) {
	if cl.CertificateKey.IsZero() {
		return
	}
	if key, err := hex.DecodeString(string(cl.CertificateKey.Reveal())); err != nil || len(key) != 32 {
		c.errorf("certificate_key", "Invalid certificate key", "A certificate key is 64 hex digits. Make one with: kubeadm certs certificate-key, or openssl rand -hex 32.")
	}
	if !cl.UploadCerts {
		c.warnf("certificate_key", "Certificate key is not used", "Nothing is uploaded without upload_certs = true. Write that as well, or remove the key.")
	}
}

// periods checks how long certificates are valid.
func (c checker) periods(p Certificates) {
	const valid, ca, renew = "certificates.validity", "certificates.ca_validity", "certificates.renew_before"
	bad := false
	for path, d := range map[string]time.Duration{valid: p.Validity, ca: p.CAValidity, renew: p.RenewBefore} {
		if d <= 0 && c.written(path) {
			what, such := "Certificates would expire before they are valid", DefaultValidity
			if path == renew {
				what, such = "Certificates would be renewed only after they have expired", DefaultRenewBefore
			}
			c.errorf(path, "Duration is not positive", "%s. Write a duration such as %q.", what, Duration(such))
			bad = true
		}
	}
	if bad || p.Validity == 0 || p.CAValidity == 0 {
		return
	}
	if p.Validity > p.CAValidity {
		c.errorf(valid, "Certificates outlive their CA", "validity (%s) is longer than ca_validity (%s). A certificate is worth nothing after its CA.", Duration(p.Validity), Duration(p.CAValidity))
	}
	if p.RenewBefore >= p.Validity {
		c.errorf(renew, "Certificates are always due", "renew_before (%s) is not less than validity (%s): every plan would renew every certificate. Write a shorter renew_before.", Duration(p.RenewBefore), Duration(p.Validity))
	}
	if p.Validity > DefaultValidity {
		c.warnf(valid, "Long validity", "%s is more than kubeadm's recommended year. A stolen key can be used for as long; certificates are renewed by an apply, and by every upgrade.", Duration(p.Validity))
	}
	if p.CAValidity > DefaultCAValidity {
		c.warnf(ca, "Long validity", "%s is more than kubeadm's recommended ten years. A stolen key of the CA can be used for as long.", Duration(p.CAValidity))
	}
}

// givenCA checks a CA of the operator.
func (c checker) givenCA(path string, ca GivenCA, supplied string) {
	if ca.IsZero() {
		return
	}
	cert := c.caCertificate(path+".certificate", ca.Certificate)
	switch {
	case ca.Key.IsZero() && ca.OnHosts:
		c.errorf(path+".on_hosts", "CA without key", "on_hosts copies the key to the control planes, and there is no key. Give key, or remove on_hosts.")
	case ca.Key.IsZero() && supplied == "":
		c.errorf(path, "CA without key", "Without the CA's key nothing can be signed. Give key, or supply certificates and kubeconfigs per node in a folder: supplied = \"DIR\".")
	case !ca.Key.IsZero() && cert != nil:
		c.caKey(path+".key", ca.Key.Reveal(), cert)
	}
	if cert != nil && ca.OnHosts && cert.PublicKeyAlgorithm == x509.Ed25519 {
		c.errorf(path+".on_hosts", "Invalid CA key", "kubeadm and the controller manager read keys of RSA and ECDSA only, and this one is of Ed25519. Leave on_hosts out, so that the key stays with you, or take another CA.")
	}
}

// caCertificate parses the first certificate, which is the one that signs.
func (c checker) caCertificate(path, text string) *x509.Certificate {
	const summary = "Invalid CA certificate"
	if text == "" {
		return nil
	}
	cert, err := keypair.ParseCertificate([]byte(text))
	if err != nil {
		c.errorf(path, summary, "%s.%s", sentence(err), pathHint(text, "ca.crt"))
		return nil
	}
	if err := keypair.Signs(cert); err != nil {
		c.errorf(path, summary, "The certificate is %q, and %s.", cert.Subject, err)
		return nil
	}
	return cert
}

// caKey requires the key to belong to the certificate.
func (c checker) caKey(path string, text []byte, cert *x509.Certificate) {
	const summary = "Invalid CA key"
	if err := keypair.KeyBelongs(cert, text); err != nil {
		c.errorf(path, summary, "%s.%s", sentence(err), pathHint(string(text), "ca.key"))
	}
}

// pathHint returns a hint for a text that looks like the path of a file.
func pathHint(text, example string) string {
	if strings.Contains(text, "\n") || strings.Contains(text, "-----") {
		return ""
	}
	return " A path alone is not read: write file(\"" + example + "\")."
}

// sentence capitalizes the text of an error.
func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

var (
	tokenPattern = regexp.MustCompile(`^([a-z0-9]{6})\.[a-z0-9]{16}$`)
	groupPattern = regexp.MustCompile(`^system:bootstrappers:[a-z0-9:-]*[a-z0-9]$`)
)

// isGroup reports whether a bootstrap token may authenticate as a group: up to 256 characters
// follow the prefix. They are counted here since a pattern with that bound takes a millisecond
// to compile, at the start of every command.
func isGroup(s string) bool {
	return len(s) <= len("system:bootstrappers:")+256 && groupPattern.MatchString(s)
}

// tokens checks bootstrap tokens.
func (c checker) tokens(tokens []BootstrapToken) {
	ids := map[string]bool{}
	for _, t := range tokens {
		const summary = "Invalid bootstrap token"
		if !t.Token.IsZero() {
			m := tokenPattern.FindSubmatch(t.Token.Reveal())
			if m == nil {
				c.errorAt(t.Source, summary, "A token is six characters, a dot and sixteen characters, of lower case letters and digits. Make one with kubeadm token generate, or leave token out, so that one is made.")
			} else if ids[string(m[1])] {
				c.errorAt(t.Source, summary, "Two tokens have the same first part, which is their name. Make another with kubeadm token generate.")
			} else {
				ids[string(m[1])] = true
			}
		}
		if t.TTL < 0 {
			c.errorAt(t.Source, summary, "ttl is negative; \"0s\" is forever.")
		}
		if t.Expires != "" {
			if t.TTL != 0 {
				c.errorAt(t.Source, summary, "ttl and expires exclude each other. Write one of them.")
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
		if !isGroup(g) {
			c.errorAt(t.Source, summary, "%s is not a group for bootstrap tokens; those begin with system:bootstrappers: and continue in lower case.", Quote(g))
		}
	}
	if len(t.Groups) > 0 && !slices.Contains(t.Usages, "authentication") {
		c.errorAt(t.Source, summary, "Groups are given, but the token is not for authentication. Remove them, or add \"authentication\" to usages.")
	}
}
