package kube_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
)

// A drain leaves pods of DaemonSets and mirror pods, and evicts the rest.
func TestDrain(t *testing.T) {
	t.Parallel()
	evicted := map[string]bool{}
	pod := func(name, owner string, annotations object) object {
		return object{"kind": "Pod", "apiVersion": "v1", "spec": object{"nodeName": "w1"}, "metadata": object{
			"name": name, "namespace": "shop", "uid": name, "annotations": annotations,
			"ownerReferences": []any{object{"kind": owner, "name": owner, "controller": true, "apiVersion": "apps/v1", "uid": "1"}},
		}}
	}
	a, h := start(t, func(_, method, path string, _ []byte) answer {
		name, isPod := strings.CutPrefix(path, "/api/v1/namespaces/shop/pods/")
		switch {
		case path == "/api/v1/nodes/w1":
			return answer{200, object{"kind": "Node", "apiVersion": "v1", "metadata": object{"name": "w1"}}}
		case path == "/api/v1/pods":
			return answer{200, object{"kind": "PodList", "apiVersion": "v1", "items": []any{
				pod("cart", "ReplicaSet", nil), pod("agent", "DaemonSet", nil), pod("etcd", "Node", object{"kubernetes.io/config.mirror": "x"}),
			}}}
		case path == "/apis/apps/v1/namespaces/shop/daemonsets/DaemonSet":
			return answer{200, object{"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": object{"name": "DaemonSet"}}}
		case path == "/api":
			return answer{200, object{"kind": "APIVersions", "versions": []string{"v1"}}}
		case path == "/apis":
			return answer{200, object{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{object{
				"name":     "policy",
				"versions": []any{object{"groupVersion": "policy/v1", "version": "v1"}}, "preferredVersion": object{"groupVersion": "policy/v1", "version": "v1"},
			}}}}
		case path == "/api/v1":
			return answer{200, object{"kind": "APIResourceList", "groupVersion": "v1", "resources": []any{
				object{"name": "pods/eviction", "kind": "Eviction", "group": "policy", "version": "v1", "namespaced": true},
			}}}
		case isPod && method == "POST":
			evicted[strings.TrimSuffix(name, "/eviction")] = true
			return answer{201, object{"kind": "Status", "apiVersion": "v1", "status": "Success"}}
		}
		return status(404, "NotFound")
	})
	api := open(t, h)
	if err := api.Cordon(t.Context(), planner.Cordon{Node: "w1"}); err != nil {
		t.Fatal(err)
	}
	if got := string(a.bodies["PATCH /api/v1/nodes/w1"]); got != `{"spec":{"unschedulable":true}}` {
		t.Errorf("got %s", got)
	}
	var mu sync.Mutex
	var lines []string
	err := api.Drain(t.Context(), planner.Drain{Node: "w1", Timeout: time.Minute, GracePeriod: -1}, func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(evicted) != 1 || !evicted["cart"] {
		t.Errorf("evicted %v", evicted)
	}
	if !slices.Contains(lines, "pod shop/cart is gone") {
		t.Errorf("got lines %q", lines)
	}
}
