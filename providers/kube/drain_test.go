package kube_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// shop is an API with pods on node w1.
type shop struct {
	mu      sync.Mutex
	pods    []any
	budgets []any
	volumes []any
	// refuses reports whether a budget blocks the eviction of a pod.
	refuses map[string]bool
	// noEviction simulates an API without the eviction subresource.
	noEviction       bool
	evicted, deleted []string
	// renewals are the successive versions of the controller managers' lease; without any
	// there is no lease.
	renewals []string
	// stays are pods that do not end when evicted.
	stays map[string]bool
	// later has the state of pods when they are read by name.
	later map[string]any
	// first is the answer to the first request to evict a pod.
	first map[string]answer
	// looked is called when a pod was read.
	looked func()
}

// pod returns a pod on w1 with a controller of the given kind; further volumes are merged
// into its spec.
func pod(name, owner string, annotations object, volumes ...any) object {
	meta := object{"name": name, "namespace": "shop", "uid": name, "annotations": annotations, "labels": object{"app": name}}
	if owner != "" {
		meta["ownerReferences"] = []any{object{"kind": owner, "name": owner, "controller": true, "apiVersion": "apps/v1", "uid": "1"}}
	}
	return object{
		"kind": "Pod", "apiVersion": "v1", "spec": object{"nodeName": "w1", "volumes": volumes}, "metadata": meta,
		"status": object{"phase": "Running", "conditions": []any{object{"type": "Ready", "status": "True"}}},
	}
}

func budget(name string, allowed, healthy, wanted, expected int) object {
	return object{
		"kind": "PodDisruptionBudget", "apiVersion": "policy/v1", "metadata": object{"name": name, "namespace": "shop"},
		"spec":   object{"selector": object{"matchLabels": object{"app": name}}},
		"status": object{"disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": wanted, "expectedPods": expected, "observedGeneration": 1},
	}
}

func list(kind, version string, items []any) answer {
	return answer{200, object{"kind": kind + "List", "apiVersion": version, "items": items}}
}

func (s *shop) answer(_, method, path string, body []byte) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, isPod := strings.CutPrefix(path, "/api/v1/namespaces/shop/pods/")
	switch {
	case path == "/version":
		return answer{200, object{"gitVersion": "v1.36.3"}}
	case path == "/api/v1/nodes":
		return list("Node", "v1", []any{
			object{"metadata": object{"name": "w1", "labels": object{"kubernetes.io/hostname": "w1.example.com"}}}, object{"metadata": object{"name": "w2"}},
		})
	case path == "/api/v1/nodes/w1":
		return answer{200, object{"kind": "Node", "apiVersion": "v1", "metadata": object{"name": "w1"}}}
	case path == "/api/v1/pods":
		return list("Pod", "v1", slices.DeleteFunc(slices.Clone(s.pods), func(p any) bool { return s.gone(p.(object)["metadata"].(object)["name"].(string)) }))
	case path == "/apis/policy/v1/poddisruptionbudgets":
		return list("PodDisruptionBudget", "policy/v1", s.budgets)
	case path == "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager" && len(s.renewals) > 0:
		version := s.renewals[0]
		s.renewals = s.renewals[min(1, len(s.renewals)-1):]
		return answer{200, object{"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": object{"name": "kube-controller-manager", "resourceVersion": version}}}
	case path == "/api/v1/persistentvolumes":
		return list("PersistentVolume", "v1", s.volumes)
	case path == "/apis/apps/v1/namespaces/shop/daemonsets/DaemonSet":
		return answer{200, object{"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": object{"name": "DaemonSet"}}}
	case path == "/api/v1" && s.noEviction:
		return answer{200, object{"kind": "APIResourceList", "groupVersion": "v1", "resources": []any{}}}
	case path == "/api/v1":
		return answer{200, object{"kind": "APIResourceList", "groupVersion": "v1", "resources": []any{
			object{"name": "pods/eviction", "kind": "Eviction", "group": "policy", "version": "v1", "namespaced": true},
		}}}
	case isPod && (method == "POST" && !s.refuses[strings.TrimSuffix(name, "/eviction")] || method == "DELETE") && s.replaced(strings.TrimSuffix(name, "/eviction"), body):
		return status(409, "Conflict")
	case isPod && method == "POST" && s.refuses[strings.TrimSuffix(name, "/eviction")]:
		return status(429, "TooManyRequests")
	case isPod && method == "POST" && s.first[strings.TrimSuffix(name, "/eviction")].body != nil:
		out := s.first[strings.TrimSuffix(name, "/eviction")]
		delete(s.first, strings.TrimSuffix(name, "/eviction"))
		return out
	case isPod && method == "POST":
		s.evicted = append(s.evicted, strings.TrimSuffix(name, "/eviction"))
		return answer{201, object{"kind": "Status", "apiVersion": "v1", "status": "Success"}}
	case isPod && method == "DELETE":
		s.deleted = append(s.deleted, name)
		return answer{200, object{"kind": "Status", "apiVersion": "v1", "status": "Success"}}
	case isPod && method == "GET" && !s.gone(name):
		return answer{200, s.found(name)}
	}
	return status(404, "NotFound")
}

