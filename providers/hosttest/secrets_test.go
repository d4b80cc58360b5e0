package hosttest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
)

// keys returns private keys as kubeadm, kubewright and OpenSSL write them.
func keys(t *testing.T) map[string]*pem.Block {
	t.Helper()
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*pem.Block{"RSA": {Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(long)}}
	signers := map[string]crypto.Signer{"RSA": long}
	for name, curve := range map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384()} {
		short, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalECPrivateKey(short)
		if err != nil {
			t.Fatal(err)
		}
		out[name], signers[name] = &pem.Block{Type: "EC PRIVATE KEY", Bytes: der}, short
	}
	for name, signer := range signers {
		der, err := x509.MarshalPKCS8PrivateKey(signer)
		if err != nil {
			t.Fatal(err)
		}
		out["PKCS #8 "+name] = &pem.Block{Type: "PRIVATE KEY", Bytes: der}
	}
	return out
}

// TestLeakedKeyIsFound checks that a key is found wherever it leaks, and that its public part does not
// count as a leak.
func TestLeakedKeyIsFound(t *testing.T) {
	t.Parallel()
	b64 := base64.StdEncoding.EncodeToString
	for name, block := range keys(t) {
		file := pem.EncodeToMemory(block)
		var s Secrets
		if err := s.HideKey(name, file); err != nil {
			t.Fatal(err)
		}
		quoted, err := json.Marshal(string(file))
		if err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string]string{
			"a file": string(file), "bytes": string(block.Bytes), "hexadecimal": hex.EncodeToString(block.Bytes), "JSON": string(quoted),
			"base64": b64(block.Bytes), "a kubeconfig": "client-key-data: " + b64(file),
			"base64 behind something": b64([]byte("x" + string(file))), "of an URL": base64.URLEncoding.EncodeToString(file),
		} {
			if found := s.Find("before " + text + " behind"); len(found) == 0 || !strings.HasPrefix(found[0], name+" shows as ") {
				t.Errorf("a key of %s is not found in %s: %q", name, form, found)
			}
		}
		if found := s.Find(public(t, block)); len(found) > 0 {
			t.Errorf("the public part of a key of %s is taken for the key: %q", name, found)
		}
	}
}

// public returns the public key of a private one, in bytes and in PEM.
func public(t *testing.T, block *pem.Block) string {
	t.Helper()
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	if err != nil {
		key, err = x509.ParseECPrivateKey(block.Bytes)
	}
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.(crypto.Signer).Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(der) + string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// TestNonKeyIsRefused checks that a value that is not a private key is refused instead of never
// being found.
func TestNonKeyIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		var s Secrets
		if err := s.HideKey("ca.key", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), "ca.key: ") {
			t.Errorf("%q is taken for a key: %v", text, err)
		}
	}
}

func TestFindLeakedSecrets(t *testing.T) {
	t.Parallel()
	var s Secrets
	if found := s.Find("anything"); len(found) > 0 {
		t.Errorf("nothing is secret, and %q was found", found)
	}
	s.Hide("the password", "p<a>ss/word?")
	s.Hide("the token", "abcdef")
	for text, want := range map[string]int{
		"": 0, "p<a>ss": 0, "abcde": 0, "p<a>ss/word?": 1, "abcdef abcdef": 1, "abcdef p<a>ss/word?": 2, `{"p": "p\u003ca\u003ess/word?"}`: 1,
		"?p=p%3Ca%3Ess%2Fword%3F": 1, "<b>p&lt;a&gt;ss/word?</b>": 1, hex.EncodeToString([]byte("abcdef")): 1,
		base64.StdEncoding.EncodeToString([]byte("x abcdef y")): 1, base64.URLEncoding.EncodeToString([]byte("p<a>ss/word?")): 1,
	} {
		if found := s.Find(text); len(found) != want {
			t.Errorf("%q: found %q, want %d", text, found, want)
		}
	}
}
