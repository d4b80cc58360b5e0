package kube_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// crowded returns a store in which objects with these names are on the second page of every
// list.
func crowded(t *testing.T) (*store, *api, providers.API) {
	t.Helper()
	s, a, client := stored(t)
	join := object{"description": encoded(planner.JoinTokenDescription("w1"))}
	for i := range 501 {
		n := fmt.Sprintf("n%05d", i)
		s.put("/api/v1/nodes/"+n, object{"kind": "Node", "apiVersion": "v1", "metadata": object{"name": n}})
		s.put("/api/v1/namespaces/"+n, object{"kind": "Namespace", "apiVersion": "v1", "metadata": object{"name": n}})
		s.put(secretsPath+"bootstrap-token-"+n, secretOf("bootstrap-token-"+n, "bootstrap.kubernetes.io/token", join))
		s.put("/api/v1/namespaces/"+n+"/services/s", object{
			"kind": "Service", "apiVersion": "v1", "metadata": object{"name": "s", "namespace": n}, "spec": object{"clusterIPs": []string{fmt.Sprintf("10.96.%d.%d", i/250, i%250+1)}},
		})
		s.put("/api/v1/namespaces/"+n+"/configmaps/kube-root-ca.crt", object{
			"kind": "ConfigMap", "apiVersion": "v1", "metadata": object{"name": "kube-root-ca.crt", "namespace": n}, "data": object{"ca.crt": "nothing"},
		})
	}
	return s, a, client
}

// last is on the second page.
const last = "n00500"

// TestExpiredListReportsObjectsOnce checks that an object after the first page of any list is seen
// once, even if the rest of the list expires during the read.
func TestExpiredListReportsObjectsOnce(t *testing.T) {
	t.Parallel()
	for _, expires := range []bool{false, true} {
		s, a, client := crowded(t)
		expire := func(paths ...string) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.expires = map[string]bool{}
			for _, p := range paths {
				a.expires[p] = expires
			}
		}
		expire("/api/v1/nodes", strings.TrimSuffix(secretsPath, "/"))
		got, err := client.Observe(t.Context(), state.ClusterQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if _, seen := got.Nodes[last]; !seen || len(got.Nodes) != 501 {
			t.Errorf("%d nodes are seen", len(got.Nodes))
		}
		if !slices.Contains(got.JoinTokens, last) || len(got.JoinTokens) != 501 {
			t.Errorf("%d tokens are seen", len(got.JoinTokens))
		}

		expire(strings.TrimSuffix(secretsPath, "/"))
		if err := client.DeleteJoinTokens(t.Context(), []string{"n00000"}); err != nil {
			t.Error(err)
		}
		if n := a.saw("kubernetes-admin DELETE " + secretsPath); n != 500 || s.objects[secretsPath+"bootstrap-token-"+last] != nil {
			t.Errorf("%d requests to delete a token", n)
		}

		root := "/api/v1/namespaces/" + last + "/configmaps/kube-root-ca.crt"
		s.objects[root]["data"].(object)["ca.crt"] = string(a.ca)
		expire("/api/v1/namespaces", "/api/v1/configmaps")
		cas, err := client.RootCAs(t.Context())
		if err != nil || len(cas) != 501 || len(cas[last]) != 1 {
			t.Errorf("%d namespaces are seen, %q in the last one, %v", len(cas), cas[last], err)
		}

		for i := range 501 {
			n := fmt.Sprintf("n%05d", i)
			s.put("/api/v1/namespaces/"+n+"/secrets/token", object{
				"kind": "Secret", "apiVersion": "v1", "metadata": object{"name": "token", "namespace": n}, "type": "kubernetes.io/service-account-token",
			})
		}
		expire("/api/v1/nodes", "/api/v1/secrets")
		if got, err = client.Observe(t.Context(), state.ClusterQuery{TokenSecrets: true}); err != nil {
			t.Fatal(err)
		}
		if want := (state.TokenSecret{Namespace: last, Name: "token"}); !slices.Contains(got.TokenSecrets, want) || len(got.TokenSecrets) != 501 {
			t.Errorf("%d Secrets with tokens are seen", len(got.TokenSecrets))
		}

		s.refuse = "/api/v1/namespaces/kube-system/services/kube-dns"
		expire("/api/v1/services")
		err = client.Apply(t.Context(), state.FromGo(object{
			"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "kube-dns", "namespace": "kube-system"}, "spec": object{"clusterIP": "10.96.2.1"},
		}), false)
		if err == nil || errors.Is(err, providers.ErrUnavailable) || !strings.Contains(err.Error(), "is that of Service "+last+"/s") {
			t.Errorf("an address that is taken: %v", err)
		}
	}
}

// TestExpiredBudgetListNamesEachOnce checks that a restarted list of budgets names each once.
func TestExpiredBudgetListNamesEachOnce(t *testing.T) {
	t.Parallel()
	s := &shop{pods: []any{pod("web", "ReplicaSet", nil)}}
	s.budgets = append(s.budgets, budget("web", 0, 1, 2, 3))
	for i := range 600 {
		s.budgets = append(s.budgets, budget(fmt.Sprintf("other-%d", i), 1, 1, 1, 1))
	}
	a, h := start(t, s.answer)
	a.expires = map[string]bool{"/apis/policy/v1/poddisruptionbudgets": true}
	report, err := open(t, h).Observe(t.Context(), state.ClusterQuery{PodsOn: []string{"w1"}})
	if err != nil || len(report.Pods) != 1 || !slices.Equal(report.Pods[0].Budgets, []string{"shop/web"}) {
		t.Errorf("got %+v, %v", report, err)
	}
}
