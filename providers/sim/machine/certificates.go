package machine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/state"
)

// Certificates are the certificates and keys on a machine, and the CAs that its programs trust.
type Certificates struct{ m *Machine }

// Certificates returns the certificates and keys on the machine.
func (m *Machine) Certificates() Certificates { return Certificates{m} }

// AllAt returns the certificates in a file, or of the CAs in its kubeconfig.
func (cs Certificates) AllAt(path string) []state.CertificateInfo {
	f := cs.m.Resolve(file.Clean(path))
	if f == nil || f.Record == nil {
		return nil
	}
	if k := f.Record.Kubeconfig; k != nil {
		return k.CAs
	}
	return f.Record.Certificates
}

// KeyDigests returns the identities of the CAs in a file, or in its kubeconfig.
func (cs Certificates) KeyDigests(path string) []string {
	var out []string
	for _, c := range cs.AllAt(path) {
		out = append(out, c.KeyDigest)
	}
	return out
}

// Verify returns why a client on the machine that trusts these CAs refuses a certificate,
// or nil. An expired CA is not trusted (crypto/x509).
func (cs Certificates) Verify(cas []state.CertificateInfo, c *state.CertificateInfo) error {
	err := errors.New("x509: certificate signed by unknown authority")
	for i := range cas {
		switch {
		case cas[i].KeyDigest != c.IssuerKeyDigest:
		case cs.CheckTime(&cas[i]) == nil:
			return nil
		default:
			err = errors.New("x509: certificate has expired or is not yet valid: that of its CA")
		}
	}
	return err
}

// PublicKeys returns the identities of the public keys in a file, or of its private key.
func (cs Certificates) PublicKeys(path string) []string {
	f := cs.m.Resolve(file.Clean(path))
	switch {
	case f == nil || f.Record == nil:
		return nil
	case f.Record.Key != "":
		return []string{f.Record.Key}
	}
	return f.Record.PublicKeys()
}

// IssuedBy reports whether the first certificate in a file is signed by one of the CAs.
func (cs Certificates) IssuedBy(path string, cas []string) bool {
	f := cs.m.Resolve(file.Clean(path))
	if f == nil || f.Record == nil || len(f.Record.Certificates) == 0 || len(cas) == 0 {
		return true // no certificate is shown, or none is verified
	}
	return slices.Contains(cas, f.Record.Certificates[0].IssuerKeyDigest)
}

// At returns the first certificate of a file, with the checks that its user makes.
func (cs Certificates) At(certFile, keyFile string) (*state.CertificateInfo, error) {
	f := cs.m.Resolve(file.Clean(certFile))
	if f == nil || f.Record == nil || len(f.Record.Certificates) == 0 {
		return nil, fmt.Errorf("open %s: no certificate", certFile)
	}
	c := &f.Record.Certificates[0]
	if keyFile != "" {
		key := cs.m.Resolve(file.Clean(keyFile))
		if key == nil || key.Record == nil || key.Record.Key != c.KeyDigest {
			return nil, fmt.Errorf("%s: private key does not match public key", certFile)
		}
	}
	return c, cs.CheckTime(c)
}

// CheckTime checks a certificate's validity period.
func (cs Certificates) CheckTime(c *state.CertificateInfo) error {
	switch now := cs.m.Clock(); {
	case now.Before(c.NotBefore):
		return fmt.Errorf("certificate of %s is not yet valid: current time %s is before %s", c.CommonName, Timestamp(now), Timestamp(c.NotBefore))
	case now.After(c.NotAfter):
		return fmt.Errorf("certificate of %s has expired: current time %s is after %s", c.CommonName, Timestamp(now), Timestamp(c.NotAfter))
	}
	return nil
}

// Timestamp returns a time in the format of the API.
func Timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// PathIfPresent returns the path of a key, or "" if the file was removed: a running
// component has read it already.
func (cs Certificates) PathIfPresent(path string) string {
	if cs.m.Resolve(file.Clean(path)) == nil {
		return ""
	}
	return path
}

// StillTrusts is Trusts for a running component: it keeps using a file that was removed
// after its start.
func (cs Certificates) StillTrusts(caFile string, c *state.CertificateInfo) bool {
	return cs.m.Resolve(file.Clean(caFile)) == nil || cs.Trusts(caFile, c)
}

// Trusts reports whether the CA file on a host has the certificate's issuer.
func (cs Certificates) Trusts(caFile string, c *state.CertificateInfo) bool {
	f := cs.m.Resolve(file.Clean(caFile))
	if f == nil || f.Record == nil {
		return false
	}
	for _, ca := range f.Record.Certificates {
		if ca.KeyDigest == c.IssuerKeyDigest && cs.CheckTime(&ca) == nil {
			return true
		}
	}
	return false
}

// OfKubeconfig returns a kubeconfig's client certificate, inlined or in a file.
func (cs Certificates) OfKubeconfig(k *state.KubeconfigInfo) *state.CertificateInfo {
	if k.Client != nil || k.ClientCertificate == "" {
		return k.Client
	}
	c, err := cs.At(k.ClientCertificate, "")
	if err != nil {
		return nil
	}
	return c
}

// HasKey reports whether any host has the key of one of the CAs.
func (fl *Fleet) HasKey(cas []string) bool {
	for _, m := range fl.Hosts {
		for _, f := range m.Files {
			if f.Record != nil && slices.Contains(cas, f.Record.Key) {
				return true
			}
		}
	}
	return false
}

// Backdate is how long before now certificates begin, as with kubeadm.
const Backdate = 5 * time.Minute

// CARecord returns a self-signed CA with the given key.
func (fl *Fleet) CARecord(name, algorithm string, validity time.Duration, key string) *file.Record {
	return &file.Record{Key: key, Certificates: []state.CertificateInfo{{
		CommonName: name, DNSNames: []string{name}, Usages: []string{"digital signature", "key encipherment", "cert sign"}, IsCA: true,
		Algorithm: algorithm, NotBefore: fl.Now.Add(-Backdate), NotAfter: fl.Now.Add(validity),
		Serial: fl.Derive(16, "serial", key), Issuer: name, KeyDigest: key, IssuerKeyDigest: key,
	}}}
}
