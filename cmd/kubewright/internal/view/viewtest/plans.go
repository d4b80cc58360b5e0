package viewtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// The cluster of the fixtures: three control planes and two workers.
var (
	Prod    = state.ClusterTarget("prod")
	Cp1     = state.NodeKeyTarget("cp", "cp1")
	Cp2     = state.NodeKeyTarget("cp", "cp2")
	Cp3     = state.NodeKeyTarget("cp", "cp3")
	W21     = state.NodeKeyTarget("worker", "10.77.0.21")
	W22     = state.NodeKeyTarget("worker", "10.77.0.22")
	Planes  = []state.Target{Cp1, Cp2, Cp3}
	Workers = []state.Target{W21, W22}
)

// machine is what the fixtures know about a host.
type machine struct{ Address, Name, Role string }

// Machines are the hosts of the nodes.
var Machines = map[state.Target]machine{
	Cp1: {"10.77.0.11", "cp1", "control-plane"},
	Cp2: {"10.77.0.12", "cp2", "control-plane"},
	Cp3: {"10.77.0.13", "cp3", "control-plane"},
	W21: {"10.77.0.21", "w1", "worker"},
	W22: {"10.77.0.22", "w2", "worker"},
}

// Line returns a position in the configuration.
func Line(n int) state.Source { return state.Source{File: "cluster.hcl", Line: n} }

// Address returns the address of an item.
func Address(t state.Target, phase, item string) state.Address {
	return state.Address{Target: t, Phase: phase, Item: item}
}

// Attributes makes changed attributes from path, before, after, and optionally an AtLine.
func Attributes(args ...any) []planner.AttributeChange {
	var out []planner.AttributeChange
	for len(args) > 0 {
		a := planner.AttributeChange{Path: args[0].(string), Before: state.FromGo(args[1]), After: state.FromGo(args[2])}
		args = args[3:]
		if len(args) > 0 {
			if n, ok := args[0].(AtLine); ok {
				a.Origin, args = Line(int(n)), args[1:]
			}
		}
		out = append(out, a)
	}
	return out
}

// AtLine is the configuration line of the attribute before it.
type AtLine int

// Created makes the attributes of a new item.
func Created(args ...any) []planner.AttributeChange {
	var out []planner.AttributeChange
	for i := 0; i < len(args); i += 2 {
		out = append(out, planner.AttributeChange{Path: args[i].(string), After: state.FromGo(args[i+1])})
	}
	return out
}

// ResourceChange returns a resource with its host as a note.
func ResourceChange(t state.Target, a planner.Action, unchanged int) planner.ResourceChange {
	r := planner.ResourceChange{Target: t, Action: a, Unchanged: unchanged}
	if m, ok := Machines[t]; ok {
		r.Note = m.Address + ", " + m.Role
	} else if t == Prod {
		r.Note = "Kubernetes 1.36.3"
	}
	return r
}

// Maker builds a plan.
type Maker struct{ planner.Plan }

// AddChange adds a change of an item.
func (m *Maker) AddChange(t state.Target, phase, item string, kind state.Kind, a planner.Action, list []planner.AttributeChange) {
	reason := map[planner.Action]string{
		planner.Create: planner.ReasonNew, planner.Update: planner.ReasonConfigured, planner.Delete: planner.ReasonUnconfigured,
	}[a]
	cost := planner.CostNone
	switch {
	case kind == state.KindObject || kind == state.KindNodeObject:
		cost = planner.CostObject
	case kind == state.KindStaticPod && a == planner.Update:
		cost = planner.CostRestart
	}
	m.Changes = append(m.Changes, planner.Change{Address: Address(t, phase, item), Kind: kind, Action: a, Attributes: list, Reason: reason, Cost: cost})
}

// AddStep adds a step and returns its address.
func (m *Maker) AddStep(t state.Target, phase string, a planner.Action, impact string, needs []state.Address, ops ...planner.Operation) state.Address {
	id := state.Address{Target: t, Phase: phase}
	if i := len(phase) - len("@joined"); i > 0 && phase[i:] == "@joined" {
		id.Phase, id.Waypoint = phase[:i], "joined"
	}
	m.Steps = append(m.Steps, planner.Step{ID: id, Phase: id.Phase, Target: t, Action: a, Impact: impact, Needs: needs, Operations: ops})
	return id
}

func otherPlanes(t state.Target) string {
	s := ""
	for _, o := range Planes {
		if o != t {
			if s != "" {
				s += ", "
			}
			s += o.Key
		}
	}
	return s
}

// Manifests is the prefix of static pod manifests' names.
const Manifests = "file:/etc/kubernetes/manifests/"

