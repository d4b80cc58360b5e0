package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

// stageBundle concatenates CA certificates, or public keys. As for kubeadm, the first in
// the file is the signing CA.
func (g *group) stageBundle(j *job, op planner.BundleTrust) error {
	if strings.HasSuffix(op.To, pub) {
		return g.stagePublicKeys(j, op)
	}
	var bundle authority
	for _, path := range op.Of {
		certs, err := g.certificates(g.on, path)
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", op.To, err)
		}
		if !certs[0].IsCA {
			return fmt.Errorf("cannot write %s: the certificate in %s is not that of a CA", op.To, path)
		}
		if !has(bundle.certs, certs[0]) {
			bundle.certs = append(bundle.certs, certs[0])
		}
	}
	if content, ok := g.content(g.on, op.To); ok && bytes.Equal(content, bundle.bundle()) {
		return nil
	}
	g.put(j, op.To, publicMode, rootOwner, bundle.bundle())
	return nil
}

// stagePublicKeys concatenates public keys, one per file.
func (g *group) stagePublicKeys(j *job, op planner.BundleTrust) error {
	var bundle []byte
	seen := map[string]bool{}
	for _, path := range op.Of {
		content, ok := g.content(g.on, path)
		if !ok {
			return fmt.Errorf("cannot write %s: %s is not there", op.To, path)
		}
		keys, err := parsePublicKeys(content)
		if err != nil {
			return fmt.Errorf("cannot write %s: %s: %w", op.To, path, err)
		}
		if first := string(keys[0]); !seen[first] {
			seen[first] = true
			bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: blockPublicKey, Bytes: keys[0]})...)
		}
	}
	if content, ok := g.content(g.on, op.To); ok && bytes.Equal(content, bundle) {
		return nil
	}
	g.put(j, op.To, secretMode, rootOwner, bundle)
	return nil
}

func has(certs []*x509.Certificate, c *x509.Certificate) bool {
	for _, other := range certs {
		if other.Equal(c) {
			return true
		}
	}
	return false
}

// certificates returns the certificates in a file.
func (g *group) certificates(host providers.Host, path string) ([]*x509.Certificate, error) {
	content, ok := g.content(host, path)
	if !ok {
		return nil, fmt.Errorf("%s is not there", path)
	}
	certs, err := parseCertificates(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return certs, nil
}

// trusted returns the PEM of the CAs that a kubeconfig trusts: those in a file on the CA's
// host, or else the CA's own.
func (g *group) trusted(j *job, ca *authority, path string) ([]byte, error) {
	if path == "" {
		return ca.bundle(), nil
	}
	certs, err := g.certificates(j.source, path)
	if err != nil {
		return nil, err
	}
	return (&authority{certs: certs}).bundle(), nil
}
