//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// tenants are pods, each of which blocks a drain in a different way: scratch has an emptyDir and
// a budget that never allows an eviction; lone has no controller and terminates slowly; passed is
// not selected by the selector; stuck has ended but has a finalizer.
const tenants = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: scratch, namespace: default}
spec:
  selector: {matchLabels: {app: scratch}}
  template:
    metadata: {labels: {app: scratch}}
    spec:
      containers: [{name: serve, image: %[1]q, imagePullPolicy: Never, args: [serve], volumeMounts: [{name: data, mountPath: /data}]}]
      volumes: [{name: data, emptyDir: {}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: scratch, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {app: scratch}}}
---
apiVersion: v1
kind: Pod
metadata: {name: lone, namespace: default}
spec:
  terminationGracePeriodSeconds: 600
  containers: [{name: serve, image: %[1]q, imagePullPolicy: Never, args: [serve], lifecycle: {preStop: {sleep: {seconds: 600}}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: passed, namespace: default, labels: {stays: "true"}}
spec:
  containers: [{name: serve, image: %[1]q, imagePullPolicy: Never, args: [serve]}]
---
apiVersion: v1
kind: Pod
metadata: {name: stuck, namespace: default, finalizers: [example.test/hold]}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: serve, image: %[1]q, imagePullPolicy: Never, args: [serve]}]
`

// everyOption configures a drain that handles all tenants. It would time out if it waited for any
// of them longer than configured.
const everyOption = `  upgrade {
    drain {
      timeout                      = "60s"
      grace_period                 = 1
      force                        = true
      delete_emptydir_data         = true
      disable_eviction             = true
      pod_selector                 = "stays!=true"
      skip_wait_for_delete_timeout = "20s" # kubectl continues without a pod that has been terminating for longer
    }
  }
`

// drainOptions removes the only worker, with a pod on it for each drain option, and adds it
// again.
func (s *site) drainOptions() {
	if _, err := s.KubectlInput(context.Background(), s.planes[0].Name, fmt.Sprintf(tenants, lab.WorkloadImage), "apply", "-f", "-"); err != nil {
		s.t.Fatal(err)
	}
	s.kubectl("rollout", "status", "deployment/scratch", "--timeout=10m")
	s.kubectl("wait", "pod", "lone", "passed", "stuck", "--for=condition=Ready", "--timeout=10m")
	s.kubectl("delete", "pod", "stuck", "--wait=false")
	s.eventually("the stuck pod no longer runs", func() (string, bool) {
		phase := s.kubectl("get", "pod", "stuck", "-o", "jsonpath={.status.phase}")
		return phase, phase == "Succeeded" || phase == "Failed"
	})
	scratch := s.kubectl("get", "pods", "-l", "app=scratch", "-o", "jsonpath={.items[0].metadata.name}")

	all, extra := s.workers, s.extra
	s.become(s.planes, nil)
	s.eventually("the budget counts its pod", func() (string, bool) {
		r := s.run("plan", "-no-color")
		return r.out, strings.Contains(words(r.out), "PodDisruptionBudget default/scratch requires 1 of 1 pods to stay and so never allows an eviction: default/"+scratch)
	})
	r := s.run("plan", "-no-color")
	wantContains(s.t, words(r.out), "Node cannot be drained", "Pods that no controller recreates: default/lone, default/passed. To do: delete them, or set upgrade { drain { force = true } }",
		"Pods with emptyDir volumes, whose data would be lost: default/"+scratch+".", "set upgrade { drain { delete_emptydir_data = true } }", "set upgrade { drain { disable_eviction = true } }")
	if r.code != 1 {
		s.t.Errorf("plan of a drain that cannot succeed: exit code %d, want 1", r.code)
	}

	s.extra = everyOption
	s.configure()
	s.eventually("the plan skips the stuck pod", func() (string, bool) {
		r = s.run("plan", "-no-color")
		return r.out, strings.Contains(words(r.out), "skipped by skip_wait_for_delete_timeout: default/stuck")
	})
	wantContains(s.t, words(r.out), " pods to delete: ", "default/lone (no controller recreates it)", "default/"+scratch+" (ReplicaSet, the data of its emptyDir is lost)", "skipped by pod_selector: default/passed")
	touched := s.watchPassed("passed", s.nodeName(all[0]))
	r = s.must("apply", "-auto-approve", "-no-color")
	s.t.Logf("a worker with a pod for each drain option was removed: %s", r.took.Round(100*time.Millisecond))
	if what := touched(); what != "" {
		s.t.Error(what)
	}
	s.wantNode(all[0], false)
	for _, pod := range []string{"lone", scratch} {
		if out := s.kubectl("get", "pod", pod, "--ignore-not-found", "-o", "name"); out != "" {
			s.t.Errorf("%s is still there", out)
		}
	}

	s.kubectl("delete", "deployment,pdb", "scratch")
	s.kubectl("delete", "pod", "passed", "--ignore-not-found", "--force", "--grace-period=0")
	s.kubectl("patch", "pod", "stuck", "--type=merge", "-p", `{"metadata": {"finalizers": null}}`)
	s.kubectl("delete", "pod", "stuck", "--ignore-not-found", "--force", "--grace-period=0")
	s.extra = extra
	s.become(s.planes, all)
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	s.settled()
	s.wantNoChanges()
}

// watchPassed polls every 200 ms whether a pod was deleted while its node existed; calling the
// result returns when. A pod without a node is deleted by other components.
func (s *site) watchPassed(pod, node string) func() string {
	s.t.Helper()
	api, err := s.api(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	seen, asked := "", 0
	end := meanwhile(func(ctx context.Context) {
		p, err := api.CoreV1().Pods("default").Get(ctx, pod, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return
		}
		asked++
		if err == nil && p.DeletionTimestamp == nil {
			return
		}
		if _, err := api.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{}); err == nil && seen == "" {
			seen = fmt.Sprintf("pod %s, which the drain was to pass over, was told to end by %s", pod, time.Now().UTC().Format(time.RFC3339))
		}
	})
	return func() string {
		end()
		if asked == 0 {
			return "the API has told nothing about pod " + pod
		}
		return seen
	}
}
