package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/store"
	"github.com/kubewright/kubewright/state"
)

// RegisterNode creates the Node of a kubelet, or updates it after a restart.
func (a API) RegisterNode(m *machine.Machine, name string) {
	n := a.c.Nodes[name]
	if n == nil {
		n = &store.Node{UID: a.newUID(), Created: a.servers.Now, Annotations: map[string]string{
			"node.alpha.kubernetes.io/ttl":                           "0",
			"volumes.kubernetes.io/controller-managed-attach-detach": "true",
		}}
		n.Labels, n.Taints = registered(m.Processes().KubeletFlag("node-labels"), m.Processes().KubeletFlag("register-with-taints"))
		for _, t := range m.Processes().KubeletConfig().Get("registerWithTaints").AsList() {
			n.Taints = append(n.Taints, state.Taint{Key: t.Get("key").AsString(), Value: t.Get("value").AsString(), Effect: t.Get("effect").AsString()})
		}
		a.c.Nodes[name] = n
	}
	before := n.Kubelet
	n.Host, n.Kubelet = m.Address, "v"+m.Version("kubelet")
	if before != "" {
		m.Processes().RestartPods(name, strings.TrimPrefix(before, "v"), m.Version("kubelet"))
	}
	n.ReadyAt, n.Rested = a.servers.Now.Add(3*time.Second), false
}

// Starting reports whether the kubelet of a node was started and has not reported ready
// yet.
func (s *Servers) Starting(n *store.Node) bool { return !n.Rested && s.Now.Before(n.ReadyAt) }

// registered parses the kubelet's flags for labels and taints.
func registered(labels, taints string) (map[string]string, []state.Taint) {
	l := map[string]string{}
	for pair := range strings.SplitSeq(labels, ",") {
		if key, value, _ := strings.Cut(pair, "="); key != "" {
			l[key] = value
		}
	}
	var t []state.Taint
	for s := range strings.SplitSeq(taints, ",") {
		if taint, err := store.ParseTaint(s); err == nil {
			t = append(t, taint)
		}
	}
	return l, t
}

