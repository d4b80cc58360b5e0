package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"math/big"

	"golang.org/x/crypto/cryptobyte"
)

// PublicOf returns the identity of a key, as ParsePublicKeys does, from the public part of
// a private key's DER encoding, in base64: from the beginning up to RSA's exponent, or from
// the middle up to the point at the end. It is nil if the identity cannot be derived: then
// the key is unknown, but may be a good one.
func PublicOf(part string) []string {
	der, err := base64.StdEncoding.DecodeString(part)
	if err != nil {
		return nil
	}
	key := rsaIn(der)
	if key == nil {
		key = pointIn(der)
	}
	if key == nil {
		return nil
	}
	pkix, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(pkix)
	return []string{hex.EncodeToString(sum[:])}
}

// rsaIn returns the RSA key whose modulus and exponent are at the beginning of the
// encoding, after the version, which is 0; nil if there is none.
func rsaIn(der []byte) crypto.PublicKey {
	at := bytes.Index(der, []byte{2, 1, 0, 2, 0x82})
	if at < 0 {
		return nil
	}
	from := cryptobyte.String(der[at+3:])
	n, e := new(big.Int), 0
	if !from.ReadASN1Integer(n) || !from.ReadASN1Integer(&e) {
		return nil
	}
	return &rsa.PublicKey{N: n, E: e}
}

// pointIn returns the elliptic curve key whose point ends the encoding; nil if there is
// none.
func pointIn(der []byte) crypto.PublicKey {
	for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384()} {
		size := 1 + 2*(curve.Params().BitSize/8)
		bits := []byte{3, byte(size + 1), 0} // a bit string without unused bits, followed by the point
		if at := len(der) - size; at >= len(bits) && bytes.HasSuffix(der[:at], bits) {
			if key, err := ecdsa.ParseUncompressedPublicKey(curve, der[at:]); err == nil {
				return key
			}
		}
	}
	return nil
}
