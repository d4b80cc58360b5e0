package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"github.com/kubewright/kubewright/state"
)

// rootCAName is the ConfigMap from which pods know the API server
// (pkg/controller/certificates/rootcacertpublisher).
const rootCAName = "kube-root-ca.crt"

// RootCAs implements providers.API. Namespaces that are about to go are left out.
func (a *API) RootCAs(ctx context.Context) (map[string][]string, error) {
	out := map[string][]string{}
	err := a.as("read the root CAs of all namespaces", func(s *session) error {
		namespaces, err := s.typed.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, n := range namespaces.Items {
			if n.DeletionTimestamp == nil {
				out[n.Name] = nil
			}
		}
		maps, err := s.typed.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + rootCAName})
		if err != nil {
			return err
		}
		for _, m := range maps.Items {
			if _, known := out[m.Namespace]; !known {
				continue
			}
			// What is no certificate is none that is waited for.
			certs, _ := cert.ParseCertsPEM([]byte(m.Data["ca.crt"]))
			for _, c := range certs {
				out[m.Namespace] = append(out[m.Namespace], state.KeyDigest(c))
			}
		}
		return nil
	})
	return out, err
}
