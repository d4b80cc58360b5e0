package viewtest

import (
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// UpgradePlan upgrades one control plane and one worker to the next minor version, after a
// snapshot of etcd.
func UpgradePlan() *planner.Plan {
	var m Maker
	m.Limits = map[string]int{"cluster.prod/control-plane-disruption": 1}
	m.Resources = []planner.ResourceChange{ResourceChange(Prod, planner.Update, 0), ResourceChange(Cp1, planner.Update, 5), ResourceChange(W21, planner.Update, 4)}
	snapshot := m.AddStep(Prod, "etcd-snapshot", planner.NoOp, "", nil, planner.SnapshotEtcd{})
	m.AddChange(Cp1, "control-plane", Manifests+"kube-apiserver.yaml", state.KindStaticPod, planner.Update,
		Attributes("image", "registry.k8s.io/kube-apiserver:v1.35.8", "registry.k8s.io/kube-apiserver:v1.36.3", AtLine(3)))
	plane := m.AddStep(Cp1, "control-plane", planner.Update, "restarts kube-apiserver here; the API is down meanwhile", []state.Address{snapshot}, planner.WriteFile{Path: "/etc/kubernetes/manifests/kube-apiserver.yaml"})
	m.AddChange(Prod, "upload-config", "object:v1/ConfigMap/kube-system/kubeadm-config", state.KindObject, planner.Update,
		Attributes("data.ClusterConfiguration.kubernetesVersion", "v1.35.8", "v1.36.3", AtLine(3)))
	m.AddStep(Prod, "upload-config", planner.Update, "", []state.Address{plane}, planner.ApplyObject{})
	drain := m.AddStep(W21, "drain", planner.Update, "1 pod to evict", []state.Address{plane}, planner.Cordon{Node: "w1"}, planner.Drain{Node: "w1"})
	m.AddChange(W21, "kubelet-start", "unit:kubelet.service", state.KindUnit, planner.Update, Attributes("version", "1.35.8", "1.36.3", AtLine(3)))
	m.AddStep(W21, "kubelet-start", planner.Update, "restarts the kubelet here; then uncordons the node", []state.Address{drain},
		planner.Unit{Unit: "kubelet.service", Action: "restart", Reload: true}, planner.Cordon{Node: "w1", Undo: true})
	m.Upgrades = []string{"kubernetes_version: 1.35.8 → 1.36.3; control planes one at a time; workers 1 at a time."}
	m.Quorum = []string{"a snapshot is fetched to this machine and verified before a version changes."}
	version := &diag.Snippet{Context: `cluster "prod"`, Code: `  kubernetes_version = "1.36.3"`, StartLine: 3, HighlightStart: 2, HighlightEnd: 31}
	removed := diag.Warningf("Removed APIs are in use", "Since the API servers of cluster %q started, clients have requested APIs that Kubernetes 1.36 does not serve. Such requests fail after the upgrade:\n\n"+
		"  resourceclaims.v1beta1.resource.k8s.io, removed in 1.36; written by gpu-operator\n\nBring those who ask to a version of the API that stays.", "prod").At(Line(3)).For(Prod)
	room := diag.Warningf("Pods cannot be rescheduled", "Cluster %q: this plan drains w1, and no other node can take pods from there. The drain ends at its timeout (10m) and the plan stops there.", "prod").At(Line(3)).For(Prod)
	removed.Snippet, room.Snippet = version, version
	m.Diagnostics = diag.Diagnostics{removed, room}.JSON(nil)
	return &m.Plan
}

// ImportPlan imports a cluster that kubeadm made; one of its nodes differs from the
// configuration, and another is renamed.
func ImportPlan() *planner.Plan {
	var m Maker
	for _, t := range []state.Target{Prod, Cp1, W21} {
		r := ResourceChange(t, planner.NoOp, 4)
		r.ImportedFrom = "ssh://root@10.77.0.11"
		m.Resources = append(m.Resources, r)
	}
	m.Resources[2].Action = planner.Update
	moved := ResourceChange(W22, planner.NoOp, 4)
	moved.MovedFrom = state.NodeKeyTarget("batch", "w2")
	m.Resources = append(m.Resources, moved)
	m.Moved = []state.Moved{{From: moved.MovedFrom, To: W22}}
	m.AddChange(W21, "mark-worker", "node:w1", state.KindNodeObject, planner.Update, Attributes(`labels["node.example.com/pool"]`, nil, "batch", AtLine(47)))
	m.AddStep(W21, "mark-worker", planner.Update, "", nil, planner.PatchNode{Node: "w1", Labels: map[string]string{"node.example.com/pool": "batch"}})
	return &m.Plan
}