// UpdatePlan changes an API server argument, a kubelet setting and a label,
// and removes a worker.
func UpdatePlan() *planner.Plan {
	var m Maker
	m.Limits = map[string]int{"cluster.prod/control-plane-disruption": 1, "cluster.prod/drain": 1}
	m.Resources = append(m.Resources, ResourceChange(Prod, planner.Update, 0))
	m.AddChange(Prod, "upload-config", "object:v1/ConfigMap/kube-system/kubeadm-config", state.KindObject, planner.Update,
		Attributes("data.ClusterConfiguration.apiServer.extraArgs.audit-log-maxage", nil, map[string]any{"name": "audit-log-maxage", "value": "30"}, AtLine(21)))
	m.AddChange(Prod, "upload-config", "object:v1/ConfigMap/kube-system/kubelet-config", state.KindObject, planner.Update,
		Attributes("data.kubelet.maxPods", 110, 200, AtLine(24)))
	var all []state.Address
	limit := []string{"cluster.prod/control-plane-disruption"}
	for _, t := range Planes {
		n := Machines[t]
		m.Resources = append(m.Resources, ResourceChange(t, planner.Update, 6))
		m.AddChange(t, "control-plane", Manifests+"kube-apiserver.yaml", state.KindStaticPod, planner.Update,
			Attributes("args.audit-log-maxage", nil, "30", AtLine(21)))
		m.AddChange(t, "kubelet-start", "file:/var/lib/kubelet/config.yaml", state.KindYAMLFile, planner.Update,
			Attributes("content.maxPods", 110, 200, AtLine(24)))
		a := m.AddStep(t, "control-plane", planner.Update, "restarts kube-apiserver here; the API stays up on "+otherPlanes(t), nil,
			planner.WriteFile{Path: "/etc/kubernetes/manifests/kube-apiserver.yaml", Mode: "0600", Owner: "root:root", Content: planner.Content{Inline: "…"}},
			planner.Wait{For: planner.WaitStaticPod, Name: "kube-apiserver-" + n.Name, Hash: "c7e1", Timeout: 5 * time.Minute})
		m.Steps[len(m.Steps)-1].Limits = limit
		b := m.AddStep(t, "kubelet-start", planner.Update, "restarts the kubelet here; pods keep running", nil,
			planner.Unit{Unit: "kubelet.service", Action: "restart", Reload: true})
		m.Steps[len(m.Steps)-1].Limits = limit
		all = append(all, a, b)
	}
	m.Resources = append(m.Resources, ResourceChange(W21, planner.Update, 3))
	m.AddChange(W21, "kubelet-start", "file:/var/lib/kubelet/config.yaml", state.KindYAMLFile, planner.Update, Attributes("content.maxPods", 110, 200, AtLine(24)))
	m.AddChange(W21, "mark-worker", "node:w1", state.KindNodeObject, planner.Update,
		Attributes(`labels["node.example.com/pool"]`, "batch", "gpu", AtLine(47), `labels["node.example.com/rack"]`, nil, "b12", AtLine(48)))
	all = append(all, m.AddStep(W21, "kubelet-start", planner.Update, "restarts the kubelet here; pods keep running", nil,
		planner.Unit{Unit: "kubelet.service", Action: "restart", Reload: true}))
	m.AddStep(W21, "mark-worker", planner.Update, "", nil, planner.PatchNode{Node: "w1", Labels: map[string]string{"node.example.com/pool": "gpu", "node.example.com/rack": "b12"}})
	m.AddStep(Prod, "upload-config", planner.Update, "", all, planner.ApplyObject{})
	RemoveWorker(&m, W22)
	m.Quorum = []string{"3 members throughout, quorum 2 held at every step."}
	for i, t := range Planes {
		m.Certificates = append(m.Certificates, certificateEnd(t, "/etc/kubernetes/pki/apiserver.crt", 40-i, planner.ByApply), certificateEnd(t, "/etc/kubernetes/admin.conf", 41, planner.ByApply))
	}
	m.Diagnostics = diag.Diagnostics{diag.Warningf("Check failed", "check %q: Two workers are needed.", "spare").At(Line(60))}.JSON(nil)
	return &m.Plan
}

// certificateEnd returns a certificate with that many days left.
func certificateEnd(t state.Target, path string, days int, by planner.Renewer) planner.CertificateEnd {
	kind := "certificate"
	if strings.HasSuffix(path, ".conf") {
		kind = "kubeconfig"
	}
	return planner.CertificateEnd{
		Cluster: Prod, Node: t, Host: Machines[t].Name, Path: path, Kind: kind,
		NotAfter: time.Date(2027, 3, 2, 9, 0, 0, 0, time.UTC).AddDate(0, 0, days), DaysLeft: days, RenewedBy: by,
	}
}

