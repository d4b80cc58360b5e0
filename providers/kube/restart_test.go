package kube_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

// TestRestartMarksPodsOnce checks that the pods are marked once, and that the restart is done when all
// of them have restarted.
func TestRestartMarksPodsOnce(t *testing.T) {
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
	if err := api.Restart(t.Context(), op); !errors.Is(err, providers.ErrUnavailable) || !strings.HasSuffix(err.Error(), ": 1 of 2 pods have restarted") {
		t.Errorf("one of two pods is available, but the restart ended with %v", err)
	}
	ready = 2
	if err := api.Restart(t.Context(), op); err != nil {
		t.Error(err)
	}
	ready, op.Mark = 1, ""
	const awaited = "cannot confirm the rollout of DaemonSet kube-system/kube-proxy: 1 of 2 pods run with its current template"
	if err := api.Restart(t.Context(), op); !errors.Is(err, providers.ErrUnavailable) || err.Error() != awaited {
		t.Errorf("without a mark the wait for the pods says %v, want %s", err, awaited)
	}
	const path = "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy"
	want := `{"spec":{"template":{"metadata":{"annotations":{"` + planner.RestartAnnotation + `":"new"}}}}}`
	if got := string(a.bodies["PATCH "+path]); got != want || a.saw("kubernetes-admin PATCH") != 1 {
		t.Errorf("the patch was %s, %d times", got, a.saw("kubernetes-admin PATCH"))
	}
}

// TestRestartDeploymentWaitsForOldPods checks that pods of the former template have to be gone, and that
// an absent deployment has none.
func TestRestartDeploymentWaitsForOldPods(t *testing.T) {
	t.Parallel()
	replicas := 3
	_, h := start(t, func(_, _, path string, _ []byte) answer {
		if path != "/apis/apps/v1/namespaces/kube-system/deployments/coredns" {
			return status(404, "NotFound")
		}
		return answer{200, object{
			"kind": "Deployment", "apiVersion": "apps/v1", "metadata": object{"name": "coredns", "generation": 3},
			"spec": object{
				"replicas": 2, "selector": object{},
				"template": object{"metadata": object{"annotations": object{planner.RestartAnnotation: "new"}}, "spec": object{"containers": []any{}}},
			},
			"status": object{"observedGeneration": 3, "replicas": replicas, "updatedReplicas": 2, "availableReplicas": 3},
		}}
	})
	api := open(t, h)
	op := planner.RestartPods{Kind: "Deployment", Namespace: "kube-system", Name: "coredns", Mark: "new"}
	if err := api.Restart(t.Context(), op); !errors.Is(err, providers.ErrUnavailable) {
		t.Errorf("an old pod still runs, but the restart ended with %v", err)
	}
	replicas = 2
	if err := api.Restart(t.Context(), op); err != nil {
		t.Error(err)
	}
	op.Name = "other"
	if err := api.Restart(t.Context(), op); err != nil {
		t.Errorf("it does not exist: %v", err)
	}
}

