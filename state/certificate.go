package state

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"slices"
)

// CertificateInfoOf returns the fields of a certificate. IssuerKeyDigest stays empty: it takes
// the certificates of the CAs to find the signer.
func CertificateInfoOf(c *x509.Certificate) CertificateInfo {
	info := CertificateInfo{
		CommonName:    c.Subject.CommonName,
		Organizations: slices.Clone(c.Subject.Organization),
		DNSNames:      slices.Clone(c.DNSNames),
		Usages:        usages(c),
		IsCA:          c.IsCA,
		Algorithm:     algorithmOf(c.PublicKey),
		NotBefore:     c.NotBefore.UTC(),
		NotAfter:      c.NotAfter.UTC(),
		Serial:        c.SerialNumber.Text(16),
		Issuer:        c.Issuer.CommonName,
		KeyDigest:     KeyDigest(c),
	}
	for _, ip := range c.IPAddresses {
		info.IPAddresses = append(info.IPAddresses, ip.String())
	}
	return info
}

// KeyDigest returns the identity of a certificate's key: the hex SHA-256 of the public key in
// PKIX form, as in kubeadm's discovery hash.
func KeyDigest(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// usages returns the key usages by the names of CertificateInfo, in its order.
func usages(c *x509.Certificate) []string {
	var out []string
	for _, u := range []struct {
		bit  x509.KeyUsage
		name string
	}{
		{x509.KeyUsageDigitalSignature, "digital signature"},
		{x509.KeyUsageKeyEncipherment, "key encipherment"},
		{x509.KeyUsageCertSign, "cert sign"},
	} {
		if c.KeyUsage&u.bit != 0 {
			out = append(out, u.name)
		}
	}
	for _, u := range []struct {
		usage x509.ExtKeyUsage
		name  string
	}{
		{x509.ExtKeyUsageServerAuth, "server auth"},
		{x509.ExtKeyUsageClientAuth, "client auth"},
	} {
		if slices.Contains(c.ExtKeyUsage, u.usage) {
			out = append(out, u.name)
		}
	}
	return out
}

// algorithmOf returns the name of a public key's algorithm in the form of kubeadm's
// encryptionAlgorithm.
func algorithmOf(key any) string {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA-%d", k.N.BitLen())
	case *ecdsa.PublicKey:
		return fmt.Sprintf("ECDSA-P%d", k.Curve.Params().BitSize)
	case ed25519.PublicKey:
		return "Ed25519"
	}
	return "unknown"
}
