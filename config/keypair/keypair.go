package keypair

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
)

// ParseCertificate parses the first certificate in PEM, which in a CA file is the one that
// signs.
func ParseCertificate(text []byte) (*x509.Certificate, error) {
	certs, err := ParseCertificates(text)
	if err != nil {
		return nil, err
	}
	return certs[0], nil
}

// ParseCertificates parses PEM in which every block is a certificate, at least one.
func ParseCertificates(text []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			return nil, errors.New("a block of this PEM is no certificate")
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("this is not PEM, which begins with -----BEGIN CERTIFICATE-----")
	}
	return certs, nil
}

// Signs says why a certificate cannot be a CA's, or returns nil.
func Signs(cert *x509.Certificate) error {
	switch {
	case !cert.IsCA || !cert.BasicConstraintsValid:
		return errors.New("it is not that of a CA: it cannot sign others")
	case cert.KeyUsage != 0 && cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return errors.New("it may not sign others: its key usage does not allow it")
	}
	return nil
}

// ParseKey parses a private key in PEM: PKCS #8, PKCS #1 or SEC 1. It skips other blocks before
// it, such as OpenSSL's EC PARAMETERS. Its errors quote nothing of it.
func ParseKey(text []byte) (crypto.Signer, error) {
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, errors.New("this is not PEM, which begins with -----BEGIN PRIVATE KEY-----")
	}
	for ; block != nil; block, rest = pem.Decode(rest) {
		if strings.Contains(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "" {
			return nil, errors.New("the key is encrypted; decrypt it and give it in a sensitive variable")
		}
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue
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
	}
	return nil, errors.New("the PEM holds no private key of RSA, ECDSA or Ed25519")
}

// KeyBelongs says why a private key in PEM does not belong to the certificate, or returns nil.
// Its errors quote nothing of the key.
func KeyBelongs(cert *x509.Certificate, text []byte) error {
	key, err := ParseKey(text)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil || !bytes.Equal(public, cert.RawSubjectPublicKeyInfo) {
		return errors.New("this is not the key of the certificate")
	}
	return nil
}
