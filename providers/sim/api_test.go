package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

func refOf(v state.Value) state.ObjectRef {
	return state.ObjectRef{
		APIVersion: v.Get("apiVersion").AsString(), Kind: v.Get("kind").AsString(),
		Namespace: v.Get("metadata.namespace").AsString(), Name: v.Get("metadata.name").AsString(),
	}
}

// live returns the object as the API shows it.
func (r *rig) live(via string, ref state.ObjectRef) state.Value {
	r.t.Helper()
	report, err := r.api(via).Observe(context.Background(), state.ClusterQuery{Objects: []state.ObjectRef{ref}})
	r.must(err)
	return report.Objects[ref]
}

func TestServerSideApply(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	workload := func(labels map[string]any, containers ...any) state.Value {
		v := object("Deployment", "apps/v1", "kube-system", "web", map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}})
		m := v.Go().(map[string]any)
		m["metadata"].(map[string]any)["labels"] = labels
		return state.FromGo(m)
	}
	one, two := map[string]any{"name": "one", "image": "a:1"}, map[string]any{"name": "two", "image": "b:1"}
	first := workload(map[string]any{"a": "1", "b": "2"}, one, two)
	r.apply(cp1, first)
	live := r.live(cp1, refOf(first))
	for path, want := range map[string]string{
		"metadata.labels.a": "1", "spec.template.spec.dnsPolicy": "ClusterFirst", "spec.replicas": "1",
		"spec.template.spec.containers.1.image": "b:1", "spec.template.spec.containers.0.imagePullPolicy": "IfNotPresent",
	} {
		if got := live.Get(path).AsString(); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if live.Get("metadata.uid").IsNull() || live.Get("metadata.creationTimestamp").IsNull() {
		t.Error("the server added neither uid nor creationTimestamp")
	}

	r.must(sim.Edit(r.w, cp1, `object Deployment kube-system/web set metadata.labels.theirs=x`))
	r.apply(cp1, workload(map[string]any{"a": "3"}, map[string]any{"name": "two", "image": "b:2"}))
	live = r.live(cp1, refOf(first))
	labels := live.Get("metadata.labels").AsMap()
	if labels["a"].AsString() != "3" || !labels["b"].IsNull() || labels["theirs"].AsString() != "x" {
		t.Errorf("labels are %v", live.Get("metadata.labels").Go())
	}
	containers := live.Get("spec.template.spec.containers").AsList()
	if len(containers) != 1 || containers[0].Get("image").AsString() != "b:2" || containers[0].Get("imagePullPolicy").IsNull() {
		t.Errorf("containers are %v", live.Get("spec.template.spec.containers").Go())
	}
}

func TestCreateOnlyAndDelete(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	ctx, api := context.Background(), r.api(cp1)
	config := func(text string) state.Value {
		return object("ConfigMap", "v1", "shop", "settings", map[string]any{"data": map[string]any{"key": text}})
	}
	if err := api.Apply(ctx, config("1"), false); err == nil {
		t.Error("applied into a namespace that does not exist")
	}
	r.apply(cp1, object("Namespace", "v1", "", "shop", nil))
	r.must(api.Apply(ctx, config("1"), true))
	r.must(api.Apply(ctx, config("2"), true))
	if got := r.live(cp1, refOf(config(""))).Get("data.key").AsString(); got != "1" {
		t.Errorf("create-only made it %q", got)
	}
	r.must(api.Delete(ctx, state.ObjectRef{APIVersion: "v1", Kind: "Namespace", Name: "shop"}))
	r.must(api.Delete(ctx, refOf(config(""))))
	if !r.live(cp1, refOf(config(""))).IsNull() {
		t.Error("the namespace left its objects")
	}
}

func TestServiceDefaultsAndSignatures(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	service := object("Service", "v1", "kube-system", "kube-dns", map[string]any{"spec": map[string]any{
		"clusterIP": "10.96.0.10", "ports": []any{map[string]any{"name": "dns", "port": 53, "protocol": "UDP"}},
	}})
	r.apply(cp1, service)
	live := r.live(cp1, refOf(service))
	if live.Get("spec.clusterIPs.0").AsString() != "10.96.0.10" || live.Get("spec.ports.0.targetPort").AsString() != "53" {
		t.Errorf("service is %v", live.Go())
	}
	info := state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-public", Name: "cluster-info"}
	if n := len(r.live(cp1, info).Get("data").AsMap()); n != 1 {
		t.Errorf("cluster-info has %d keys without a token", n)
	}
	token := r.newToken(cp1)
	if n := len(r.live(cp1, info).Get("data").AsMap()); n != 2 {
		t.Errorf("cluster-info has %d keys with a token", n)
	}
	r.must(r.api(cp1).DeleteToken(context.Background(), token))
	if n := len(r.live(cp1, info).Get("data").AsMap()); n != 1 {
		t.Errorf("cluster-info has %d keys after the token", n)
	}
}

