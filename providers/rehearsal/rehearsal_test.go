package rehearsal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/nacl/secretbox"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubewright/kubewright/config/atrest"
)

const path = "/registry/secrets/default/treasure"

// binary returns a Secret in the form in which API servers store it.
func binary(t *testing.T) []byte {
	t.Helper()
	s := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "treasure"}, Data: map[string][]byte{"where": []byte("island")}}
	raw, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Raw: raw}
	b, err := u.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(slices.Clone(protobufMagic), b...)
}

// sealed returns what etcd holds of a Secret that a provider has encrypted.
func sealed(t *testing.T, id string, secret []byte) []byte {
	t.Helper()
	plain, out := binary(t), []byte(atrest.Prefix(id))
	switch kind, _, _ := strings.Cut(id, ":"); kind {
	case atrest.Secretbox:
		var key [32]byte
		nonce := [24]byte{1}
		copy(key[:], secret)
		return secretbox.Seal(append(out, nonce[:]...), plain, &nonce, &key)
	case atrest.AESCBC:
		block, _ := aes.NewCipher(secret)
		pad := 16 - len(plain)%16
		plain = append(plain, bytes.Repeat([]byte{byte(pad)}, pad)...)
		iv := bytes.Repeat([]byte{7}, 16)
		to := make([]byte, len(plain))
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(to, plain)
		return append(append(out, iv...), to...)
	default:
		block, _ := aes.NewCipher(secret)
		gcm, _ := cipher.NewGCM(block)
		nonce := bytes.Repeat([]byte{7}, gcm.NonceSize())
		return gcm.Seal(append(out, nonce...), nonce, plain, []byte(path))
	}
}

// TestDecryptOpensWhatAPIServersStore checks each provider with the right key, another key of that name,
// and none.
func TestDecryptOpensWhatAPIServersStore(t *testing.T) {
	t.Parallel()
	right, other := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	for _, id := range []string{"secretbox:2026-11", "aescbc:a", "aesgcm:b"} {
		stored := sealed(t, id, right)
		got, err := Decrypt(atrest.File{Keys: map[string][]byte{id: right}}, path, stored)
		if err != nil || got != (Opened{By: id, Namespace: "default", Name: "treasure"}) {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
		if _, err := Decrypt(atrest.File{Keys: map[string][]byte{id: other}}, path, stored); !errors.Is(err, ErrKey) {
			t.Errorf("%s with another key: %v", id, err)
		}
		if _, err := Decrypt(atrest.File{}, path, stored); !errors.Is(err, ErrKey) {
			t.Errorf("%s without a key: %v", id, err)
		}
		if _, err := Decrypt(atrest.File{Keys: map[string][]byte{id: right}}, path, stored[:len(stored)-1]); err == nil {
			t.Errorf("%s: accepted what is truncated", id)
		}
	}
	for name, stored := range map[string][]byte{"binary": binary(t), "JSON": []byte(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"treasure","namespace":"default"}}`)} {
		if got, err := Decrypt(atrest.File{}, path, stored); err != nil || got.By != atrest.Identity || got.Name != "treasure" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if got, err := Decrypt(atrest.File{}, path, []byte("k8s:enc:kms:v2:vault:xx")); !errors.Is(err, ErrPlugin) || got.By != "kms:vault" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "k8s:enc:", "k8s:enc:secretbox:v1", "nonsense", "k8s\x00nonsense", `{"kind":"Pod","metadata":{"name":"x"}}`} {
		if _, err := Decrypt(atrest.File{}, path, []byte(bad)); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

func TestResourcesHaveTheNamesOfTheAPI(t *testing.T) {
	t.Parallel()
	r := Report{Folders: map[string]int64{"pods": 3, "minions": 2, "services/specs": 2, "cilium.io/ciliumnodes": 4, "": 1}}
	want := []Resource{{"ciliumnodes.cilium.io", 4}, {"pods", 3}, {"nodes", 2}, {"services", 2}, {"(not of Kubernetes)", 1}}
	if got := r.Resources(); !slices.Equal(got, want) || r.Keys() != 12 {
		t.Errorf("%v, %d", got, r.Keys())
	}
}
