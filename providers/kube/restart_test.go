package kube_test

import (
	"errors"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

// TestRestart: the pods are marked once, and it is done when all of them have
// started anew.
func TestRestart(t *testing.T) {
	t.Parallel()
	marks, ready := object{}, 1
	a, h := start(t, func(_, method, _ string, _ []byte) answer {
		if method == "PATCH" {
			marks = object{planner.RestartAnnotation: "new"}
		}
		return answer{200, object{
			"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": object{"name": "kube-proxy", "generation": 3},
			"spec":   object{"selector": object{}, "template": object{"metadata": object{"annotations": marks}, "spec": object{"containers": []any{}}}},
			"status": object{"observedGeneration": 3, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": ready},
		}}
	})
	api := open(t, h)
	op := planner.RestartPods{Kind: "DaemonSet", Namespace: "kube-system", Name: "kube-proxy", Mark: "new"}
	if err := api.Restart(t.Context(), op); !errors.Is(err, providers.ErrUnavailable) {
		t.Errorf("one of two pods is available, and the restart ended with %v", err)
	}
	ready = 2
	if err := api.Restart(t.Context(), op); err != nil {
		t.Error(err)
	}
	const path = "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy"
	want := `{"spec":{"template":{"metadata":{"annotations":{"` + planner.RestartAnnotation + `":"new"}}}}}`
	if got := string(a.bodies["PATCH "+path]); got != want || a.saw("kubernetes-admin PATCH") != 1 {
		t.Errorf("the patch was %s, %d times", got, a.saw("kubernetes-admin PATCH"))
	}
}
