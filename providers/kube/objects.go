package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Apply implements providers.API.
func (a *API) Apply(ctx context.Context, object state.Value, createOnly bool) error {
	b, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("cannot encode object: %w", err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(b); err != nil {
		return fmt.Errorf("cannot apply object: %w", err)
	}
	ref := state.ObjectRef{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
	return a.as("apply "+ref.String(), func(s *session) error {
		client, err := a.resource(ctx, s, ref)
		if err != nil {
			return err
		}
		if createOnly {
			_, err = client.Create(ctx, u, metav1.CreateOptions{FieldManager: fieldManager})
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return addressTaken(ctx, s, u, written(err))
		}
		force := true
		_, err = client.Patch(ctx, ref.Name, types.ApplyPatchType, b, metav1.PatchOptions{FieldManager: fieldManager, Force: &force})
		return addressTaken(ctx, s, u, written(err))
	})
}

// Delete implements providers.API. Dependents are deleted after the object.
func (a *API) Delete(ctx context.Context, ref state.ObjectRef) error {
	return a.as("delete "+ref.String(), func(s *session) error {
		client, err := a.resource(ctx, s, ref)
		if err != nil {
			return ignoreAbsent(err)
		}
		background := metav1.DeletePropagationBackground
		return ignoreAbsent(written(client.Delete(ctx, ref.Name, metav1.DeleteOptions{PropagationPolicy: &background})))
	})
}

// Ready implements providers.API.
func (a *API) Ready(ctx context.Context) error {
	return a.as("use the API", func(s *session) error {
		body, err := s.typed.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil {
			return nil
		}
		if failing := failingChecks(string(body)); failing != "" {
			return fmt.Errorf("failing checks: %s: %w", failing, providers.ErrUnavailable)
		}
		return err
	})
}

// namedChecks is how many failing checks an error names: an API server that
// has just started fails a dozen.
const namedChecks = 3

// failingChecks extracts the names of failing checks from an answer of /readyz.
func failingChecks(body string) string {
	var names []string
	for line := range strings.Lines(body) {
		if name, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ = strings.Cut(name, " ")
			names = append(names, strings.TrimSpace(name))
		}
	}
	if n := len(names); n > namedChecks {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namedChecks], ", "), n-namedChecks)
	}
	return strings.Join(names, ", ")
}