// NodeReport returns what the API shows of a node.
func (a API) NodeReport(name string) state.NodeReport {
	n := a.c.Nodes[name]
	r := state.NodeReport{
		Labels: map[string]string{}, Annotations: maps.Clone(n.Annotations), Taints: slices.Clone(n.Taints),
		Unschedulable: n.Unschedulable, Ready: a.servers.NodeReady(n), KubeletVersion: n.Kubelet, InternalIPs: []string{n.Host},
	}
	arch := a.servers.Profile.Arch
	if m := a.servers.Hosts[n.Host]; m != nil {
		arch = m.Arch()
	}
	for _, prefix := range []string{"beta.kubernetes.io/", "kubernetes.io/"} {
		r.Labels[prefix+"arch"], r.Labels[prefix+"os"] = arch, "linux"
	}
	r.Labels["kubernetes.io/hostname"] = name
	maps.Copy(r.Labels, n.Labels)
	if m := a.servers.Hosts[n.Host]; m == nil || !m.Processes().KubeletRuns() || m.Kubelet.Node == "" {
		r.Silent = true
	} else {
		r.Reported = a.servers.Now
	}
	if !r.Ready {
		r.Taints = append(r.Taints, state.Taint{Key: "node.kubernetes.io/not-ready", Effect: "NoSchedule"})
	}
	if n.Unschedulable {
		r.Taints = append(r.Taints, state.Taint{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"})
	}
	for _, p := range a.c.Pods {
		if p.Node == name && p.Controller != store.DaemonSet {
			r.Pods++
		}
	}
	return r
}

// NodeReady reports whether a node's kubelet runs and its network is set up.
func (s *Servers) NodeReady(n *store.Node) bool {
	m := s.Hosts[n.Host]
	return m != nil && m.Processes().KubeletRuns() && m.Kubelet.Node != "" && m.Systemd().Active("containerd") && hasNetwork(m) && !s.Starting(n)
}

// nodeObject returns the Node as an object.
func (a API) nodeObject(name string) state.Value {
	n, r := a.c.Nodes[name], a.NodeReport(name)
	spec := map[string]any{}
	if n.Unschedulable {
		spec["unschedulable"] = true
	}
	var taints []any
	for _, t := range r.Taints {
		taint := map[string]any{"key": t.Key, "effect": t.Effect}
		if t.Value != "" {
			taint["value"] = t.Value
		}
		taints = append(taints, taint)
	}
	if taints != nil {
		spec["taints"] = taints
	}
	ready := "False"
	if r.Ready {
		ready = "True"
	}
	return state.FromGo(map[string]any{
		"apiVersion": "v1", "kind": "Node", "spec": spec,
		"metadata": map[string]any{
			"name": name, "uid": n.UID, "creationTimestamp": machine.Timestamp(n.Created), "labels": r.Labels, "annotations": r.Annotations,
		},
		"status": map[string]any{
			"nodeInfo":   map[string]any{"kubeletVersion": n.Kubelet},
			"conditions": []any{map[string]any{"type": "Ready", "status": ready}},
		},
	})
}

// StaticPods returns the mirror pods that the API shows.
func (a API) StaticPods() map[string]state.StaticPodReport {
	out := map[string]state.StaticPodReport{}
	for _, name := range slices.Sorted(maps.Keys(a.c.Nodes)) {
		m := a.servers.Hosts[a.c.Nodes[name].Host]
		if m == nil || m.Off || len(m.Pods) == 0 {
			continue // a kubelet that is off reports nothing
		}
		for podName := range m.Pods {
			out[podName+"-"+name] = *a.servers.StaticPod(m, podName, name, a.c.Nodes[name].Kubelet)
		}
	}
	return out
}

// StaticPod returns one mirror pod.
func (s *Servers) StaticPod(m *machine.Machine, pod, node, kubelet string) *state.StaticPodReport {
	running := m.Pods[pod]
	p := s.Manifest(running.Manifest)
	reported := !m.Conditions.Unreported
	return &state.StaticPodReport{
		Hash: s.PodHash(running, pod, node, strings.TrimPrefix(kubelet, "v")), Running: reported, Ready: reported && !m.Conditions.Unprobed && !m.Processes().RefusesProbes(p.Component()) && s.Fault(m, p.Component()) == nil,
		Image: p.Image, Args: slices.Clone(p.Args), Probe: p.Probe,
	}
}

// HasNode reports whether a Node exists.
func (a API) HasNode(name string) bool { return a.c.Nodes[name] != nil }

// PatchNode sets and removes labels, annotations and taints of a node, and cordons or uncordons it.
func (a API) PatchNode(op planner.PatchNode) error {
	n := a.c.Nodes[op.Node]
	if n == nil {
		return NotFound(op.Node)
	}
	n.Patch(op.Labels, op.Annotations, op.RemoveLabels, op.RemoveAnnotations, op.Taints, op.RemoveTaints)
	switch {
	case op.Schedulable == nil:
	case *op.Schedulable:
		n.Unschedulable = false
		delete(n.Annotations, planner.CordonAnnotation)
	default:
		n.Unschedulable = true
		n.Annotations[planner.CordonAnnotation] = planner.CordonConfigured
	}
	a.c.Stale = true
	return nil
}

// Cordon makes a node unschedulable, or schedulable again.
func (a API) Cordon(op planner.Cordon) error {
	n := a.c.Nodes[op.Node]
	if n == nil {
		return NotFound(op.Node)
	}
	marked := op.For == "" || n.Annotations[planner.CordonAnnotation] == op.For
	switch {
	case op.Undo:
		if marked {
			n.Unschedulable = false
			delete(n.Annotations, planner.CordonAnnotation)
		}
		if op.Remember != "" {
			n.Patch(nil, map[string]string{planner.LetInAnnotation: planner.LetIn(a.servers.Now, op.Remember)}, nil, nil, nil, nil)
		}
	case !op.Undo && !n.Unschedulable:
		n.Unschedulable = true
		if op.For != "" {
			n.Patch(nil, map[string]string{planner.CordonAnnotation: op.For}, nil, nil, nil, nil)
		}
	}
	a.c.Stale = true
	return nil
}

// NotFound returns the API's answer for a node that does not exist.
func NotFound(node string) error {
	return &providers.Error{Kind: providers.ErrNotFound, Do: "change node " + node, Cause: fmt.Errorf("nodes %q not found", node)}
}
