package kube

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cluster-bootstrap/token/util"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

const (
	// certsSecret is the Secret that kubeadm join --certificate-key reads.
	certsSecret = "kubeadm-certs"
	// keyBytes is the length of a certificate key: AES-256.
	keyBytes = 32
	// certsTokenDescription is kubeadm's, by which users recognize the token.
	certsTokenDescription = "Proxy for managing TTL for the kubeadm-certs secret"
)

// UploadCerts implements providers.API in the same way as kubeadm's phase upload-certs: a
// token whose only purpose is to expire owns the Secret, so that the garbage collector
// deletes the Secret with it.
func (a *API) UploadCerts(ctx context.Context, op planner.UploadCerts, files map[string]state.Secret, key state.Secret) (state.Secret, error) {
	if key.IsZero() {
		random := make([]byte, keyBytes)
		_, _ = rand.Read(random) // never fails (crypto/rand, Go 1.24)
		key = state.NewSecret([]byte(hex.EncodeToString(random)))
	}
	data := map[string][]byte{}
	for name, content := range files {
		var err error
		if data[name], err = encrypt(content, key); err != nil {
			return state.Secret{}, err
		}
	}
	token, err := a.CreateToken(ctx, planner.CreateToken{Description: certsTokenDescription, TTL: op.TTL}, state.Secret{})
	if err != nil {
		return state.Secret{}, err
	}
	err = a.as("upload certificates", func(s *session) error { return storeCerts(ctx, s, token, data) })
	return key, err
}

func storeCerts(ctx context.Context, s *session, token state.Secret, data map[string][]byte) error {
	client := s.typed.CoreV1().Secrets(metav1.NamespaceSystem)
	const idLength = 6
	owner, err := client.Get(ctx, util.BootstrapTokenSecretName(string(token.Reveal()[:idLength])), metav1.GetOptions{})
	if err != nil {
		return err
	}
	ref := metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("Secret"))
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: certsSecret, Namespace: metav1.NamespaceSystem, OwnerReferences: []metav1.OwnerReference{*ref}},
		Data:       data,
	}
	old, err := client.Get(ctx, certsSecret, metav1.GetOptions{})
	switch {
	case notFound(err):
		_, err = client.Create(ctx, secret, metav1.CreateOptions{FieldManager: fieldManager})
	case err == nil:
		secret.ResourceVersion = old.ResourceVersion
		_, err = client.Update(ctx, secret, metav1.UpdateOptions{FieldManager: fieldManager})
	default:
		return err
	}
	return written(err)
}

// encrypt is AES-256 in Galois counter mode with the nonce in front and no additional data.
// An absent file stays empty.
func encrypt(content, key state.Secret) ([]byte, error) {
	if content.IsZero() {
		return []byte{}, nil
	}
	raw, err := hex.DecodeString(string(key.Reveal()))
	if err != nil || len(raw) != keyBytes {
		return nil, errors.New("cannot encrypt certificates: the certificate key is not 64 hex digits")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, fmt.Errorf("cannot encrypt certificates: %w", err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("cannot encrypt certificates: %w", err)
	}
	nonce := make([]byte, gcm.NonceSize())
	_, _ = rand.Read(nonce)
	return gcm.Seal(nonce, nonce, content.Reveal(), nil), nil
}
