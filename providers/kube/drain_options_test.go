package kube_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// with adds attributes to a part of a pod.
func with(pod object, part string, attributes object) object {
	for k, v := range attributes {
		pod[part].(object)[k] = v
	}
	return pod
}

// terminating returns a pod that should have been gone for some time.
func terminating(pod object, since time.Duration) object {
	return with(pod, "metadata", object{"deletionTimestamp": time.Now().Add(-since).UTC().Format(time.RFC3339)})
}

// TestDrainGracePeriod checks that a drain gives pods the requested grace period, whether
// it evicts or deletes them.
func TestDrainGracePeriod(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		seconds int
		want    string
	}{{-1, "the pod's own"}, {0, "0s"}, {30, "30s"}} {
		for _, deletes := range []bool{false, true} {
			s := &shop{pods: []any{pod("cart", "ReplicaSet", nil)}}
			a, h := start(t, s.answer)
			op := planner.Drain{Node: "w1", Timeout: time.Minute, GracePeriod: c.seconds, DisableEviction: deletes}
			if err := open(t, h).Drain(t.Context(), op, quietly); err != nil {
				t.Fatal(err)
			}
			var given *metav1.DeleteOptions
			if deletes {
				given = a.decoded(t, "DELETE /api/v1/namespaces/shop/pods/cart").(*metav1.DeleteOptions)
			} else {
				given = a.decoded(t, "POST /api/v1/namespaces/shop/pods/cart/eviction").(*policyv1.Eviction).DeleteOptions
			}
			got := "the pod's own"
			if given.GracePeriodSeconds != nil {
				got = fmt.Sprintf("%ds", *given.GracePeriodSeconds)
			}
			if got != c.want {
				t.Errorf("grace_period %d, deleting %t: the pod gets %s, want %s", c.seconds, deletes, got, c.want)
			}
		}
	}
}

// TestDrainPodSelector checks that only the selected pods are requested from the API
// server.
func TestDrainPodSelector(t *testing.T) {
	t.Parallel()
	for selector, want := range map[string]string{
		"":                      "/api/v1/pods?fieldSelector=spec.nodeName%3Dw1&limit=500",
		"app=web,tier!=cache":   "/api/v1/pods?fieldSelector=spec.nodeName%3Dw1&labelSelector=app%3Dweb%2Ctier%21%3Dcache&limit=500",
		"app in (web,shop),!db": "/api/v1/pods?fieldSelector=spec.nodeName%3Dw1&labelSelector=app+in+%28shop%2Cweb%29%2C%21db&limit=500",
	} {
		s := &shop{pods: []any{pod("cart", "ReplicaSet", nil)}}
		a, h := start(t, s.answer)
		op := planner.Drain{Node: "w1", Timeout: time.Minute, GracePeriod: -1, PodSelector: selector}
		if err := open(t, h).Drain(t.Context(), op, quietly); err != nil {
			t.Fatal(err)
		}
		if a.saw("kubernetes-admin GET "+want) == 0 {
			t.Errorf("pod_selector %q: %s was not requested, but %q", selector, want, a.requests)
		}
	}
}

