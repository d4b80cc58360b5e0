package view_test

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
	prod    = state.ClusterTarget("prod")
	cp1     = state.NodeKeyTarget("cp", "cp1")
	cp2     = state.NodeKeyTarget("cp", "cp2")
	cp3     = state.NodeKeyTarget("cp", "cp3")
	w21     = state.NodeKeyTarget("worker", "10.77.0.21")
	w22     = state.NodeKeyTarget("worker", "10.77.0.22")
	planes  = []state.Target{cp1, cp2, cp3}
	workers = []state.Target{w21, w22}
)

// machine is what the fixtures know of a host.
type machine struct{ address, name, role string }

var machines = map[state.Target]machine{
	cp1: {"10.77.0.11", "cp1", "control-plane"},
	cp2: {"10.77.0.12", "cp2", "control-plane"},
	cp3: {"10.77.0.13", "cp3", "control-plane"},
	w21: {"10.77.0.21", "w1", "worker"},
	w22: {"10.77.0.22", "w2", "worker"},
}

func line(n int) state.Source { return state.Source{File: "cluster.hcl", Line: n} }

func addr(t state.Target, phase, item string) state.Address {
	return state.Address{Target: t, Phase: phase, Item: item}
}

// attrs makes changed attributes from path, before, after, and where an int is
// given behind them, the line they come from.
func attrs(args ...any) []planner.AttributeChange {
	var out []planner.AttributeChange
	for len(args) > 0 {
		a := planner.AttributeChange{Path: args[0].(string), Before: state.FromGo(args[1]), After: state.FromGo(args[2])}
		args = args[3:]
		if len(args) > 0 {
			if n, ok := args[0].(src); ok {
				a.Origin, args = line(int(n)), args[1:]
			}
		}
		out = append(out, a)
	}
	return out
}

type src int

// created makes the attributes of something new.
func created(args ...any) []planner.AttributeChange {
	var out []planner.AttributeChange
	for i := 0; i < len(args); i += 2 {
		out = append(out, planner.AttributeChange{Path: args[i].(string), After: state.FromGo(args[i+1])})
	}
	return out
}

func resource(t state.Target, a planner.Action, unchanged int) planner.ResourceChange {
	r := planner.ResourceChange{Target: t, Action: a, Unchanged: unchanged}
	if m, ok := machines[t]; ok {
		r.Note = m.address + ", " + m.role
	} else if t == prod {
		r.Note = "Kubernetes 1.36.3"
	}
	return r
}

// maker builds a plan.
type maker struct{ planner.Plan }

func (m *maker) change(t state.Target, phase, item string, kind state.Kind, a planner.Action, list []planner.AttributeChange) {
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
	m.Changes = append(m.Changes, planner.Change{Address: addr(t, phase, item), Kind: kind, Action: a, Attributes: list, Reason: reason, Cost: cost})
}

func (m *maker) step(t state.Target, phase string, a planner.Action, impact string, needs []state.Address, ops ...planner.Operation) state.Address {
	id := state.Address{Target: t, Phase: phase}
	if i := len(phase) - len("@joined"); i > 0 && phase[i:] == "@joined" {
		id.Phase, id.Waypoint = phase[:i], "joined"
	}
	m.Steps = append(m.Steps, planner.Step{ID: id, Phase: id.Phase, Target: t, Action: a, Impact: impact, Needs: needs, Operations: ops})
	return id
}

func others(t state.Target) string {
	s := ""
	for _, o := range planes {
		if o != t {
			if s != "" {
				s += ", "
			}
			s += o.Key
		}
	}
	return s
}

const manifests = "file:/etc/kubernetes/manifests/"

