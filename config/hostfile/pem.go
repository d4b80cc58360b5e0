package hostfile

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"unicode/utf8"
)

// The errors of these readers quote nothing of a file, which may hold a key.

// readCertificates requires certificates, among other things (k8s.io/client-go/util/cert: ParseCertsPEM,
// and crypto/tls: X509KeyPair).
func readCertificates(content []byte) error {
	found := false
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return errors.New("a certificate in it is damaged")
		}
		found = true
	}
	if !found {
		return errors.New("it holds no certificate")
	}
	return nil
}

// readPrivateKey requires a private key without a passphrase, among other things.
func readPrivateKey(content []byte) error {
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
			return errors.New("its key is encrypted with a passphrase, for which nothing asks")
		case !strings.HasSuffix(block.Type, "PRIVATE KEY"):
		case isPrivateKey(block.Bytes):
			return nil
		default:
			return errors.New("its key is damaged, or of an unknown type")
		}
	}
	return errors.New("it holds no private key")
}

func isPrivateKey(der []byte) bool {
	_, pkcs1 := x509.ParsePKCS1PrivateKey(der)
	_, pkcs8 := x509.ParsePKCS8PrivateKey(der)
	_, sec1 := x509.ParseECPrivateKey(der)
	return pkcs1 == nil || pkcs8 == nil || sec1 == nil
}

// readKeys requires a public key, a private one or a certificate, among other things
// (k8s.io/client-go/util/keyutil: ParsePublicKeysPEM).
func readKeys(content []byte) error {
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		_, pkix := x509.ParsePKIXPublicKey(block.Bytes)
		_, pkcs1 := x509.ParsePKCS1PublicKey(block.Bytes)
		_, certificate := x509.ParseCertificate(block.Bytes)
		if pkix == nil || pkcs1 == nil || certificate == nil || isPrivateKey(block.Bytes) {
			return nil
		}
	}
	return errors.New("it holds no key")
}

// readRevocations requires a list of revoked certificates as etcd reads it (client/pkg/transport: checkCRL):
// in DER, which is no text.
func readRevocations(content []byte) error {
	if utf8.Valid(content) {
		return errors.New("etcd reads it in DER, not in PEM, and a file block holds text alone. " + Provide("etcd", revocationArgs[0], ""))
	}
	return nil
}