// RemoveWorker removes a worker.
func RemoveWorker(m *Maker, t state.Target) {
	r := ResourceChange(t, planner.Delete, 0)
	r.Reason = planner.ReasonUnconfigured
	m.Resources = append(m.Resources, r)
	name := Machines[t].Name
	d := m.AddStep(t, "drain", planner.Delete, "3 pods to evict, 1 blocked by PodDisruptionBudget shop/cart (allows 0)", nil,
		planner.Cordon{Node: name}, planner.Drain{Node: name, Timeout: 10 * time.Minute, GracePeriod: -1})
	m.Steps[len(m.Steps)-1].Limits = []string{"cluster.prod/drain"}
	m.AddStep(t, "reset", planner.Delete, "", []state.Address{d},
		planner.Unit{Unit: "kubelet.service", Action: "stop"}, planner.DeleteObject{Ref: state.ObjectRef{APIVersion: "v1", Kind: "Node", Name: name}},
		planner.RemovePods{Socket: "unix:///run/containerd/containerd.sock"}, planner.Unmount{Below: "/var/lib/kubelet"}, planner.RemoveNetwork{},
		planner.RemovePath{Path: "/etc/kubernetes"}, planner.RemovePath{Path: "/var/lib/kubelet", ContentsOnly: true}, planner.Mark{Remove: true, Marks: state.Marks{Node: t}})
}

// ExamplePlan returns the example plan: it changes one argument and removes a worker.
func ExamplePlan() *planner.Plan {
	var m Maker
	m.Limits = map[string]int{"cluster.prod/control-plane-disruption": 1}
	var needs []state.Address
	m.Resources = append(m.Resources, ResourceChange(Prod, planner.Update, 0))
	m.AddChange(Prod, "upload-config", "object:v1/ConfigMap/kube-system/kubeadm-config", state.KindObject, planner.Update,
		Attributes("data.ClusterConfiguration.apiServer.extraArgs", []any{}, []any{map[string]any{"name": "audit-log-maxage", "value": "30"}}, AtLine(21)))
	for _, t := range Planes {
		m.Resources = append(m.Resources, ResourceChange(t, planner.Update, 6))
		m.AddChange(t, "control-plane", Manifests+"kube-apiserver.yaml", state.KindStaticPod, planner.Update, Attributes("args.audit-log-maxage", nil, "30", AtLine(21)))
		needs = append(needs, m.AddStep(t, "control-plane", planner.Update, "restarts kube-apiserver here; the API stays up on "+otherPlanes(t), nil, planner.WriteFile{Path: "/x"}))
		m.Steps[len(m.Steps)-1].Limits = []string{"cluster.prod/control-plane-disruption"}
	}
	m.AddStep(Prod, "upload-config", planner.Update, "", needs, planner.ApplyObject{})
	RemoveWorker(&m, W22)
	m.Quorum = []string{"3 members throughout, quorum 2 held at every step."}
	return &m.Plan
}

// DriftPlan corrects one drift, leaves another, and cannot observe a worker.
func DriftPlan() *planner.Plan {
	var m Maker
	m.Resources = append(m.Resources, ResourceChange(Cp2, planner.Update, 7))
	m.AddChange(Cp2, "control-plane", Manifests+"kube-scheduler.yaml", state.KindStaticPod, planner.Update, Attributes("args.v", "10", nil, "args.bind-address", "0.0.0.0", "127.0.0.1"))
	m.Changes[0].Reason = planner.ReasonDrift
	m.AddStep(Cp2, "control-plane", planner.Update, "restarts kube-scheduler here; the API stays up on cp1, cp3", nil, planner.WriteFile{Path: "/x"})
	m.Drift = []planner.Change{
		{
			Address: Address(Cp2, "control-plane", Manifests+"kube-scheduler.yaml"), Kind: state.KindStaticPod, Action: planner.Update, Reason: planner.ReasonDrift,
			Attributes: Attributes("args.v", nil, "10", "args.bind-address", "127.0.0.1", "0.0.0.0"),
		},
		{
			Address: Address(Prod, "addon", "object:v1/ConfigMap/kube-system/kube-proxy"), Kind: state.KindObject, Action: planner.Update, Reason: planner.ReasonDrift,
			Attributes: Attributes(`data["config.conf"].conntrack.maxPerCore`, nil, 32768),
		},
		{Address: Address(W21, "prepare", "file:/etc/sysctl.d/99-kubewright.conf"), Kind: state.KindFile, Action: planner.Delete, Reason: planner.ReasonDrift},
	}
	m.Withheld = []state.Unobserved{{
		Target: W22, Reason: "cannot connect to 10.77.0.22:22: i/o timeout after 10s",
		Remedy: "Bring the host back or take its block out; -target leaves it alone.",
	}}
	m.Policies = []planner.PolicyFinding{
		{Policy: "calm", Rule: "freeze", Message: `frozen until Mon 2026-03-09 07:00 CET by "weekend": call the operator on duty`, Source: state.Source{File: "policy.hcl", Line: 4}},
		{Policy: "four-eyes", Rule: "approval", Message: `approved by 1 of 2 (ann): to approve, add the line "3a2816c5be94cc61 NAME" to approvals`, Overridden: true, Source: state.Source{File: "policy.hcl", Line: 12}},
	}
	m.Quorum = []string{"3 members throughout, quorum 2 held at every step."}
	return &m.Plan
}

