package kube

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubewright/kubewright/state"
)

// tokenSecrets lists the Secrets with tokens of service accounts.
func tokenSecrets(ctx context.Context, s *session) ([]state.TokenSecret, error) {
	var out []state.TokenSecret
	var room kept
	const what = "Secrets with tokens"
	err := pages[*corev1.SecretList]{
		what: what, most: mostOthers, list: s.typed.CoreV1().Secrets("").List,
		options: metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeServiceAccountToken)},
		begin:   func() { out, room = nil, kept{what: what} },
		take: func(page *corev1.SecretList) error {
			for i := range page.Items {
				it := &page.Items[i]
				if it.Type != corev1.SecretTypeServiceAccountToken {
					continue
				}
				if err := room.add(len(it.Namespace) + len(it.Name)); err != nil {
					return err
				}
				out = append(out, state.TokenSecret{Namespace: it.Namespace, Name: it.Name, Key: signingKey(it.Data[corev1.ServiceAccountTokenKey])})
			}
			return nil
		},
	}.each(ctx)
	return out, err
}

// signingKey returns the identity of the key that a token names as its signer: its key ID
// is the SHA-256 of the public key in PKIX form (pkg/serviceaccount, keyIDFromPublicKey).
// It is empty if the token has no such ID.
func signingKey(token []byte) string {
	head, _, ok := strings.Cut(string(token), ".")
	if !ok {
		return ""
	}
	var header struct {
		KeyID string `json:"kid"`
	}
	plain, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil || json.Unmarshal(plain, &header) != nil {
		return ""
	}
	sum, err := base64.RawURLEncoding.DecodeString(header.KeyID)
	if err != nil || len(sum) != 32 {
		return ""
	}
	return hex.EncodeToString(sum)
}