// TestDrainSkipsWait checks that a pod that has been terminating for too long is neither
// evicted nor waited for, in contrast to one that has been so for a shorter time. A
// duration below a second counts as well.
func TestDrainSkipsWait(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		skip, since time.Duration
		waits       bool
	}{
		{0, time.Hour, true},
		{time.Minute, time.Hour, false},
		{2 * time.Hour, time.Hour, true},
		{100 * time.Millisecond, time.Hour, false},
	} {
		t.Run(c.skip.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stuck := terminating(pod("stuck", "ReplicaSet", nil), c.since)
				stuck["metadata"].(object)["finalizers"] = []string{"example.test/hold"}
				s := &shop{pods: []any{stuck, pod("cart", "ReplicaSet", nil)}, stays: map[string]bool{"stuck": true}}
				_, h := start(t, s.answer)
				op := planner.Drain{Node: "w1", Timeout: time.Second, GracePeriod: -1, SkipWait: c.skip}
				err := open(t, h).Drain(t.Context(), op, quietly)
				if !slices.Contains(s.evicted, "cart") || errors.Is(err, providers.ErrBlocked) != c.waits || !c.waits && (err != nil || len(s.evicted) != 1) {
					t.Errorf("terminating since %s: evicted %v, %v", c.since, s.evicted, err)
				}
				by := stuck["metadata"].(object)["deletionTimestamp"].(string)
				if c.waits && !strings.Contains(fmt.Sprint(err), "shop/stuck (it terminates still, and was to be gone by "+by+": kept by finalizers, which their controllers remove: example.test/hold)") {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestDrainSkipsWaitAfterEviction checks the same for a pod that proves to be such a one after its
// eviction.
func TestDrainSkipsWaitAfterEviction(t *testing.T) {
	t.Parallel()
	s := &shop{
		pods:  []any{pod("stuck", "ReplicaSet", nil)},
		stays: map[string]bool{"stuck": true}, later: map[string]any{"stuck": terminating(pod("stuck", "ReplicaSet", nil), time.Hour)},
	}
	_, h := start(t, s.answer)
	op := planner.Drain{Node: "w1", Timeout: time.Minute, GracePeriod: -1, SkipWait: time.Minute}
	if err := open(t, h).Drain(t.Context(), op, quietly); err != nil || !slices.Equal(s.evicted, []string{"stuck"}) {
		t.Errorf("evicted %v, %v", s.evicted, err)
	}
}

// TestDrainForce checks that pods that would not come back are evicted if that was
// requested, each kind by an option of its own.
func TestDrainForce(t *testing.T) {
	t.Parallel()
	data := object{"name": "tmp", "emptyDir": object{}}
	for _, c := range []struct {
		op      planner.Drain
		evicted []string
		refused []string
	}{
		{planner.Drain{}, nil, []string{"shop/data", "shop/lone"}},
		{planner.Drain{Force: true}, nil, []string{"shop/data"}},
		{planner.Drain{DeleteEmptyDirData: true}, nil, []string{"shop/lone"}},
		{planner.Drain{Force: true, DeleteEmptyDirData: true}, []string{"data", "lone"}, nil},
	} {
		s := &shop{pods: []any{pod("lone", "", nil), pod("data", "ReplicaSet", nil, data)}}
		_, h := start(t, s.answer)
		c.op.Node, c.op.Timeout, c.op.GracePeriod = "w1", time.Minute, -1
		err := open(t, h).Drain(t.Context(), c.op, quietly)
		slices.Sort(s.evicted)
		if !slices.Equal(s.evicted, c.evicted) || (err != nil) != (len(c.refused) > 0) {
			t.Errorf("%+v: evicted %v, %v", c.op, s.evicted, err)
		}
		for _, name := range []string{"shop/data", "shop/lone"} {
			if strings.Contains(fmt.Sprint(err), name) != slices.Contains(c.refused, name) {
				t.Errorf("%+v: refused are %v, not %v", c.op, err, c.refused)
			}
		}
	}
}

// TestDrainReasons checks the message that says why no pod was evicted.
func TestDrainReasons(t *testing.T) {
	t.Parallel()
	orphan := pod("orphan", "DaemonSet", nil)
	orphan["metadata"].(object)["ownerReferences"].([]any)[0].(object)["name"] = "removed"
	s := &shop{pods: []any{pod("lone", "", nil), pod("data", "ReplicaSet", nil, object{"name": "tmp", "emptyDir": object{}}), orphan}}
	_, h := start(t, s.answer)
	op := planner.Drain{Node: "w1", Timeout: time.Minute, GracePeriod: -1}
	err := open(t, h).Drain(t.Context(), op, quietly)
	for _, want := range []string{
		"cannot drain node w1: ",
		"cannot evict pods whose emptyDir volumes would be lost (delete_emptydir_data): shop/data",
		"cannot evict pods that no controller recreates (force): shop/lone",
		"cannot evict pods whose DaemonSet does not exist (force): shop/orphan",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the message does not contain %q: %v", want, err)
		}
	}
	op.Force, op.DeleteEmptyDirData = true, true
	if err := open(t, h).Drain(t.Context(), op, quietly); err != nil || len(s.evicted) != 3 {
		t.Errorf("evicted %v, %v", s.evicted, err)
	}
}

// TestDrainDisableEviction checks that a deletion bypasses a budget that blocks evictions.
func TestDrainDisableEviction(t *testing.T) {
	t.Parallel()
	s := &shop{pods: []any{pod("cart", "ReplicaSet", nil)}, budgets: []any{budget("cart", 0, 2, 2, 2)}, refuses: map[string]bool{"cart": true}}
	_, h := start(t, s.answer)
	op := planner.Drain{Node: "w1", Timeout: time.Second, GracePeriod: -1, DisableEviction: true}
	if err := open(t, h).Drain(t.Context(), op, quietly); err != nil || len(s.evicted) > 0 || !slices.Equal(s.deleted, []string{"cart"}) {
		t.Errorf("evicted %v, deleted %v, %v", s.evicted, s.deleted, err)
	}
}

// TestDrainWithoutDeadline checks that a drain without a deadline continues until its
// context is cancelled.
func TestDrainWithoutDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shop{pods: []any{pod("cart", "ReplicaSet", nil)}, stays: map[string]bool{"cart": true}}
		_, h := start(t, s.answer)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		asked := 0
		s.looked = func() {
			if asked++; asked == 2 {
				stop()
			}
		}
		err := open(t, h).Drain(ctx, planner.Drain{Node: "w1", GracePeriod: -1}, quietly)
		if err == nil || errors.Is(err, providers.ErrBlocked) || asked < 2 {
			t.Errorf("observed %d times, then %v", asked, err)
		}
	})
}

