package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
)

// DefaultAlgorithm is kubeadm's default for encryptionAlgorithm.
const DefaultAlgorithm = "RSA-2048"

// NewKey makes a private key with one of kubeadm's algorithms.
func NewKey(algorithm string) (crypto.Signer, error) {
	switch algorithm {
	case "", "RSA-2048":
		return rsa.GenerateKey(rand.Reader, 2048)
	case "RSA-3072":
		return rsa.GenerateKey(rand.Reader, 3072)
	case "RSA-4096":
		return rsa.GenerateKey(rand.Reader, 4096)
	case "ECDSA-P256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ECDSA-P384":
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	}
	return nil, fmt.Errorf("cannot make key: algorithm %q is none of RSA-2048, RSA-3072, RSA-4096, ECDSA-P256, ECDSA-P384", algorithm)
}

// encodeKey writes a private key as kubeadm does: PKCS#1 or SEC 1.
func encodeKey(key crypto.Signer) ([]byte, error) {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return pem.EncodeToMemory(&pem.Block{Type: blockRSAKey, Bytes: x509.MarshalPKCS1PrivateKey(k)}), nil
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(k)
		if err != nil {
			return nil, fmt.Errorf("internal error: cannot encode key: %w", err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: blockECKey, Bytes: der}), nil
	}
	return nil, fmt.Errorf("internal error: cannot encode key of type %T", key)
}

// encodePublicKey writes a public key as kubeadm writes sa.pub.
func encodePublicKey(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("internal error: cannot encode public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockPublicKey, Bytes: der}), nil
}

// ParsePublicKeys returns the identities of the public keys in PEM: the hex SHA-256 of each
// in PKIX form. It fails if there is none.
func ParsePublicKeys(b []byte) ([]string, error) {
	keys, err := parsePublicKeys(b)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, der := range keys {
		sum := sha256.Sum256(der)
		out = append(out, hex.EncodeToString(sum[:]))
	}
	return out, nil
}

// parsePublicKeys reads public keys in PEM, and returns them in PKIX form. It refuses
// content that an API server would parse in another way.
func parsePublicKeys(b []byte) ([][]byte, error) {
	var out [][]byte
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			break
		}
		if block.Type != blockPublicKey {
			return nil, errors.New("cannot parse public keys: there is a " + strconv.Quote(block.Type) + " block among them")
		}
		if _, err := x509.ParsePKIXPublicKey(block.Bytes); err != nil {
			return nil, errors.New("cannot parse public keys: a block is damaged")
		}
		out = append(out, block.Bytes)
	}
	if len(out) == 0 {
		return nil, errors.New("cannot parse public keys: there is none")
	}
	return out, nil
}

// parseKey reads the first private key in PEM. Its errors quote nothing of it.
func parseKey(b []byte) (crypto.Signer, error) {
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			return nil, errors.New("cannot parse key: no PEM block with a private key")
		}
		var key any
		var err error
		switch block.Type {
		case blockRSAKey:
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case blockECKey:
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case blockPKCS8Key:
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		default:
			continue
		}
		if err != nil {
			return nil, errors.New("cannot parse key: the " + block.Type + " block is damaged")
		}
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, errors.New("cannot parse key: it cannot sign")
	}
}