func TestSuperAdminIsUsedIfAdminIsForbidden(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	ctx := context.Background()
	r.must(r.api(cp1).Delete(ctx, state.ObjectRef{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding", Name: "kubeadm:cluster-admins"}))
	r.must(r.api(cp1).Ready(ctx)) // super-admin.conf exists
	r.perform(cp1, planner.RemovePath{Path: "/etc/kubernetes/super-admin.conf"})
	wantError(t, r.api(cp1).Ready(ctx), "forbidden")
	r.perform(cp1, planner.RemovePath{Path: "/etc/kubernetes/admin.conf"})
	wantError(t, r.api(cp1).Ready(ctx), "no such file or directory")
}

func TestPatchAndDeleteNode(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	r.joinWorker(worker, cp1)
	ctx, api, name := context.Background(), r.api(cp1), nodeName(worker)
	r.must(api.PatchNode(ctx, planner.PatchNode{
		Node: name, Labels: map[string]string{"pool": "a"}, Annotations: map[string]string{"note": "b"}, Taints: []state.Taint{{Key: "t", Effect: "NoExecute"}},
		RemoveTaints: []state.Taint{{Key: "dedicated", Effect: "NoSchedule"}},
	}, nil))
	n := r.node(cp1, name)
	if n.Labels["pool"] != "a" || n.Annotations["note"] != "b" || n.Taints[0].Key != "t" {
		t.Errorf("node is %+v", n)
	}
	if err := api.PatchNode(ctx, planner.PatchNode{Node: "nobody"}, nil); !errors.Is(err, providers.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	ref := state.ObjectRef{APIVersion: "v1", Kind: "Node", Name: name}
	if r.live(cp1, ref).Get("metadata.name").AsString() != name {
		t.Error("the node is no object")
	}
	r.must(api.Delete(ctx, ref))
	r.w.Advance(time.Minute)
	if r.node(cp1, name) != nil {
		t.Error("a node came back although its kubelet did not restart")
	}
	r.perform(worker, planner.Unit{Unit: "kubelet.service", Action: "restart"})
	r.eventually("registration", func() bool { return r.node(cp1, name) != nil })
}

func TestDrainEvictsAndCordons(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	second := "10.77.0.22"
	r.joinWorker(worker, cp1)
	r.joinWorker(second, cp1)
	for _, w := range []string{worker, second} {
		r.must(sim.Edit(r.w, cp1, "taint "+nodeName(w)+" dedicated:NoSchedule-"))
	}
	r.must(sim.Edit(r.w, cp1, "taint "+nodeName(cp1)+" node-role.kubernetes.io/control-plane:NoSchedule"))
	r.w.Advance(time.Minute)
	from := nodeName(worker)
	for _, p := range []sim.Pod{
		{Namespace: "shop", Name: "cart-1", Node: from, Controller: "ReplicaSet", Labels: map[string]string{"app": "cart"}},
		{Namespace: "shop", Name: "cart-2", Node: from, Controller: "ReplicaSet", Labels: map[string]string{"app": "cart"}},
		{Namespace: "shop", Name: "log", Node: from, Controller: "DaemonSet"},
		{Namespace: "shop", Name: "cache", Node: from, Controller: "ReplicaSet", EmptyDir: true},
	} {
		r.must(r.w.AddPod(p))
	}
	r.must(r.w.AddPDB(from, sim.PDB{Namespace: "shop", Name: "cart", Selector: map[string]string{"app": "cart"}, MinAvailable: 1}))
	if n := r.node(cp1, from); n.Pods != 3 {
		t.Errorf("%d pods on the node, want 3 without the DaemonSet's", n.Pods)
	}
	ctx, api := context.Background(), r.api(cp1)
	wantError(t, api.Drain(ctx, planner.Drain{Node: from, Timeout: time.Minute}, nil), "local storage")
	r.must(api.Cordon(ctx, planner.Cordon{Node: from}))
	var lines []string
	drain := planner.Drain{Node: from, Timeout: time.Minute, DeleteEmptyDirData: true}
	r.must(api.Drain(ctx, drain, func(s string) { lines = append(lines, s) }))
	if n := r.node(cp1, from); n.Pods != 0 || len(lines) != 4 {
		t.Errorf("%d pods left; %q", n.Pods, lines)
	}

	r.must(r.w.AddPDB(from, sim.PDB{Namespace: "shop", Name: "never", Selector: map[string]string{"app": "cart"}, MinAvailable: 2}))
	r.must(api.Cordon(ctx, planner.Cordon{Node: nodeName(second)}))
	before := r.w.Now()
	if err := api.Drain(ctx, planner.Drain{Node: nodeName(second), Timeout: time.Minute, DeleteEmptyDirData: true}, nil); !errors.Is(err, providers.ErrBlocked) ||
		!strings.Contains(err.Error(), "PodDisruptionBudget shop/never allows 0 disruptions") {
		t.Errorf("got %v", err)
	}
	if d := r.w.Now().Sub(before); d < time.Minute || d > 62*time.Second {
		t.Errorf("the drain took %s", d)
	}
	r.must(api.Drain(ctx, planner.Drain{Node: nodeName(second), Timeout: time.Minute, DeleteEmptyDirData: true, DisableEviction: true}, nil))
}

// TestDeploymentPodsAreScheduled checks that replicas are created, scheduled to nodes that they
// tolerate, and leave their traces there.
func TestDeploymentPodsAreScheduled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	r.must(sim.Edit(r.w, cp1, "taint "+nodeName(cp1)+" node-role.kubernetes.io/control-plane:NoSchedule"))
	web := func(replicas int) state.Value {
		return object("Deployment", "apps/v1", "kube-system", "web", map[string]any{"spec": map[string]any{
			"replicas": replicas, "template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}, "spec": map[string]any{
				"containers":  []any{map[string]any{"name": "web", "image": "a:1"}},
				"tolerations": []any{map[string]any{"key": "dedicated", "operator": "Exists"}},
			}},
		}})
	}
	r.apply(cp1, web(3))
	if pods := r.w.Pods(nodeName(cp1)); len(pods) != 3 || pods[0].Node != "" {
		t.Errorf("got %+v, want three pods that are pending", pods)
	}
	r.joinWorker(worker, cp1)
	r.w.Advance(time.Minute)
	if n := r.node(cp1, nodeName(worker)); n.Pods != 3 || !strings.Contains(r.w.Listing(worker), "link veth") {
		t.Errorf("%d pods run on the worker", n.Pods)
	}
	r.apply(cp1, web(1))
	if n := r.node(cp1, nodeName(worker)); n.Pods != 1 || strings.Count(r.w.Listing(worker), "link veth") != 1 {
		t.Errorf("%d pods are left", n.Pods)
	}
	ctx := context.Background()
	r.must(r.api(cp1).Delete(ctx, state.ObjectRef{APIVersion: "v1", Kind: "Node", Name: nodeName(worker)}))
	if pods := r.w.Pods(nodeName(cp1)); len(pods) != 1 || pods[0].Node != "" {
		t.Errorf("got %+v, want one pod that is pending again", pods)
	}
	r.must(r.api(cp1).Delete(ctx, refOf(web(0))))
	if pods := r.w.Pods(nodeName(cp1)); len(pods) != 0 {
		t.Errorf("got %+v after the deployment", pods)
	}
}

// TestDaemonSetChangesHosts checks that a network addon makes its changes on hosts, and that
// the cleanup removes them.
func TestDaemonSetChangesHosts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := r.w.Listing(worker)
	r.found(cp1)
	r.joinWorker(worker, cp1)
	flannel := object("DaemonSet", "apps/v1", "kube-system", "kube-flannel-ds", map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"volumes": []any{map[string]any{"name": "cni", "hostPath": map[string]any{"path": "/etc/cni/net.d"}}, map[string]any{"name": "run", "hostPath": map[string]any{"path": "/run/flannel"}}},
	}}}})
	r.apply(cp1, flannel)
	r.w.Advance(time.Second)
	during := r.w.Listing(worker)
	for _, want := range []string{"link flannel.1", "link cni0", "mount /var/lib/kubelet/pods/", "file /run/flannel directory", "rule cni kube-flannel-ds"} {
		if !strings.Contains(during, want) {
			t.Errorf("no %q on the host", want)
		}
	}
	ops := []planner.Operation{
		planner.Unit{Unit: "kubelet.service", Action: "stop"},
		planner.RemovePods{},
		planner.Unmount{Below: "/var/lib/kubelet"},
		planner.RemoveNetwork{Links: []string{"cni0", "flannel.1", "veth*"}},
		planner.SetSysctl{Name: "kernel.panic", Value: "0"},
		planner.SetSysctl{Name: "kernel.panic_on_oops", Value: "0"},
		planner.SetSysctl{Name: "vm.overcommit_memory", Value: "0"},
	}
	for _, p := range []string{"/etc/kubernetes", "/var/lib/kubelet", "/run/flannel", "/var/lib/cni", "/etc/cni/net.d/10-kube-flannel-ds.conflist", "/var/log/pods", "/var/log/containers", "/usr/libexec/kubernetes"} {
		ops = append(ops, planner.RemovePath{Path: p})
	}
	r.perform(worker, append(ops, planner.Mark{Remove: true})...)
	if after := r.w.Listing(worker); after != before {
		t.Errorf("left\n%s", difference(before, after))
	}
	_, err := r.w.Host(cp1).Perform(context.Background(), r.batch(planner.RemovePath{Path: "/var/lib/kubelet"}))
	wantError(t, err, "Device or resource busy")
	_, err = r.w.Host(cp1).Perform(context.Background(), r.batch(planner.Unit{Unit: "containerd.service", Action: "stop"}, planner.RemovePods{}))
	wantError(t, err, "containers run on without their runtime")
}
