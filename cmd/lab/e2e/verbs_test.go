//go:build e2e

package e2e

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestVerbs takes workers of a real cluster out of service and back, by commands and by the configuration,
// and reads what status, history, certificates and doctor say of it.
func TestVerbs(t *testing.T) {
	begin(t)
	s := newSite(t, "e2everb", 1, 2)
	s.founded()

	t.Run("drain and uncordon", func(t *testing.T) { s.within(t, s.drained) })
	t.Run("cordoned by hand", func(t *testing.T) { s.within(t, s.cordonedByHand) })
	t.Run("not schedulable", func(t *testing.T) { s.within(t, s.notSchedulable) })
	t.Run("status", func(t *testing.T) { s.within(t, s.statusOfNodes) })
	t.Run("certificates", func(t *testing.T) { s.within(t, s.withinDays) })
	t.Run("history", func(t *testing.T) { s.within(t, s.historyOfVerbs) })
	t.Run("support bundle", func(t *testing.T) { s.within(t, s.supportBundle) })
}

// wares are two pods of a Deployment, and one without a controller, all on the node of the argument.
const wares = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: wares, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: wares}}
  template:
    metadata: {labels: {app: wares}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: serve, image: %[1]q, imagePullPolicy: Never, args: [serve]}]
---
apiVersion: v1
kind: Pod
metadata: {name: lone, namespace: default}
spec:
  nodeName: %[2]s
  terminationGracePeriodSeconds: 1
  containers: [{name: serve, image: %[1]q, imagePullPolicy: Never, args: [serve]}]
