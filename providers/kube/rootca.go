package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"github.com/kubewright/kubewright/state"
)

// rootCAName is the ConfigMap from which pods get the API server's CA
// (pkg/controller/certificates/rootcacertpublisher).
const rootCAName = "kube-root-ca.crt"

// RootCAs implements providers.API. It skips namespaces that are being deleted.
func (a *API) RootCAs(ctx context.Context) (map[string][]string, error) {
	var out map[string][]string
	err := a.as("read the root CAs of all namespaces", func(s *session) (err error) {
		if out, err = namespaces(ctx, s); err != nil {
			return err
		}
		return rootCAs(ctx, s, out)
	})
	return out, err
}

// namespaces returns those that are not being deleted, as keys.
func namespaces(ctx context.Context, s *session) (map[string][]string, error) {
	var out map[string][]string
	var room kept
	err := pages[*corev1.NamespaceList]{
		what: "namespaces", most: mostOthers, list: s.typed.CoreV1().Namespaces().List,
		begin: func() { out, room = map[string][]string{}, kept{what: "namespaces"} },
		take: func(page *corev1.NamespaceList) error {
			for i := range page.Items {
				if n := &page.Items[i]; n.DeletionTimestamp == nil {
					out[n.Name] = nil
					if err := room.add(len(n.Name)); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}.each(ctx)
	return out, err
}

// rootCAs adds the identities of the CAs to the namespaces.
func rootCAs(ctx context.Context, s *session, out map[string][]string) error {
	var room kept
	return pages[*corev1.ConfigMapList]{
		what: rootCAName, most: mostOthers, list: s.typed.CoreV1().ConfigMaps("").List,
		options: metav1.ListOptions{FieldSelector: "metadata.name=" + rootCAName},
		begin:   func() { room = kept{what: rootCAName} },
		take: func(page *corev1.ConfigMapList) error {
			for i := range page.Items {
				m := &page.Items[i]
				if _, known := out[m.Namespace]; !known {
					continue
				}
				// Invalid content counts as no certificate.
				certs, _ := cert.ParseCertsPEM([]byte(m.Data["ca.crt"]))
				var keys []string
				for _, c := range certs {
					keys = append(keys, state.KeyDigest(c))
				}
				out[m.Namespace] = keys // overwritten if the list is restarted
				if err := room.add(64 * len(keys)); err != nil {
					return err
				}
			}
			return nil
		},
	}.each(ctx)
}
