package sim_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

const (
	cp1, cp2, cp3 = "10.77.0.11", "10.77.0.12", "10.77.0.13"
	worker        = "10.77.0.21"
)

func TestBootstrapJoinAndRegister(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	r.eventually("rotatable client certificate", func() bool {
		return r.observe(cp1, state.Query{Files: []state.FileQuery{{Path: "/var/lib/kubelet/pki/kubelet-client-current.pem"}}}).
			Files["/var/lib/kubelet/pki/kubelet-client-current.pem"].Exists
	})
	r.joinControlPlane(cp2, cp1)
	r.joinControlPlane(cp3, cp1)
	r.joinWorker(worker, cp1)

	members, id, err := r.etcd(cp1).Members(context.Background())
	r.must(err)
	if len(members) != 3 || id == "" {
		t.Fatalf("got %d members of %q, want 3", len(members), id)
	}
	for _, m := range members {
		if m.Learner || !m.Healthy || m.Name == "" {
			t.Errorf("member %+v is no healthy voter", m)
		}
	}
	report, err := r.api(cp2).Observe(context.Background(), state.ClusterQuery{})
	r.must(err)
	if report.Version != "v1.36.3" || len(report.Nodes) != 4 || len(report.StaticPods) != 12 {
		t.Errorf("got version %s, %d nodes, %d static pods", report.Version, len(report.Nodes), len(report.StaticPods))
	}
	r.eventually("readiness", func() bool { n := r.node(cp1, nodeName(worker)); return n != nil && n.Ready })
	n := r.node(cp1, nodeName(worker))
	if len(n.Taints) != 1 || n.Taints[0].Key != "dedicated" || n.Labels["kubernetes.io/hostname"] != nodeName(worker) || n.KubeletVersion != "v1.36.3" {
		t.Errorf("got node %+v", n)
	}
	for name, p := range report.StaticPods {
		if !p.Running || len(p.Hash) != 32 {
			t.Errorf("static pod %s: %+v", name, p)
		}
	}
}

func TestWorldIsDeterministic(t *testing.T) {
	t.Parallel()
	build := func() []byte {
		r := newRig(t)
		r.found(cp1)
		r.joinControlPlane(cp2, cp1)
		r.joinWorker(worker, cp1)
		b, err := r.w.JSON()
		r.must(err)
		return b
	}
	if a, b := build(), build(); !bytes.Equal(a, b) {
		t.Error("two runs of the same calls differ")
	}
}

func TestWorldSaveAndOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "world.json")
	w, err := sim.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, w: w, token: 1}
	r.found(cp1)
	r.joinWorker(worker, cp1)
	if n := r.node(cp1, nodeName(worker)); n == nil || n.Ready {
		t.Fatalf("the worker is ready at once: %+v", n)
	}
	r.must(w.Save())
	before, err := w.JSON()
	r.must(err)

	again, err := sim.Open(path)
	r.must(err)
	after, err := again.JSON()
	r.must(err)
	if !bytes.Equal(before, after) {
		t.Error("the world changed by being saved and opened")
	}
	r2 := &rig{t: t, w: again, token: 2}
	if n := r2.node(cp1, nodeName(worker)); n == nil || !n.Ready {
		t.Errorf("the worker that was starting is not ready after opening: %+v", n)
	}
	if !r2.ready(cp1) {
		t.Error("the API does not answer after opening")
	}
	r2.joinControlPlane(cp2, cp1)

	r.must(again.Save())
	r.must(again.Save()) // its own write does not count as another's
	newer, err := os.ReadFile(path)
	r.must(err)
	if err := w.Save(); err == nil || !strings.Contains(err.Error(), "another command has changed its hosts meanwhile") {
		t.Errorf("over another command's save: %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, newer) {
		t.Errorf("another command's save was overwritten: %v", err)
	}
}