// TestObserveTerminatingPodsAndBudgets checks which budgets apply to an eviction: all that select the pod,
// but none if the pod no longer counts as a disruption; and that terminating pods are
// reported.
func TestObserveTerminatingPodsAndBudgets(t *testing.T) {
	t.Parallel()
	named := func(name string, p object) object { return with(p, "metadata", object{"name": name}) }
	web := func(name string) object { return named(name, pod("web", "ReplicaSet", nil)) }
	phase := func(p object, phase string) object { return with(p, "status", object{"phase": phase}) }
	unready := func(p object) object { return with(p, "status", object{"conditions": []any{}}) }
	foreign := named("foreign", pod("db", "DaemonSet", nil))
	foreign["metadata"].(object)["ownerReferences"].([]any)[0].(object)["apiVersion"] = "apps.kruise.io/v1alpha1"
	letting := budget("lets", 0, 1, 2, 2)
	letting["spec"].(object)["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
	also := budget("also", 1, 2, 1, 2)
	also["spec"] = object{"selector": object{"matchLabels": object{"app": "web", "tier": "front"}}}
	both := web("both")
	both["metadata"].(object)["labels"] = object{"app": "web", "tier": "front"}
	s := &shop{
		pods: []any{
			web("well"), unready(web("ill")), phase(web("ended"), "Succeeded"), phase(web("pending"), "Pending"), terminating(web("going"), time.Hour), both, foreign,
			unready(named("let", pod("lets", "ReplicaSet", nil))), unready(named("enough", pod("enough", "ReplicaSet", nil))),
		},
		budgets: []any{budget("web", 0, 1, 2, 3), also, letting, budget("enough", 0, 1, 1, 2)},
	}
	_, h := start(t, s.answer)
	report, err := open(t, h).Observe(t.Context(), state.ClusterQuery{PodsOn: []string{"w1"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range report.Pods {
		line := strings.TrimSpace(p.Name + " " + strings.Join(p.Budgets, " "))
		if !p.GoneBy.IsZero() {
			line += " goes"
		}
		got = append(got, line)
	}
	want := []string{"both shop/also shop/web", "ended", "enough", "foreign", "going goes", "ill shop/web", "let", "pending", "well shop/web"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if n := report.Nodes["w1"].Pods; n != len(want) {
		t.Errorf("%d pods are counted, want %d", n, len(want))
	}
}

// TestFailedBudgetIsReported checks that a budget whose pods its controller cannot count, and
// which therefore allows no eviction, is reported by the observation and in the error of a
// drain.
func TestFailedBudgetIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const reason = "found no controllers for pod \"cart\""
		failed := budget("cart", 0, 0, 0, 0)
		failed["status"].(object)["conditions"] = []any{object{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": reason}}
		blocked := budget("web", 0, 1, 1, 2)
		blocked["status"].(object)["conditions"] = []any{object{"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "x"}}
		s := &shop{
			pods: []any{pod("cart", "ReplicaSet", nil), pod("web", "ReplicaSet", nil)}, budgets: []any{failed, blocked},
			refuses: map[string]bool{"cart": true, "web": true},
		}
		_, h := start(t, s.answer)
		report, err := open(t, h).Observe(t.Context(), state.ClusterQuery{PodsOn: []string{"w1"}})
		if err != nil {
			t.Fatal(err)
		}
		if b := report.Budgets["shop/cart"]; b.Failed != reason || !b.Never() {
			t.Errorf("got %+v", b)
		}
		if b := report.Budgets["shop/web"]; b.Failed != "" || b.Never() {
			t.Errorf("got %+v", b)
		}
		err = open(t, h).Drain(t.Context(), planner.Drain{Node: "w1", Timeout: time.Second, GracePeriod: -1}, quietly)
		if err == nil || !strings.Contains(err.Error(), "shop/cart (PodDisruptionBudget shop/cart never allows a disruption, because its pods cannot be counted: "+reason+"; give it minAvailable") {
			t.Errorf("got %v", err)
		}
	})
}

// TestDrainErrorOfUnavailableAPIIsRetryable checks that a drain that failed because the API was unavailable
// has the kind for that, so that it is retried; a refusal keeps its error.
func TestDrainErrorOfUnavailableAPIIsRetryable(t *testing.T) {
	t.Parallel()
	kinds := []error{providers.ErrUnavailable, providers.ErrDisconnected, providers.ErrTimeout, providers.ErrUnreachable}
	for what, c := range map[string]struct {
		answer answer
		kind   error
	}{
		"unavailable": {status(503, "ServiceUnavailable"), providers.ErrUnavailable},
		"lost":        {answer{body: "lost"}, providers.ErrDisconnected},
		"refused":     {status(500, "PodHasTwoBudgets"), nil},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := &shop{pods: []any{pod("cart", "ReplicaSet", nil)}, first: map[string]answer{"cart": c.answer}}
			_, h := start(t, s.answer)
			api, op := open(t, h), planner.Drain{Node: "w1", Timeout: time.Minute, GracePeriod: -1}
			err := api.Drain(t.Context(), op, quietly)
			if err == nil || !strings.HasPrefix(err.Error(), "cannot drain node w1: ") || strings.Count(err.Error(), "cannot") != 1 {
				t.Errorf("got %v", err)
			}
			for _, kind := range kinds {
				if errors.Is(err, kind) != (kind == c.kind) {
					t.Errorf("got the kind %t %v: %v", kind != c.kind, kind, err)
				}
			}
			if err := api.Drain(t.Context(), op, quietly); err != nil || !slices.Equal(s.evicted, []string{"cart"}) {
				t.Errorf("the second time: %v, evicted %v", err, s.evicted)
			}
		})
	}
}