`

// wantCordoned checks whether a node takes pods.
func (s *site) wantCordoned(h lab.Host, want bool) {
	s.t.Helper()
	out := s.kubectl("get", "node", s.nodeName(h), "-o", "jsonpath={.spec.unschedulable}")
	if got := out == "true"; got != want {
		s.t.Errorf("node %s is cordoned: %t, want %t", h.Name, got, want)
	}
}

// podsOn returns the pods of the default namespace on a node that do not end.
func (s *site) podsOn(h lab.Host) string {
	s.t.Helper()
	return s.kubectl("get", "pods", "--field-selector=spec.nodeName="+s.nodeName(h), "-o", "jsonpath={range .items[?(@.status.phase==\"Running\")]}{.metadata.name} {end}")
}

// drained drains a worker with a pod that no controller creates again: refused first, then with -force.
func (s *site) drained() {
	w1, w2 := s.workers[0], s.workers[1]
	s.must("cordon", "-auto-approve", "-no-color", w2.Name)
	s.wantCordoned(w2, true)
	if _, err := s.KubectlInput(context.Background(), s.planes[0].Name, fmt.Sprintf(wares, lab.WorkloadImage, s.nodeName(w1)), "apply", "-f", "-"); err != nil {
		s.t.Fatal(err)
	}
	s.kubectl("rollout", "status", "deployment/wares", "--timeout=10m")
	s.kubectl("wait", "pod", "lone", "--for=condition=Ready", "--timeout=10m")
	s.must("uncordon", "-auto-approve", "-no-color", w2.Name)
	s.wantCordoned(w2, false)

	r := s.run("drain", "-auto-approve", "-no-color", w1.Name)
	if r.code != 1 {
		s.t.Errorf("drain with a pod that no controller creates again: exit code %d, want 1", r.code)
	}
	wantContains(s.t, words(r.out), "Node cannot be drained", "default/lone", "-force")
	s.wantCordoned(w1, false)
	if pods := s.podsOn(w1); !strings.Contains(pods, "lone") || strings.Count(pods, "wares-") != 2 {
		s.t.Errorf("pods of %s after a refused drain: %s", w1.Name, pods)
	}
	r = s.must("drain", "-auto-approve", "-no-color", "-force", w1.Name)
	wantContains(s.t, words(r.out), "3 pods to evict", "default/lone (no controller recreates it)", "they can go to "+s.nodeName(w2))
	s.wantCordoned(w1, true)
	if pods := s.podsOn(w1); pods != "" {
		s.t.Errorf("pods of %s after its drain: %s", w1.Name, pods)
	}
	s.eventually("the pods run on the other worker", func() (string, bool) {
		out := s.podsOn(w2)
		return out, strings.Count(out, "wares-") == 2
	})
	s.wantNoChanges()
	s.must("uncordon", "-auto-approve", "-no-color", fmt.Sprintf("node.worker[%q]", w1.Name))
	s.wantCordoned(w1, false)
	s.wantNoChanges()
	s.kubectl("delete", "deployment", "wares")
}

// cordonedByHand cordons a worker with kubectl: each plan warns of it, and no apply uncordons it.
func (s *site) cordonedByHand() {
	w := s.workers[1]
	warning := []string{"Node is cordoned", fmt.Sprintf("node.worker[%q] (node %s) was cordoned outside of kubewright", w.Name, s.nodeName(w)), fmt.Sprintf("kubewright uncordon 'node.worker[%q]'", w.Name)}
	s.kubectl("cordon", s.nodeName(w))
	wantContains(s.t, words(s.wantNoChanges().out), warning...)
	wantContains(s.t, words(s.must("apply", "-auto-approve", "-no-color").out), warning...)
	s.wantCordoned(w, true)
	s.must("uncordon", "-auto-approve", "-no-color", w.Name)
	s.wantCordoned(w, false)
	if r := s.wantNoChanges(); strings.Contains(r.out, "Node is cordoned") {
		s.t.Errorf("the plan warns of a node that takes pods again:\n%s", r.out)
	}
}

// notSchedulable keeps a worker cordoned by the configuration, corrects a manual uncordon, and lets pods in
// again when the line is gone.
func (s *site) notSchedulable() {
	w := s.workers[0]
	s.workerExtra = fmt.Sprintf("  schedulable = each.key == %q ? false : null\n", w.Name)
	s.configure()
	wantContains(s.t, words(s.must("plan", "-no-color").out), "~ schedulable = true -> false", "keeps new pods off the node; those on it stay")
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	s.wantCordoned(w, true)
	s.kubectl("uncordon", s.nodeName(w))
	if r := s.run("plan", "-detailed-exitcode", "-no-color"); r.code != 3 {
		s.t.Errorf("plan after kubectl uncordon: exit code %d, want 3", r.code)
	}
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	s.wantCordoned(w, true)
	s.workerExtra = ""
	s.configure()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	s.wantCordoned(w, false)
}

// statusOfNodes reads the status of the cluster while a kubelet is stopped, and after it was started.
func (s *site) statusOfNodes() {
	w := s.workers[1]
	type node struct {
		Name, Ready string
		Cordoned    bool
	}
	read := func() (problems []string, nodes map[string]node) {
		out, err := s.command("status", "-json").Output()
		if err != nil {
			s.t.Fatal(err)
		}
		var status struct {
			Clusters []struct {
				Problems []struct{ Kind, Text string }
				Nodes    []node
			}
		}
		if err := json.Unmarshal(out, &status); err != nil || len(status.Clusters) != 1 {
			s.t.Fatalf("%v:\n%s", err, out)
		}
		nodes = map[string]node{}
		for _, n := range status.Clusters[0].Nodes {
			nodes[n.Name] = n
		}
		for _, p := range status.Clusters[0].Problems {
			problems = append(problems, p.Kind+": "+p.Text)
		}
		return problems, nodes
	}
	s.kubectl("cordon", s.nodeName(s.workers[0]))
	s.sh(w.Name, "systemctl stop kubelet")
	s.eventually("the status has the silent kubelet", func() (string, bool) {
		problems, nodes := read()
		seen := fmt.Sprint(problems, nodes)
		return seen, len(problems) > 0 && nodes[s.nodeName(w)].Ready == "silent" && nodes[s.nodeName(s.workers[0])].Cordoned
	})
	r := s.run("status", "-detailed-exitcode", "-no-color")
	if r.code != 8 {
		s.t.Errorf("status with a kubelet that is stopped: exit code %d, want 8", r.code)
	}
	wantContains(s.t, words(r.out), "2 of 3 nodes ready", w.Name)
	metrics := s.must("status", "-format=openmetrics").out
	wantContains(s.t, metrics, fmt.Sprintf("kubewright_node_ready{cluster=\"prod\",node=%q,role=\"worker\"} 0\n", s.nodeName(w)),
		fmt.Sprintf("kubewright_node_cordoned{cluster=\"prod\",node=%q,role=\"worker\"} 1\n", s.nodeName(s.workers[0])), "kubewright_etcd_healthy_voters{cluster=\"prod\"} 1\n")
	if !strings.HasSuffix(metrics, "# EOF\n") {
		s.t.Errorf("the metrics do not end with # EOF:\n%s", metrics)
	}
	s.sh(w.Name, "systemctl start kubelet")
	s.kubectl("uncordon", s.nodeName(s.workers[0]))
	s.wantCluster()
	s.eventually("the status has no problem", func() (string, bool) {
		r := s.run("status", "-detailed-exitcode", "-no-color")
		return r.out, r.code == 0
	})
}

// withinDays asks for certificates that expire soon: new ones are valid for a year.
func (s *site) withinDays() {
	for within, want := range map[string]int{"20d": 0, "300d": 0, "400d": 7} {
		if r := s.run("certificates", "-no-color", "-within="+within); r.code != want {
			s.t.Errorf("certificates -within=%s: exit code %d, want %d", within, r.code, want)
		}
	}
}

// historyOfVerbs checks that the history has each command that changed the cluster, and how it ended.
func (s *site) historyOfVerbs() {
	out, err := s.command("history", "-json").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	var history struct {
		Applies []struct{ Operation, Outcome string }
	}
	if err := json.Unmarshal(out, &history); err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for _, a := range slices.Backward(history.Applies) {
		got = append(got, a.Operation+": "+a.Outcome)
	}
	first := []string{"apply: completed", "cordon w2: completed", "uncordon w2: completed", "drain -force w1: completed", `uncordon 'node.worker["w1"]': completed`, "uncordon w2: completed", "apply: completed", "apply: completed", "apply: completed"}
	if len(got) < len(first) || !slices.Equal(got[:len(first)], first) {
		s.t.Errorf("history has %q, want %q first", got, first)
	}
}

// supportBundle checks what a support bundle holds, and that it has no key of the cluster.
func (s *site) supportBundle() {
	s.must("doctor", "-no-color", "-bundle=support.tar.gz")
	file, err := os.Open(filepath.Join(s.dir, "support.tar.gz"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	secrets := s.privateKeys()
	for archive := tar.NewReader(unzipped); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			s.t.Fatal(err)
		}
		names = append(names, h.Name)
		for where, secret := range secrets {
			for line := range strings.Lines(secret) {
				if line = strings.TrimSpace(line); len(line) == 64 && strings.Contains(string(content), line) {
					s.t.Errorf("%s has the private key %s", h.Name, where)
				}
			}
		}
		if strings.Contains(string(content), "PRIVATE KEY---") {
			s.t.Errorf("%s has a private key", h.Name)
		}
	}
	if len(secrets) < 10 || len(names) < 5 {
		s.t.Errorf("%d private keys were looked for in the files %q", len(secrets), names)
	}
}
