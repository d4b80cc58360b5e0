package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/state"
)

// The types of PEM blocks, as kubeadm names them.
const (
	blockCertificate = "CERTIFICATE"
	blockRSAKey      = "RSA PRIVATE KEY"
	blockECKey       = "EC PRIVATE KEY"
	blockPKCS8Key    = "PRIVATE KEY"
	blockPublicKey   = "PUBLIC KEY"
)

// ParseCertificates reads the public parts of the certificates in PEM, in order. It ignores
// blocks of other types, including keys. It fills IssuerKeyDigest if the signer is in the
// same file (or is the certificate itself); Link does the same across files. It fails if
// there is no certificate, or one that cannot be parsed.
func ParseCertificates(b []byte) ([]state.CertificateInfo, error) {
	certs, err := parseCertificates(b)
	if err != nil {
		return nil, err
	}
	if len(certs) > mostCertificates {
		return nil, fmt.Errorf("it holds %d certificates, more than %d", len(certs), mostCertificates)
	}
	infos, signatures := make([]state.CertificateInfo, len(certs)), mostSignatures
	for i, c := range certs {
		infos[i] = state.CertificateInfoOf(c)
		infos[i].IssuerKeyDigest = issuerDigest(c, certs, &signatures)
	}
	return infos, nil
}

func parseCertificates(b []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			break
		}
		if block.Type != blockCertificate {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("cannot parse certificate: %w", err)
		}
		certs = append(certs, c)
	}
	if len(certs) == 0 {
		return nil, errors.New("cannot parse certificate: no PEM block CERTIFICATE")
	}
	return certs, nil
}

const (
	serverAuth = "server auth"
	clientAuth = "client auth"
)

const (
	// mostCertificates limits the certificates in a file of a host. The bundles of
	// distributions have 150.
	mostCertificates = 1000
	// mostSignatures limits the signatures that are verified for the files of one host,
	// where every certificate may have the name of every CA.
	mostSignatures = 2000
)

// issuerDigest returns the identity of the first candidate that signed c, or "". left is
// the remaining number of signatures to verify.
func issuerDigest(c *x509.Certificate, candidates []*x509.Certificate, left *int) string {
	for _, ca := range candidates {
		if !bytes.Equal(c.RawIssuer, ca.RawSubject) {
			continue
		}
		if *left--; *left < 0 {
			return ""
		}
		if c.CheckSignatureFrom(ca) == nil {
			return state.KeyDigest(ca)
		}
	}
	return ""
}

// Link fills IssuerKeyDigest of the certificates in a report by verifying them against the
// CA certificates of the same report. Until then the observer leaves the PEM of a
// certificate file in Content; Link removes it, since a report contains no file content
// that was not requested.
func Link(files map[string]state.FileReport) {
	parsed, signatures := map[string][]*x509.Certificate{}, mostSignatures
	var cas []*x509.Certificate
	for path, f := range files {
		if len(f.Certificates) == 0 {
			continue
		}
		certs, err := parseCertificates(f.Content)
		if err != nil || len(certs) != len(f.Certificates) {
			continue
		}
		parsed[path] = certs
		for _, c := range certs {
			if c.IsCA {
				cas = append(cas, c)
			}
		}
	}
	for path, f := range files {
		if len(f.Certificates) == 0 {
			continue
		}
		f.Certificates = slices.Clone(f.Certificates)
		for i, c := range parsed[path] {
			if digest := issuerDigest(c, cas, &signatures); digest != "" {
				f.Certificates[i].IssuerKeyDigest = digest
			}
		}
		f.Content = nil
		files[path] = f
	}
}
