// Kmsplugin is a KMS v2 plugin for the lab's control planes. It encrypts with AES-GCM under the keys
// of a folder: the last one by name encrypts, and each decrypts what it has encrypted. A new key in
// the folder is a rotation as a key management service does it by itself.
//
//	kmsplugin SOCKET FOLDER
package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/kms/pkg/service"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: kmsplugin SOCKET FOLDER")
		os.Exit(2)
	}
	socket, keys := os.Args[1], folder(os.Args[2])
	if err := errors.Join(os.MkdirAll(filepath.Dir(socket), 0o700), os.RemoveAll(socket)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, service.NewGRPCService(socket, time.Minute, keys).ListenAndServe())
	os.Exit(1)
}

// folder is a folder of keys of 32 bytes, each in a file whose name is the key's ID.
type folder string

// Status returns the ID of the key that encrypts.
func (f folder) Status(context.Context) (*service.StatusResponse, error) {
	id, err := f.last()
	return &service.StatusResponse{Version: "v2", Healthz: "ok", KeyID: id}, err
}

// Encrypt encrypts with the last key.
func (f folder) Encrypt(_ context.Context, _ string, data []byte) (*service.EncryptResponse, error) {
	id, err := f.last()
	if err != nil {
		return nil, err
	}
	seal, err := f.cipher(id)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, seal.NonceSize())
	_, _ = rand.Read(nonce) // never fails: crypto/rand
	return &service.EncryptResponse{KeyID: id, Ciphertext: seal.Seal(nonce, nonce, data, nil)}, nil
}

// Decrypt decrypts with the key that has encrypted.
func (f folder) Decrypt(_ context.Context, _ string, r *service.DecryptRequest) ([]byte, error) {
	seal, err := f.cipher(r.KeyID)
	if err != nil {
		return nil, err
	}
	if len(r.Ciphertext) < seal.NonceSize() {
		return nil, errors.New("the ciphertext is too short")
	}
	return seal.Open(nil, r.Ciphertext[:seal.NonceSize()], r.Ciphertext[seal.NonceSize():], nil)
}

func (f folder) last() (string, error) {
	files, err := os.ReadDir(string(f))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no key", f)
	}
	if err != nil {
		return "", err
	}
	return files[len(files)-1].Name(), nil
}

func (f folder) cipher(id string) (cipher.AEAD, error) {
	key, err := os.ReadFile(filepath.Join(string(f), filepath.Base(id)))
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
