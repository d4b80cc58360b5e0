package staticpod

import (
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// WaitControlPlane waits until the kubelet and every component of a new
// control plane are healthy.
var WaitControlPlane = topology.Phase{
	Name: topology.WaitControlPlanePhase,
	NodeStep: func(n *topology.Node, w topology.PhaseWork) planner.Step {
		if n.Upgrades() {
			return ProofStep(n, w)
		}
		if !n.IsControlPlane() || !w.Creates(topology.ControlPlanePhase) && !w.Creates(topology.KubeletStartPhase) && !enters(n) && !apiMissing(n) {
			return ProofStep(n, w)
		}
		t := n.Cluster.Timeouts
		ops := pki.HealthWait(n)
		ops = append(ops, HealthWaits(n, "kube-apiserver", "kube-controller-manager", "kube-scheduler")...)
		if n.IsFounder() {
			ops = append(ops, planner.Wait{For: planner.WaitAPI, Timeout: t.ControlPlaneComponentHealthCheck})
		}
		return planner.Step{Via: n.Target, Operations: ops}
	},
	NodeNeeds: func(n *topology.Node) []state.Address {
		if n.Upgrades() {
			return []state.Address{topology.StepAddress(n.Target, topology.ControlPlanePhase), topology.StepAddress(n.Target, topology.EtcdPhase)}
		}
		needs := []state.Address{topology.StepAddress(n.Target, topology.KubeletStartPhase), topology.StepAddress(n.Target, topology.ControlPlanePhase), topology.StepAddress(n.Target, topology.EtcdPhase)}
		if AdminUnbound(n.Cluster) && n.Target != n.Cluster.Primary {
			needs = append(needs, topology.StepAddress(n.Cluster.Target, topology.UploadConfigPhase))
		}
		return needs
	},
}

// apiMissing reports whether the founder's files exist but its API has not answered yet.
func apiMissing(n *topology.Node) bool { return n.IsFounder() && n.Cluster.Report == nil }

// HealthWaits waits for components of this node, as kubeadm's wait-control-plane does.
func HealthWaits(n *topology.Node, components ...string) []planner.Operation {
	var ops []planner.Operation
	for _, c := range components {
		h := Health(n, c)
		if h.URL == "" {
			continue
		}
		ca := n.Cluster.CAFile()
		if h.Insecure {
			ca = ""
		}
		ops = append(ops, planner.Wait{For: planner.WaitHTTP, URL: h.URL, CA: ca, Timeout: n.Cluster.Timeouts.ControlPlaneComponentHealthCheck})
	}
	return ops
}
