package kube_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/planner"
)

// TestDrainKeepsReplacementPods checks that a pod of the same name, created after the node's
// pods were listed, is left alone wherever it runs: whether the listed pod was gone before
// its eviction, while a budget blocked it, or before it was deleted.
func TestDrainKeepsReplacementPods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what             string
		refused, deletes bool
	}{{"evicted", false, false}, {"refused by a budget", true, false}, {"deleted", false, true}} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				successor := with(with(pod("db-0", "StatefulSet", nil), "metadata", object{"uid": "successor"}), "spec", object{"nodeName": "w2"})
				s := &shop{
					pods:  []any{pod("db-0", "StatefulSet", nil), pod("cart", "ReplicaSet", nil)},
					later: map[string]any{"db-0": successor}, refuses: map[string]bool{"db-0": c.refused},
				}
				_, h := start(t, s.answer)
				op := planner.Drain{Node: "w1", Timeout: time.Minute, GracePeriod: -1, DisableEviction: c.deletes}
				if err := open(t, h).Drain(t.Context(), op, quietly); err != nil {
					t.Error(err)
				}
				if gone := slices.Concat(s.evicted, s.deleted); !slices.Equal(gone, []string{"cart"}) {
					t.Errorf("gone are %v, want cart alone", gone)
				}
			})
		})
	}
}

// TestDrainRetriesPodRefusedByBudget checks that a budget's refusal is not taken as a sign that the pod
// was replaced.
func TestDrainRetriesPodRefusedByBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shop{pods: []any{pod("db-0", "StatefulSet", nil)}, first: map[string]answer{"db-0": status(429, "TooManyRequests")}}
		_, h := start(t, s.answer)
		if err := open(t, h).Drain(t.Context(), planner.Drain{Node: "w1", Timeout: time.Minute, GracePeriod: -1}, quietly); err != nil {
			t.Error(err)
		}
		if !slices.Equal(s.evicted, []string{"db-0"}) {
			t.Errorf("evicted %v", s.evicted)
		}
	})
}