// updatePlan changes an API server argument, a kubelet setting and a label,
// and removes a worker.
func updatePlan() *planner.Plan {
	var m maker
	m.Limits = map[string]int{"cluster.prod/control-plane-disruption": 1, "cluster.prod/drain": 1}
	m.Resources = append(m.Resources, resource(prod, planner.Update, 0))
	m.change(prod, "upload-config", "object:v1/ConfigMap/kube-system/kubeadm-config", state.KindObject, planner.Update,
		attrs("data.ClusterConfiguration.apiServer.extraArgs.audit-log-maxage", nil, map[string]any{"name": "audit-log-maxage", "value": "30"}, src(21)))
	m.change(prod, "upload-config", "object:v1/ConfigMap/kube-system/kubelet-config", state.KindObject, planner.Update,
		attrs("data.kubelet.maxPods", 110, 200, src(24)))
	var all []state.Address
	limit := []string{"cluster.prod/control-plane-disruption"}
	for _, t := range planes {
		n := machines[t]
		m.Resources = append(m.Resources, resource(t, planner.Update, 6))
		m.change(t, "control-plane", manifests+"kube-apiserver.yaml", state.KindStaticPod, planner.Update,
			attrs("args.audit-log-maxage", nil, "30", src(21)))
		m.change(t, "kubelet-start", "file:/var/lib/kubelet/config.yaml", state.KindYAMLFile, planner.Update,
			attrs("content.maxPods", 110, 200, src(24)))
		a := m.step(t, "control-plane", planner.Update, "restarts kube-apiserver here; the API stays up on "+others(t), nil,
			planner.WriteFile{Path: "/etc/kubernetes/manifests/kube-apiserver.yaml", Mode: "0600", Owner: "root:root", Content: planner.Content{Inline: "…"}},
			planner.Wait{For: planner.WaitStaticPod, Name: "kube-apiserver-" + n.name, Hash: "c7e1", Timeout: 5 * time.Minute})
		m.Steps[len(m.Steps)-1].Limits = limit
		b := m.step(t, "kubelet-start", planner.Update, "restarts the kubelet here; pods keep running", nil,
			planner.Unit{Unit: "kubelet.service", Action: "restart", Reload: true})
		m.Steps[len(m.Steps)-1].Limits = limit
		all = append(all, a, b)
	}
	m.Resources = append(m.Resources, resource(w21, planner.Update, 3))
	m.change(w21, "kubelet-start", "file:/var/lib/kubelet/config.yaml", state.KindYAMLFile, planner.Update, attrs("content.maxPods", 110, 200, src(24)))
	m.change(w21, "mark-worker", "node:w1", state.KindNodeObject, planner.Update,
		attrs(`labels["node.example.com/pool"]`, "batch", "gpu", src(47), `labels["node.example.com/rack"]`, nil, "b12", src(48)))
	all = append(all, m.step(w21, "kubelet-start", planner.Update, "restarts the kubelet here; pods keep running", nil,
		planner.Unit{Unit: "kubelet.service", Action: "restart", Reload: true}))
	m.step(w21, "mark-worker", planner.Update, "", nil, planner.PatchNode{Node: "w1", Labels: map[string]string{"node.example.com/pool": "gpu", "node.example.com/rack": "b12"}})
	m.step(prod, "upload-config", planner.Update, "", all, planner.ApplyObject{})
	leave(&m, w22)
	m.Quorum = []string{"3 members throughout, quorum 2 held at every step."}
	for i, t := range planes {
		m.Certificates = append(m.Certificates, ends(t, "/etc/kubernetes/pki/apiserver.crt", 40-i, planner.ByApply), ends(t, "/etc/kubernetes/admin.conf", 41, planner.ByApply))
	}
	m.Diagnostics = diag.Diagnostics{diag.Warningf("Check failed", "check %q: Two workers are needed.", "spare").At(line(60))}.JSON(nil)
	return &m.Plan
}

