package sim_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

func (r *rig) json() []byte {
	r.t.Helper()
	b, err := r.w.JSON()
	r.must(err)
	return b
}

// shakeUp changes something of every kind in a world with two control planes and
// a worker.
func (r *rig) shakeUp() {
	r.t.Helper()
	for _, edit := range []struct{ host, expr string }{
		{cp1, "file " + manifests + "/kube-apiserver.yaml set-arg profiling=false"},
		{cp1, "file " + pki + "/apiserver.crt renew"},
		{cp1, "label " + nodeName(worker) + " pool=batch"},
		{cp1, "taint " + nodeName(worker) + " key=value:NoExecute"},
		{cp1, "cordon " + nodeName(cp2)},
		{cp1, "object ConfigMap kube-public/cluster-info set data.more=text"},
		{cp1, "pod default/app-1 " + nodeName(worker)},
		{cp1, "budget default/app 1"},
		{cp1, "claim default/data " + nodeName(worker)},
		{cp1, "etcd history 4096"},
		{cp1, "etcd alarm NOSPACE"},
		{worker, "unit kubelet stop"},
		{worker, "sysctl net.ipv4.ip_forward=0"},
		{worker, "module br_netfilter unload"},
		{worker, "image add example.com/image:1"},
		{worker, "install kubelet=1.36.4"},
		{worker, "hardware hostname=other"},
		{worker, "condition disk-full on"},
		{worker, "port 10250 listen"},
		{worker, "package kubelet hold"},
		{cp2, "power off"},
		{cp2, "time 30h"},
	} {
		r.must(sim.Edit(r.w, edit.host, edit.expr))
	}
	r.w.Fault(sim.Fault{Host: cp1, Op: "delete", Kind: sim.FaultFail})
	r.w.Host("10.0.0.99")
}

// TestCloneIsIndependent checks that a clone equals the world and behaves like it, and that neither is
// affected by what happens in the other.
func TestCloneIsIndependent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.w.Fault(sim.Fault{Host: cp1, Op: "observe", Skip: 1 << 20, Kind: sim.FaultFail})
	r.found(cp1)
	r.joinControlPlane(cp2, cp1)
	r.joinWorker(worker, cp1)
	was := r.json()

	clone := &rig{t: t, w: r.w.Clone(), token: r.token}
	if !bytes.Equal(clone.json(), was) {
		t.Fatal("the clone is another world")
	}
	clone.shakeUp()
	shaken := clone.json()
	if !bytes.Equal(r.json(), was) {
		t.Error("what happened in the clone happened in the world")
	}
	r.shakeUp()
	if !bytes.Equal(r.json(), shaken) {
		t.Error("the same calls have different effects in the clone and in the world")
	}
	if r.w.Advance(100 * time.Hour); !bytes.Equal(clone.json(), shaken) {
		t.Error("what happened in the world happened in the clone")
	}
}

// TestCloneKeepsSettingsButNotHooks checks that a clone hashes pods and is watched like the world,
// and that the world's hooks do not get the clone's effects.
func TestCloneKeepsSettingsButNotHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.w.PodHash = func([]byte, string, string, string) string { return "of ours" }
	r.w.Watch = true
	r.found(cp1)
	r.w.OnEffect = func(e sim.Effect) error {
		t.Errorf("the world got the effect %s", e)
		return nil
	}
	clone := &rig{t: t, w: r.w.Clone(), token: r.token}
	clone.perform(cp1, write(manifests+"/kube-scheduler.yaml", podManifest("kube-scheduler", "kube-scheduler:v1.36.4",
		"kubeconfig=/etc/kubernetes/scheduler.conf"), "0600"))
	report, err := clone.api(cp1).Observe(t.Context(), state.ClusterQuery{})
	clone.must(err)
	p := report.StaticPods["kube-scheduler-"+nodeName(cp1)]
	if p.Hash != "of ours" || !strings.HasSuffix(p.Image, ":v1.36.4") || !clone.w.Watch {
		t.Errorf("the clone has the pod %+v; it is watched: %v", p, clone.w.Watch)
	}
}
