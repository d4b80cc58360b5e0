package kube

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	api "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/cluster-bootstrap/token/util"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// CreateToken implements providers.API: the Secret is the same as kubeadm's (keys without a
// value are left out, expiration in UTC).
func (a *API) CreateToken(ctx context.Context, op planner.CreateToken, half state.Secret) (state.Secret, error) {
	token, err := util.GenerateBootstrapToken()
	if err != nil {
		return state.Secret{}, errors.New("internal error: cannot make bootstrap token: no randomness")
	}
	if op.ID != "" {
		return a.keepToken(ctx, op, token, half)
	}
	secret := tokenSecret(token, op, time.Now())
	err = a.as("create bootstrap token", func(s *session) error {
		_, err := s.typed.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, secret, metav1.CreateOptions{FieldManager: fieldManager})
		if apierrors.IsAlreadyExists(err) {
			return errors.New("its ID is taken; try again")
		}
		return written(err)
	})
	if err != nil {
		return state.Secret{}, err
	}
	return state.NewSecret([]byte(token)), nil
}

// keepToken creates or updates a token with a given ID. generated provides the second half
// if there is no other.
func (a *API) keepToken(ctx context.Context, op planner.CreateToken, generated string, half state.Secret) (state.Secret, error) {
	_, second, _ := strings.Cut(generated, ".")
	var token string
	err := a.as("create bootstrap token "+op.ID, func(s *session) error {
		client := s.typed.CoreV1().Secrets(metav1.NamespaceSystem)
		old, err := client.Get(ctx, util.BootstrapTokenSecretName(op.ID), metav1.GetOptions{})
		if err != nil && !notFound(err) {
			return err
		}
		there := err == nil
		if there && len(old.Data[api.BootstrapTokenSecretKey]) > 0 {
			second = string(old.Data[api.BootstrapTokenSecretKey])
		}
		if !half.IsZero() {
			second = string(half.Reveal())
		}
		token = op.ID + "." + second
		secret := tokenSecret(token, op, time.Now())
		if !there {
			_, err = client.Create(ctx, secret, metav1.CreateOptions{FieldManager: fieldManager})
			return written(err)
		}
		secret.ResourceVersion = old.ResourceVersion
		_, err = client.Update(ctx, secret, metav1.UpdateOptions{FieldManager: fieldManager})
		return written(err)
	})
	return state.NewSecret([]byte(token)), err
}

func tokenSecret(token string, op planner.CreateToken, now time.Time) *corev1.Secret {
	id, secret, _ := strings.Cut(token, ".")
	data := map[string][]byte{
		api.BootstrapTokenIDKey:     []byte(id),
		api.BootstrapTokenSecretKey: []byte(secret),
	}
	if op.Description != "" {
		data[api.BootstrapTokenDescriptionKey] = []byte(op.Description)
	}
	switch {
	case op.TTL > 0:
		data[api.BootstrapTokenExpirationKey] = []byte(now.Add(op.TTL).UTC().Format(time.RFC3339))
	case op.Expires != "":
		data[api.BootstrapTokenExpirationKey] = []byte(op.Expires)
	}
	for _, usage := range op.Usages {
		data[api.BootstrapTokenUsagePrefix+usage] = []byte("true")
	}
	if len(op.Groups) > 0 {
		data[api.BootstrapTokenExtraGroupsKey] = []byte(strings.Join(op.Groups, ","))
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: util.BootstrapTokenSecretName(id), Namespace: metav1.NamespaceSystem},
		Type:       corev1.SecretType(api.SecretTypeBootstrapToken),
		Data:       data,
	}
}

// joinTokens lists the IDs of the bootstrap tokens that were created for joins.
func joinTokens(ctx context.Context, s *session) ([]string, error) {
	var ids []string
	err := pages[*corev1.SecretList]{
		what: "bootstrap tokens", most: mostOthers, list: s.typed.CoreV1().Secrets(metav1.NamespaceSystem).List,
		options: metav1.ListOptions{FieldSelector: "type=" + string(api.SecretTypeBootstrapToken)},
		begin:   func() { ids = nil },
		take: func(page *corev1.SecretList) error {
			for i := range page.Items {
				it := &page.Items[i]
				id, named := strings.CutPrefix(it.Name, api.BootstrapTokenSecretPrefix)
				if named && it.Type == corev1.SecretType(api.SecretTypeBootstrapToken) && planner.IsJoinToken(string(it.Data[api.BootstrapTokenDescriptionKey])) {
					ids = append(ids, id)
				}
			}
			return nil
		},
	}.each(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	return ids, nil
}

// DeleteJoinTokens implements providers.API.
func (a *API) DeleteJoinTokens(ctx context.Context, keep []string) error {
	return a.as("delete bootstrap tokens for joining", func(s *session) error {
		ids, err := joinTokens(ctx, s)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if slices.Contains(keep, id) {
				continue
			}
			err := s.typed.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, util.BootstrapTokenSecretName(id), metav1.DeleteOptions{})
			if err := ignoreAbsent(written(err)); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteToken implements providers.API.
func (a *API) DeleteToken(ctx context.Context, token state.Secret) error {
	id, _, ok := strings.Cut(string(token.Reveal()), ".")
	if !ok {
		return errors.New("internal error: that is no bootstrap token")
	}
	return a.as("delete bootstrap token "+id, func(s *session) error {
		return ignoreAbsent(written(s.typed.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, util.BootstrapTokenSecretName(id), metav1.DeleteOptions{})))
	})
}