// ends returns a certificate with so many days left.
func ends(t state.Target, path string, days int, by planner.Renewer) planner.CertificateEnd {
	kind := "certificate"
	if strings.HasSuffix(path, ".conf") {
		kind = "kubeconfig"
	}
	return planner.CertificateEnd{
		Cluster: prod, Node: t, Host: machines[t].name, Path: path, Kind: kind,
		NotAfter: time.Date(2027, 3, 2, 9, 0, 0, 0, time.UTC).AddDate(0, 0, days), DaysLeft: days, RenewedBy: by,
	}
}

// leave takes a worker out.
func leave(m *maker, t state.Target) {
	r := resource(t, planner.Delete, 0)
	r.Reason = planner.ReasonUnconfigured
	m.Resources = append(m.Resources, r)
	name := machines[t].name
	d := m.step(t, "drain", planner.Delete, "3 pods to evict, 1 blocked by PodDisruptionBudget shop/cart (allows 0)", nil,
		planner.Cordon{Node: name}, planner.Drain{Node: name, Timeout: 10 * time.Minute, GracePeriod: -1})
	m.Steps[len(m.Steps)-1].Limits = []string{"cluster.prod/drain"}
	m.step(t, "reset", planner.Delete, "", []state.Address{d},
		planner.Unit{Unit: "kubelet.service", Action: "stop"}, planner.DeleteObject{Ref: state.ObjectRef{APIVersion: "v1", Kind: "Node", Name: name}},
		planner.RemovePods{Socket: "unix:///run/containerd/containerd.sock"}, planner.Unmount{Below: "/var/lib/kubelet"}, planner.RemoveNetwork{},
		planner.RemovePath{Path: "/etc/kubernetes"}, planner.RemovePath{Path: "/var/lib/kubelet", ContentsOnly: true}, planner.Mark{Remove: true, Marks: state.Marks{Node: t}})
}

// examplePlan returns the plan of the design: one argument, one worker gone.
func examplePlan() *planner.Plan {
	var m maker
	m.Limits = map[string]int{"cluster.prod/control-plane-disruption": 1}
	var needs []state.Address
	m.Resources = append(m.Resources, resource(prod, planner.Update, 0))
	m.change(prod, "upload-config", "object:v1/ConfigMap/kube-system/kubeadm-config", state.KindObject, planner.Update,
		attrs("data.ClusterConfiguration.apiServer.extraArgs", []any{}, []any{map[string]any{"name": "audit-log-maxage", "value": "30"}}, src(21)))
	for _, t := range planes {
		m.Resources = append(m.Resources, resource(t, planner.Update, 6))
		m.change(t, "control-plane", manifests+"kube-apiserver.yaml", state.KindStaticPod, planner.Update, attrs("args.audit-log-maxage", nil, "30", src(21)))
		needs = append(needs, m.step(t, "control-plane", planner.Update, "restarts kube-apiserver here; the API stays up on "+others(t), nil, planner.WriteFile{Path: "/x"}))
		m.Steps[len(m.Steps)-1].Limits = []string{"cluster.prod/control-plane-disruption"}
	}
	m.step(prod, "upload-config", planner.Update, "", needs, planner.ApplyObject{})
	leave(&m, w22)
	m.Quorum = []string{"3 members throughout, quorum 2 held at every step."}
	return &m.Plan
}

