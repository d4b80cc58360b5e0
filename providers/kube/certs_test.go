package kube

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state"
)

// TestUploadedCertsEncryption checks that encrypted content can be read only with the key, in the format of
// kubeadm's download-certs: nonce in front, no additional data.
func TestUploadedCertsEncryption(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789abcdef", 4)
	content := []byte("-----BEGIN CERTIFICATE-----")
	key := state.NewSecret([]byte(text))
	first, err := encrypt(state.NewSecret(content), key)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := hex.DecodeString(text)
	block, err := aes.NewCipher(raw)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gcm.Open(nil, first[:12], first[12:], nil)
	if err != nil || !bytes.Equal(plain, content) {
		t.Errorf("decrypted to %q: %v", plain, err)
	}
	second, err := encrypt(state.NewSecret(content), key)
	if err != nil || bytes.Equal(first, second) {
		t.Errorf("the same nonce was used twice: %v", err)
	}
	if empty, err := encrypt(state.Secret{}, key); err != nil || len(empty) != 0 {
		t.Errorf("an absent file became %d bytes: %v", len(empty), err)
	}
	for _, bad := range []string{"", "short", text + "00", strings.Repeat("x", 64)} {
		if _, err := encrypt(state.NewSecret(content), state.NewSecret([]byte(bad))); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("a bad key is answered by: %v", err)
		}
	}
}
