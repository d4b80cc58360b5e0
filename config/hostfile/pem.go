package hostfile

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"unicode/utf8"

	"github.com/kubewright/kubewright/config/keypair"
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
	_, err := keypair.ParseKey(content)
	return err
}

// readKeys requires a public key, a private one or a certificate, among other things
// (k8s.io/client-go/util/keyutil: ParsePublicKeysPEM).
func readKeys(content []byte) error {
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		_, pkix := x509.ParsePKIXPublicKey(block.Bytes)
		_, pkcs1 := x509.ParsePKCS1PublicKey(block.Bytes)
		_, certificate := x509.ParseCertificate(block.Bytes)
		if pkix == nil || pkcs1 == nil || certificate == nil {
			return nil
		}
	}
	if readPrivateKey(content) == nil {
		return nil
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
