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

// PublicOf returns the identity of a key, as ParsePublicKeys has it, told from the public
// part of a private key's DER encoding, in base64: from the beginning up to RSA's
// exponent, or from within up to the point at the end. It is nil where that cannot be
// told: then nothing is known of the key, which may be a good one.
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

// rsaIn returns the RSA key of which modulus and exponent are in the beginning of its
// encoding, behind the version, which is 0; nil for none.
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

// pointIn returns the key of a curve whose point ends the encoding; nil for none.
func pointIn(der []byte) crypto.PublicKey {
	for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384()} {
		size := 1 + 2*(curve.Params().BitSize/8)
		bits := []byte{3, byte(size + 1), 0} // a string of whole bytes, behind which is the point
		if at := len(der) - size; at >= len(bits) && bytes.HasSuffix(der[:at], bits) {
			if key, err := ecdsa.ParseUncompressedPublicKey(curve, der[at:]); err == nil {
				return key
			}
		}
	}
	return nil
}
