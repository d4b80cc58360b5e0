package kube_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestBudgetSelectsPodsOfItsNamespace checks that a budget concerns the pods of its own namespace
// alone. There an empty selector selects all of them, and a nil selector none.
func TestBudgetSelectsPodsOfItsNamespace(t *testing.T) {
	t.Parallel()
	in := func(namespace string, b object) object { return with(b, "metadata", object{"namespace": namespace}) }
	selecting := func(selector any, b object) object { return with(b, "spec", object{"selector": selector}) }
	for _, c := range []struct {
		what    string
		budgets []any
		want    []string
		blocked string
	}{
		{"the same selector elsewhere", []any{in("other", budget("cart", 0, 2, 2, 2))}, nil, "shop/cart (it was not evicted)"},
		{"all pods elsewhere", []any{in("other", selecting(object{}, budget("all", 0, 2, 2, 2)))}, nil, "shop/cart (it was not evicted)"},
		{"all pods here", []any{selecting(object{}, budget("all", 0, 2, 2, 2))}, []string{"shop/all"}, "PodDisruptionBudget shop/all allows 0 disruptions"},
		{"no selector here", []any{selecting(nil, budget("cart", 0, 2, 2, 2))}, nil, "shop/cart (it was not evicted)"},
		{"both", []any{in("other", budget("cart", 0, 2, 2, 2)), budget("cart", 0, 2, 2, 2)}, []string{"shop/cart"}, "PodDisruptionBudget shop/cart allows 0 disruptions"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &shop{pods: []any{pod("cart", "ReplicaSet", nil)}, budgets: c.budgets, refuses: map[string]bool{"cart": true}}
				_, h := start(t, s.answer)
				report, err := open(t, h).Observe(t.Context(), state.ClusterQuery{PodsOn: []string{"w1"}})
				if err != nil || len(report.Pods) != 1 || !slices.Equal(report.Pods[0].Budgets, c.want) || len(report.Budgets) != len(c.want) {
					t.Errorf("got %+v, %v", report, err)
				}
				err = open(t, h).Drain(t.Context(), planner.Drain{Node: "w1", Timeout: time.Second, GracePeriod: -1}, quietly)
				if err == nil || !strings.Contains(err.Error(), c.blocked) {
					t.Errorf("got %v, want %s", err, c.blocked)
				}
			})
		})
	}
}

// TestClaimsAndStaticPodsOfOtherNamespaces checks that a pod's claim is the one in its namespace, and
// that static pods are those of kube-system.
func TestClaimsAndStaticPodsOfOtherNamespaces(t *testing.T) {
	t.Parallel()
	claim := object{"name": "v", "persistentVolumeClaim": object{"claimName": "disk"}}
	there := pod("there", "ReplicaSet", nil, claim)
	with(there, "metadata", object{"namespace": "other"})
	mirror := object{"kubernetes.io/config.mirror": "x"}
	system := with(pod("etcd-cp1", "Node", mirror), "metadata", object{"namespace": "kube-system"})
	s := &shop{
		pods: []any{pod("here", "ReplicaSet", nil, claim), there, pod("etcd-cp2", "Node", mirror), system},
		volumes: []any{
			object{"metadata": object{"name": "a"}, "spec": object{"local": object{"path": "/data"}, "claimRef": object{"namespace": "shop", "name": "disk"}}},
		},
	}
	_, h := start(t, s.answer)
	report, err := open(t, h).Observe(t.Context(), state.ClusterQuery{PodsOn: []string{"w1"}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, p := range report.Pods {
		got[p.String()] = p.LocalClaims
	}
	if want := map[string][]string{"shop/here": {"disk"}, "other/there": nil}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, is := report.StaticPods["etcd-cp1"]; !is || len(report.StaticPods) != 1 {
		t.Errorf("got static pods %v", report.StaticPods)
	}
}