// EmptyPlan returns a plan without changes.
func EmptyPlan() *planner.Plan {
	return &planner.Plan{Resources: []planner.ResourceChange{ResourceChange(Prod, planner.NoOp, 0)}}
}

// DestroyPlan destroys the cluster.
func DestroyPlan() *planner.Plan {
	var m Maker
	m.Destroy = true
	m.Resources = append(m.Resources, planner.ResourceChange{Target: Prod, Action: planner.Delete, Loses: &planner.Loss{Losses: state.Losses{
		Pods: map[string]int{"kube-system": 4, "shop": 11, "a": 1, "b": 2, "c": 1, "d": 1, "e": 1, "f": 1}, EmptyDirs: 3,
		Alone:   state.Named{Count: 9, First: []string{"default/a", "default/b", "default/c", "default/d", "default/e", "default/f", "default/g", "default/h"}},
		Volumes: state.Named{Count: 1, First: []string{"pv-data (shop/data, w1)"}},
	}}})
	saved := m.AddStep(Prod, "etcd-snapshot", planner.NoOp, "fetches a snapshot of etcd and verifies it; changes nothing", nil, planner.SnapshotEtcd{})
	m.Quorum = []string{"a snapshot is fetched to this machine and verified before the hosts of cluster.prod are reset."}
	for _, t := range append(append([]state.Target{}, Planes...), Workers...) {
		m.Resources = append(m.Resources, ResourceChange(t, planner.Delete, 0))
		m.Resources[len(m.Resources)-1].Reason = planner.ReasonUnconfigured
		m.AddStep(t, "reset", planner.Delete, "stops the kubelet, removes all containers and every file that kubewright and Kubernetes created", []state.Address{saved}, planner.RemovePods{})
	}
	return &m.Plan
}

// replacePlan replaces a worker and changes multi-line text.
func replacePlan() *planner.Plan {
	var m Maker
	r := ResourceChange(W21, planner.Replace, 0)
	r.Reason = planner.ReasonRequested
	cni := state.AddonTarget("prod", "cni")
	m.Resources = []planner.ResourceChange{{Target: cni, Action: planner.Update}, r}
	before, after := "", ""
	for i := range 12 {
		before += fmt.Sprintf("setting-%02d: old\n", i)
		if i == 6 {
			after += "setting-06: new \x1b[31mred\x1b[0m \u202etxt\n"
			continue
		}
		after += fmt.Sprintf("setting-%02d: old\n", i)
	}
	m.AddChange(cni, "addon", "object:v1/ConfigMap/kube-flannel/kube-flannel-cfg", state.KindObject, planner.Update,
		Attributes(`data["net-conf.txt"]`, before, after, "data.password", state.SensitiveValue("config:x", "a"), state.SensitiveValue("config:x", "b"),
			"data.token", "abc", state.PendingValue("cluster.prod/bootstrap-token", "token"), "data.zones", []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"},
			[]string{"eu-central-1a", "eu-central-1c", "eu-central-1d"}, "data.ports", []string{"80"}, []string{"80", "443"}))
	m.AddChange(cni, "addon", "object:apps/v1/DaemonSet/kube-flannel/kube-flannel-ds", state.KindObject, planner.Delete, nil)
	m.AddStep(cni, "addon", planner.Update, "", nil, planner.ApplyObject{})
	d := m.AddStep(W21, "drain", planner.Delete, "3 pods to evict", nil, planner.Cordon{Node: "w1"}, planner.Drain{Node: "w1"})
	x := m.AddStep(W21, "reset", planner.Delete, "", []state.Address{d}, planner.RemovePods{}, planner.RemovePath{Path: "/etc/kubernetes"})
	join(&m, W21, []state.Address{x}, state.Address{})
	return &m.Plan
}

// ThirtyPlan bootstraps a cluster of three control planes and 27 workers.
func ThirtyPlan() *planner.Plan {
	plan := CreatePlan()
	m := Maker{*plan}
	token := state.Address{Target: Prod, Phase: "bootstrap-token"}
	for i := range 25 { // two exist already
		w := state.NodeKeyTarget("worker", fmt.Sprintf("10.77.1.%d", i))
		m.Resources = append(m.Resources, ResourceChange(w, planner.Create, 0))
		join(&m, w, []state.Address{prepare(&m, w)}, token)
	}
	return &m.Plan
}