// replaced reports whether a request to evict or delete a pod has the UID of another pod as
// its precondition; an API server checks that after the budgets.
func (s *shop) replaced(name string, body []byte) bool {
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return true
	}
	options, is := o.(*metav1.DeleteOptions)
	if !is {
		options = o.(*policyv1.Eviction).DeleteOptions
	}
	if options == nil || options.Preconditions == nil || options.Preconditions.UID == nil {
		return false
	}
	there, is := s.found(name).(object)
	return !is || there["metadata"].(object)["uid"] != string(*options.Preconditions.UID)
}

// found returns a pod that is read by name.
func (s *shop) found(name string) any {
	if s.looked != nil {
		s.looked()
	}
	if p := s.later[name]; p != nil {
		return p
	}
	return s.pods[slices.IndexFunc(s.pods, func(p any) bool { return p.(object)["metadata"].(object)["name"] == name })]
}

func (s *shop) gone(pod string) bool {
	return !s.stays[pod] && (slices.Contains(s.evicted, pod) || slices.Contains(s.deleted, pod))
}

// TestDrainEvictsPods checks that a drain leaves pods of DaemonSets and mirror pods, and evicts the
// rest.
func TestDrainEvictsPods(t *testing.T) {
	t.Parallel()
	s := &shop{pods: []any{
		pod("cart", "ReplicaSet", nil), pod("agent", "DaemonSet", nil), pod("etcd", "Node", object{"kubernetes.io/config.mirror": "x"}),
	}}
	a, h := start(t, s.answer)
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
	if !slices.Equal(s.evicted, []string{"cart"}) || len(s.deleted) > 0 {
		t.Errorf("evicted %v, deleted %v", s.evicted, s.deleted)
	}
	if !slices.Contains(lines, "pod shop/cart is gone") {
		t.Errorf("got lines %q", lines)
	}
}

func quietly(string) {}

// TestDrainAwaitsLeader checks that a drain waits until a controller manager leads: the
// lease of a restarted one exists, but is not renewed.
func TestDrainAwaitsLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shop{pods: []any{pod("cart", "ReplicaSet", nil)}, renewals: []string{"7", "7", "8"}}
		a, h := start(t, s.answer)
		if err := open(t, h).Drain(t.Context(), planner.Drain{Node: "w1", Timeout: time.Minute, GracePeriod: -1}, quietly); err != nil {
			t.Fatal(err)
		}
		if n := a.saw("kubernetes-admin GET /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager"); n != 3 || !slices.Equal(s.evicted, []string{"cart"}) {
			t.Errorf("the lease was read %d times, want 3; evicted %v", n, s.evicted)
		}
	})
}

// TestBlockedDrainNamesPodsAndBudgets checks that a drain blocked by a budget ends at its deadline and names
// pods and budgets. It evicts what it may, and deletes nothing.
func TestBlockedDrainNamesPodsAndBudgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shop{
			pods:    []any{pod("cart", "ReplicaSet", nil), pod("web", "ReplicaSet", nil)},
			budgets: []any{budget("cart", 0, 2, 2, 2), budget("web", 1, 2, 1, 2)}, refuses: map[string]bool{"cart": true},
		}
		_, h := start(t, s.answer)
		var lines []string // the drain calls log one at a time
		err := open(t, h).Drain(t.Context(), planner.Drain{Node: "w1", Timeout: time.Second, GracePeriod: -1}, func(line string) { lines = append(lines, line) })
		if !errors.Is(err, providers.ErrBlocked) {
			t.Fatalf("got %v", err)
		}
		if all := strings.Join(lines, "\n"); !strings.Contains(all, "pod shop/cart is not evicted yet, trying again in 100ms: it is TooManyRequests") {
			t.Errorf("got lines\n%s", all)
		}
		const want = "cannot drain node w1: after 1s pods are still on it: shop/cart (PodDisruptionBudget shop/cart allows 0 disruptions: " +
			"2 of 2 pods are healthy, 2 have to stay, so it never allows one; scale up or change it)"
		if err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if !slices.Equal(s.evicted, []string{"web"}) || len(s.deleted) > 0 {
			t.Errorf("evicted %v, deleted %v", s.evicted, s.deleted)
		}
	})
}

