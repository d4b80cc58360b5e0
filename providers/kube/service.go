package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubewright/kubewright/providers"
)

// allocated is the API server's message for a Service address that is in use.
const allocated = "provided IP is already allocated"

// addressTaken explains the refusal of a Service for its address: it names the Service that
// has the address. If no Service has it, an interrupted request has left it allocated: the
// API server treats the address as leaked after a minute, and frees it (repairip.go of
// Kubernetes 1.34 to 1.37; kubernetes/kubernetes#92285). Every other error is returned
// unchanged.
func addressTaken(ctx context.Context, s *session, object *unstructured.Unstructured, err error) error {
	if object.GetKind() != "Service" || !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), allocated) {
		return err
	}
	wanted, _, _ := unstructured.NestedStringSlice(object.Object, "spec", "clusterIPs")
	if ip, _, _ := unstructured.NestedString(object.Object, "spec", "clusterIP"); ip != "" {
		wanted = append(wanted, ip)
	}
	var holder error
	listErr := pages[*corev1.ServiceList]{
		what: "Services", most: mostOthers, list: s.typed.CoreV1().Services(metav1.NamespaceAll).List,
		begin: func() { holder = nil },
		take: func(page *corev1.ServiceList) error {
			for _, service := range page.Items {
				for _, ip := range service.Spec.ClusterIPs {
					if slices.Contains(wanted, ip) {
						holder = fmt.Errorf("its address %s is that of Service %s/%s, which has to be recreated with another one", ip, service.Namespace, service.Name)
					}
				}
			}
			return nil
		},
	}.each(ctx)
	switch {
	case listErr != nil:
		return errors.Join(err, listErr)
	case holder != nil:
		return holder
	}
	return fmt.Errorf("its address %s is allocated, and no Service has it: a request that was cut off has left it so, and the API server frees it about a minute later: %w",
		strings.Join(slices.Compact(wanted), ", "), providers.ErrUnavailable)
}