// driftPlan puts one thing right, leaves another, and cannot see a worker.
func driftPlan() *planner.Plan {
	var m maker
	m.Resources = append(m.Resources, resource(cp2, planner.Update, 7))
	m.change(cp2, "control-plane", manifests+"kube-scheduler.yaml", state.KindStaticPod, planner.Update, attrs("args.v", "10", nil, "args.bind-address", "0.0.0.0", "127.0.0.1"))
	m.Changes[0].Reason = planner.ReasonDrift
	m.step(cp2, "control-plane", planner.Update, "restarts kube-scheduler here; the API stays up on cp1, cp3", nil, planner.WriteFile{Path: "/x"})
	m.Drift = []planner.Change{
		{
			Address: addr(cp2, "control-plane", manifests+"kube-scheduler.yaml"), Kind: state.KindStaticPod, Action: planner.Update, Reason: planner.ReasonDrift,
			Attributes: attrs("args.v", nil, "10", "args.bind-address", "127.0.0.1", "0.0.0.0"),
		},
		{
			Address: addr(prod, "addon", "object:v1/ConfigMap/kube-system/kube-proxy"), Kind: state.KindObject, Action: planner.Update, Reason: planner.ReasonDrift,
			Attributes: attrs(`data["config.conf"].conntrack.maxPerCore`, nil, 32768),
		},
		{Address: addr(w21, "prepare", "file:/etc/sysctl.d/99-kubewright.conf"), Kind: state.KindFile, Action: planner.Delete, Reason: planner.ReasonDrift},
	}
	m.Withheld = []state.Unobserved{{
		Target: w22, Reason: "cannot connect to 10.77.0.22:22: i/o timeout after 10s",
		Remedy: "Bring the host back or take its block out; -target leaves it alone.",
	}}
	m.Policies = []planner.PolicyFinding{
		{Policy: "calm", Rule: "freeze", Message: `frozen until Mon 2026-03-09 07:00 CET by "weekend": call the operator on duty`, Source: state.Source{File: "policy.hcl", Line: 4}},
		{Policy: "four-eyes", Rule: "approval", Message: `approved by 1 of 2 (ann): to approve, add the line "3a2816c5be94cc61 NAME" to approvals`, Overridden: true, Source: state.Source{File: "policy.hcl", Line: 12}},
	}
	m.Quorum = []string{"3 members throughout, quorum 2 held at every step."}
	return &m.Plan
}

func emptyPlan() *planner.Plan {
	return &planner.Plan{Resources: []planner.ResourceChange{resource(prod, planner.NoOp, 0)}}
}

// destroyPlan gives all hosts back.
func destroyPlan() *planner.Plan {
	var m maker
	m.Destroy = true
	m.Resources = append(m.Resources, planner.ResourceChange{Target: prod, Action: planner.Delete})
	for _, t := range append(append([]state.Target{}, planes...), workers...) {
		m.Resources = append(m.Resources, resource(t, planner.Delete, 0))
		m.Resources[len(m.Resources)-1].Reason = planner.ReasonUnconfigured
		m.step(t, "reset", planner.Delete, "stops the kubelet, removes all containers and every file that kubewright and Kubernetes created", nil, planner.RemovePods{})
	}
	return &m.Plan
}

// replacePlan takes a worker out and in again, and changes text of several lines.
func replacePlan() *planner.Plan {
	var m maker
	r := resource(w21, planner.Replace, 0)
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
	m.change(cni, "addon", "object:v1/ConfigMap/kube-flannel/kube-flannel-cfg", state.KindObject, planner.Update,
		attrs(`data["net-conf.txt"]`, before, after, "data.password", state.SensitiveValue("config:x", "a"), state.SensitiveValue("config:x", "b"),
			"data.token", "abc", state.PendingValue("cluster.prod/bootstrap-token", "token"), "data.zones", []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"},
			[]string{"eu-central-1a", "eu-central-1c", "eu-central-1d"}, "data.ports", []string{"80"}, []string{"80", "443"}))
	m.change(cni, "addon", "object:apps/v1/DaemonSet/kube-flannel/kube-flannel-ds", state.KindObject, planner.Delete, nil)
	m.step(cni, "addon", planner.Update, "", nil, planner.ApplyObject{})
	d := m.step(w21, "drain", planner.Delete, "3 pods to evict", nil, planner.Cordon{Node: "w1"}, planner.Drain{Node: "w1"})
	x := m.step(w21, "reset", planner.Delete, "", []state.Address{d}, planner.RemovePods{}, planner.RemovePath{Path: "/etc/kubernetes"})
	join(&m, w21, []state.Address{x}, state.Address{})
	return &m.Plan
}