// TestDrainNeverDeletes checks that without an eviction API no pod is deleted, unless that
// was requested.
func TestDrainNeverDeletes(t *testing.T) {
	t.Parallel()
	s := &shop{pods: []any{pod("cart", "ReplicaSet", nil)}, noEviction: true}
	_, h := start(t, s.answer)
	api := open(t, h)
	err := api.Drain(t.Context(), planner.Drain{Node: "w1", Timeout: time.Minute, GracePeriod: -1}, quietly)
	if err == nil || !strings.Contains(err.Error(), "the API server serves no evictions, and pods are not deleted instead: that would pass every PodDisruptionBudget by. Set disable_eviction = true in upgrade { drain } when that is wanted") || len(s.deleted) > 0 {
		t.Errorf("got %v, deleted %v", err, s.deleted)
	}
	if err := api.Drain(t.Context(), planner.Drain{Node: "w1", Timeout: time.Minute, GracePeriod: -1, DisableEviction: true}, quietly); err != nil {
		t.Error(err)
	}
	if !slices.Equal(s.deleted, []string{"cart"}) {
		t.Errorf("deleted %v", s.deleted)
	}
}

// TestDrainEvictsAllOrNothing checks that no pod is evicted if one may not be.
func TestDrainEvictsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := &shop{pods: []any{pod("cart", "ReplicaSet", nil), pod("lone", "", nil), pod("data", "ReplicaSet", nil, object{"name": "tmp", "emptyDir": object{}})}}
	_, h := start(t, s.answer)
	err := open(t, h).Drain(t.Context(), planner.Drain{Node: "w1", Timeout: time.Minute, GracePeriod: -1}, quietly)
	if err == nil || !strings.Contains(err.Error(), "shop/lone") || !strings.Contains(err.Error(), "shop/data") || len(s.evicted) > 0 {
		t.Errorf("got %v, evicted %v", err, s.evicted)
	}
}

// TestObservePods checks what is observed of the pods of a node.
func TestObservePods(t *testing.T) {
	t.Parallel()
	claim := object{"name": "v", "persistentVolumeClaim": object{"claimName": "disk"}}
	other := object{"name": "w", "persistentVolumeClaim": object{"claimName": "elsewhere"}}
	finished := pod("job", "Job", nil)
	finished["status"] = object{"phase": "Succeeded"}
	s := &shop{
		pods: []any{
			pod("web", "ReplicaSet", nil, object{"name": "tmp", "emptyDir": object{}}), pod("lone", "", nil), pod("db", "StatefulSet", nil, claim, other),
			pod("agent", "DaemonSet", nil), pod("etcd", "Node", object{"kubernetes.io/config.mirror": "x"}), finished,
		},
		budgets: []any{budget("web", 0, 1, 2, 3), budget("unused", 0, 0, 0, 0)},
		volumes: []any{
			object{"metadata": object{"name": "a"}, "spec": object{"local": object{"path": "/data"}, "claimRef": object{"namespace": "shop", "name": "disk"}}},
			object{"metadata": object{"name": "b"}, "spec": object{"nfs": object{"server": "x", "path": "/"}, "claimRef": object{"namespace": "shop", "name": "elsewhere"}}},
		},
	}
	_, h := start(t, s.answer)
	report, err := open(t, h).Observe(t.Context(), state.ClusterQuery{PodsOn: []string{"w1"}})
	if err != nil {
		t.Fatal(err)
	}
	labels := func(name string) map[string]string { return map[string]string{"app": name} }
	want := []state.PodReport{
		{Namespace: "shop", Name: "db", Node: "w1", Controller: "StatefulSet", Labels: labels("db"), LocalClaims: []string{"disk"}},
		{Namespace: "shop", Name: "job", Node: "w1", Controller: "Job", Labels: labels("job"), Finished: true},
		{Namespace: "shop", Name: "lone", Node: "w1", Labels: labels("lone")},
		{Namespace: "shop", Name: "web", Node: "w1", Controller: "ReplicaSet", Labels: labels("web"), EmptyDir: true, Budgets: []string{"shop/web"}},
	}
	if !reflect.DeepEqual(report.Pods, want) {
		t.Errorf("got  %+v\nwant %+v", report.Pods, want)
	}
	if b := report.Budgets; len(b) != 1 || b["shop/web"] != (state.BudgetReport{Healthy: 1, Wanted: 2, Expected: 3}) || b["shop/web"].Never() {
		t.Errorf("got %+v", b)
	}
	if report, err = open(t, h).Observe(t.Context(), state.ClusterQuery{}); err != nil || report.Pods != nil {
		t.Errorf("without a request: %+v, %v", report.Pods, err)
	}
}
