package rehearsal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/nacl/secretbox"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubewright/kubewright/config/atrest"
)

// ErrPlugin: a KMS plugin holds the key, and has to be there to decrypt.
var ErrPlugin = errors.New("a KMS plugin holds the key")

// ErrKey: the key that an object is encrypted with is not in the file, or is another one.
var ErrKey = errors.New("no key fits")

// Decrypt decrypts a Secret as the API server does that has stored it under this key
// (k8s.io/apiserver/pkg/storage/value/encrypt), and decodes it. Its data are dropped.
func Decrypt(file atrest.File, key string, stored []byte) (Opened, error) {
	id, plain := atrest.Identity, stored
	if sealed, is := bytes.CutPrefix(stored, []byte(atrest.Encrypted)); is {
		parts := strings.SplitN(string(sealed[:min(len(sealed), 200)]), ":", 4)
		if len(parts) < 4 {
			return Opened{}, errors.New("its encryption cannot be recognized")
		}
		kind, version, name := parts[0], parts[1], parts[2]
		id = atrest.ID(kind, name)
		if kind == atrest.KMS {
			return Opened{By: id}, fmt.Errorf("%w: %s", ErrPlugin, name)
		}
		secret := file.Keys[id]
		if len(secret) == 0 {
			return Opened{By: id}, fmt.Errorf("%w, it is stored under %s", ErrKey, id)
		}
		var err error
		if plain, err = open(kind, version, secret, key, sealed[len(kind)+len(version)+len(name)+3:]); err != nil {
			return Opened{By: id}, fmt.Errorf("%w, it is stored under another key with the name %s (%w)", ErrKey, id, err)
		}
	}
	meta, err := decode(plain)
	if err != nil {
		return Opened{By: id}, err
	}
	return Opened{By: id, Namespace: meta.Namespace, Name: meta.Name}, nil
}

// open decrypts with one key.
func open(kind, version string, secret []byte, key string, sealed []byte) ([]byte, error) {
	if version != "v1" {
		return nil, fmt.Errorf("unknown version %q", version)
	}
	if kind == atrest.Secretbox {
		return openBox(secret, sealed)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	switch kind {
	case atrest.AESCBC:
		return openCBC(block, sealed)
	case "aesgcm":
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		if len(sealed) < gcm.NonceSize() {
			return nil, errTruncated
		}
		return gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], []byte(key))
	}
	return nil, fmt.Errorf("unknown provider %q", kind)
}

var errTruncated = errors.New("it is truncated")

func openBox(secret, sealed []byte) ([]byte, error) {
	var key [32]byte
	var nonce [24]byte
	if len(secret) != len(key) {
		return nil, fmt.Errorf("the key has %d bytes", len(secret))
	}
	if len(sealed) < len(nonce) {
		return nil, errTruncated
	}
	copy(key[:], secret)
	copy(nonce[:], sealed)
	plain, ok := secretbox.Open(nil, sealed[len(nonce):], &nonce, &key)
	if !ok {
		return nil, errors.New("it cannot be authenticated")
	}
	return plain, nil
}

// openCBC decrypts AES-CBC with the padding of PKCS #7. Whether the key was right shows when the object is
// decoded: nothing is authenticated.
func openCBC(block cipher.Block, sealed []byte) ([]byte, error) {
	size := block.BlockSize()
	if len(sealed) < 2*size || len(sealed)%size != 0 {
		return nil, errTruncated
	}
	plain := make([]byte, len(sealed)-size)
	cipher.NewCBCDecrypter(block, sealed[:size]).CryptBlocks(plain, sealed[size:])
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > size || pad > len(plain) || bytes.Count(plain[len(plain)-pad:], []byte{byte(pad)}) != pad {
		return nil, errors.New("it cannot be decrypted")
	}
	return plain[:len(plain)-pad], nil
}

// protobufMagic is what objects in the binary form begin with
// (k8s.io/apimachinery/pkg/runtime/serializer/protobuf).
var protobufMagic = []byte("k8s\x00")

// decode decodes a Secret in either form of storage.
func decode(plain []byte) (metav1.ObjectMeta, error) {
	var s corev1.Secret
	kind := ""
	if binary, is := bytes.CutPrefix(plain, protobufMagic); is {
		var u runtime.Unknown
		if err := u.Unmarshal(binary); err != nil {
			return metav1.ObjectMeta{}, fmt.Errorf("it is damaged: %w", err)
		}
		if err := s.Unmarshal(u.Raw); err != nil {
			return metav1.ObjectMeta{}, fmt.Errorf("it is damaged: %w", err)
		}
		kind = u.Kind
	} else {
		if err := json.Unmarshal(plain, &s); err != nil {
			return metav1.ObjectMeta{}, errors.New("it is damaged: neither JSON nor Kubernetes' binary form")
		}
		kind = s.Kind
	}
	if kind != "Secret" || s.Name == "" {
		return metav1.ObjectMeta{}, fmt.Errorf("it is damaged: an object of kind %q in the place of a Secret", kind)
	}
	return s.ObjectMeta, nil
}
