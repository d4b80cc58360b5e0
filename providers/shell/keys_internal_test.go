package shell

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers/pki"
)

// seenOfKeys returns what leaves a host for files with private keys, by name.
func seenOfKeys(t *testing.T, files map[string][]byte) map[string]string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for name, content := range files {
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("sh", "-c", "kw_n="+testNonce+"\n"+preludeScript+observeScript+call("kw_keys", paths...)).Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for line := range strings.Lines(string(out)) {
		public, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		seen[filepath.Base(path)] = public
	}
	return seen
}

// TestOnlyPublicPartOfKeyLeavesHost checks that the public part of a private key leaves the host, which
// identifies the key, and nothing else of it.
func TestOnlyPublicPartOfKeyLeavesHost(t *testing.T) {
	t.Parallel()
	var keys []crypto.Signer
	for _, bits := range []int{2048, 3072, 4096} {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	for range 20 { // numbers with leading zeros are rare
		for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384()} {
			key, err := ecdsa.GenerateKey(curve, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
	}
	files, want, secrets := map[string][]byte{}, map[string]string{}, map[string][][]byte{}
	add := func(name string, key crypto.Signer, block string, der []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		pkix, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(pkix)
		files[name], want[name] = pem.EncodeToMemory(&pem.Block{Type: block, Bytes: der}), hex.EncodeToString(sum[:])
		switch k := key.(type) {
		case *rsa.PrivateKey:
			secrets[name] = [][]byte{k.D.Bytes(), k.Primes[0].Bytes(), k.Primes[1].Bytes()}
		case *ecdsa.PrivateKey:
			d, err := k.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			secrets[name] = [][]byte{d}
		}
	}
	for i, key := range keys {
		name := string(rune('a'+i/26)) + string(rune('a'+i%26))
		switch k := key.(type) {
		case *rsa.PrivateKey:
			add(name+"1", key, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(k), nil)
		case *ecdsa.PrivateKey:
			der, err := x509.MarshalECPrivateKey(k)
			add(name+"1", key, "EC PRIVATE KEY", der, err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		add(name+"8", key, "PRIVATE KEY", der, err)
	}
	seen := seenOfKeys(t, files)
	for name := range files {
		if got := pki.PublicOf(seen[name]); !slices.Equal(got, []string{want[name]}) {
			t.Errorf("%s: %q was identified as %v, want %s", name, seen[name], got, want[name])
		}
		der, err := base64.StdEncoding.DecodeString(seen[name])
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, secret := range secrets[name] {
			if tells(der, secret) {
				t.Errorf("%s: a part of the private key leaves the host", name)
			}
		}
	}
}

// tells reports whether the sent bytes end with the first, or begin with the last three
// bytes of a secret, or contain six of its bytes anywhere.
func tells(sent, secret []byte) bool {
	for i := range len(secret) - 5 {
		if bytes.Contains(sent, secret[i:i+6]) {
			return true
		}
	}
	return bytes.HasSuffix(sent, secret[:3]) || bytes.HasPrefix(sent, secret[len(secret)-3:])
}

// TestUnknownKeyFormReportsExistenceOnly checks that for a key in an unknown form only its existence leaves
// the host.
func TestUnknownKeyFormReportsExistenceOnly(t *testing.T) {
	t.Parallel()
	other, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	seen := seenOfKeys(t, map[string][]byte{
		"another curve": block("EC PRIVATE KEY", der), "random": block("PRIVATE KEY", bytes.Repeat([]byte("secret"), 40)),
		"longer": block("EC PRIVATE KEY", append(slices.Clone(whole), 1, 2, 3)), "shorter": block("EC PRIVATE KEY", whole[:39]),
		"encrypted": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED"}, Bytes: bytes.Repeat([]byte("secret"), 200)}),
		"none":      block("CERTIFICATE", whole),
	})
	if len(seen) != 5 {
		t.Errorf("%d files hold keys, want 5: %v", len(seen), seen)
	}
	for name, public := range seen {
		if public != "-" || pki.PublicOf(public) != nil {
			t.Errorf("%s: %q leaves the host", name, public)
		}
	}
}