// TestRestartReservedByOwnerFails checks that a restart that the owner has reserved to himself fails at
// once with instructions, after the controller has seen the mark; a merely slow one is
// waited for.
func TestRestartReservedByOwnerFails(t *testing.T) {
	t.Parallel()
	const onDelete = "cannot restart shop/agent: 1 of 3 pods have restarted, and the others do not by themselves: the updateStrategy of DaemonSet shop/agent is OnDelete. " +
		"Delete its pods, one after another, and apply again: kubectl -n shop get pods -l 'app=agent' shows them, kubectl -n shop delete pod NAME deletes one"
	const paused = "cannot restart shop/agent: 0 of 3 pods have restarted, and the others do not by themselves: Deployment shop/agent is paused. " +
		"Resume it, and apply again: kubectl -n shop rollout resume deployment/agent"
	const unmarked = "cannot confirm the rollout of DaemonSet shop/agent: 1 of 3 pods run with its current template, and the others do not by themselves: the updateStrategy of DaemonSet shop/agent is OnDelete. " +
		"Delete its pods, one after another, and apply again: kubectl -n shop get pods -l 'app=agent' shows them, kubectl -n shop delete pod NAME deletes one"
	daemons := func(observed, updated, available int) object {
		return object{"observedGeneration": observed, "desiredNumberScheduled": 3, "updatedNumberScheduled": updated, "numberAvailable": available}
	}
	replicas := func(observed, all, updated, available int) object {
		return object{"observedGeneration": observed, "replicas": all, "updatedReplicas": updated, "availableReplicas": available}
	}
	for name, c := range map[string]struct {
		kind   string
		spec   object
		status object
		want   string
		waits  bool
	}{
		"not seen yet":           {"DaemonSet", object{"updateStrategy": object{"type": "OnDelete"}}, daemons(2, 3, 3), "", true},
		"old pods stay":          {"DaemonSet", object{"updateStrategy": object{"type": "OnDelete"}}, daemons(3, 1, 3), onDelete, false},
		"the last one starts":    {"DaemonSet", object{"updateStrategy": object{"type": "OnDelete"}}, daemons(3, 3, 2), "", true},
		"all were deleted":       {"DaemonSet", object{"updateStrategy": object{"type": "OnDelete"}}, daemons(3, 3, 3), "", false},
		"by itself":              {"DaemonSet", object{"updateStrategy": object{"type": "RollingUpdate"}}, daemons(3, 1, 3), "", true},
		"pause not seen yet":     {"Deployment", object{"paused": true}, replicas(2, 3, 3, 3), "", true},
		"paused":                 {"Deployment", object{"paused": true}, replicas(3, 3, 0, 3), paused, false},
		"paused, and comes up":   {"Deployment", object{"paused": true}, replicas(3, 3, 3, 2), "", true},
		"paused when it was new": {"Deployment", object{"paused": true}, replicas(3, 3, 3, 3), "", false},
	} {
		_, h := start(t, func(_, _, _ string, _ []byte) answer {
			spec := object{
				"replicas": 3, "selector": object{"matchLabels": object{"app": "agent"}},
				"template": object{"metadata": object{"annotations": object{planner.RestartAnnotation: "new"}}, "spec": object{"containers": []any{}}},
			}
			maps.Copy(spec, c.spec)
			return answer{200, object{
				"kind": c.kind, "apiVersion": "apps/v1", "metadata": object{"name": "agent", "namespace": "shop", "generation": 3}, "spec": spec, "status": c.status,
			}}
		})
		err := open(t, h).Restart(t.Context(), planner.RestartPods{Kind: c.kind, Namespace: "shop", Name: "agent", Mark: "new"})
		if c.want == onDelete {
			if err := open(t, h).Restart(t.Context(), planner.RestartPods{Kind: c.kind, Namespace: "shop", Name: "agent"}); err == nil || err.Error() != unmarked {
				t.Errorf("%s, without a mark: got %v, want %q", name, err, unmarked)
			}
		}
		if errors.Is(err, providers.ErrUnavailable) != c.waits || !c.waits && (err == nil) != (c.want == "") || c.want != "" && err.Error() != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestRootCAsPerNamespace checks that a namespace without the ConfigMap, or with other content in it,
// has no CA, and that one that is being deleted is skipped.
func TestRootCAsPerNamespace(t *testing.T) {
	t.Parallel()
	var ca []byte
	_, h := start(t, func(_, _, path string, _ []byte) answer {
		if path == "/api/v1/namespaces" {
			return list("Namespace", "v1", []any{
				object{"metadata": object{"name": "default"}},
				object{"metadata": object{"name": "new"}},
				object{"metadata": object{"name": "odd"}},
				object{"metadata": object{"name": "going", "deletionTimestamp": "2026-03-02T09:00:00Z"}},
			})
		}
		root := func(namespace, content string) object {
			return object{"metadata": object{"name": "kube-root-ca.crt", "namespace": namespace}, "data": object{"ca.crt": content}}
		}
		return list("ConfigMap", "v1", []any{root("default", string(ca)+string(ca)), root("odd", "nothing"), root("going", string(ca))})
	})
	api := open(t, h)
	ca = h.files["/pki/ca.crt"]
	got, err := api.RootCAs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, known := got["new"]
	if len(got) != 3 || len(got["default"]) != 2 || len(got["default"][0]) != 64 || !known || len(got["new"])+len(got["odd"]) != 0 {
		t.Errorf("got %v", got)
	}
}
