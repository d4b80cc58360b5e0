package phases

import (
	"fmt"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// waitControlPlane waits until the kubelet and every component of a new
// control plane are healthy.
var waitControlPlane = phase{
	name: waitPlanePhase,
	nodeStep: func(n *node, w work) planner.Step {
		if n.upgrades() {
			return n.proofStep(w)
		}
		if !n.isControlPlane() || !w.creates(controlPlanePhase) && !w.creates(kubeletStartPhase) && !n.enters() && !n.apiMissing() {
			return n.proofStep(w)
		}
		t := n.cluster.Timeouts
		ops := []planner.Operation{planner.Wait{For: planner.WaitHTTP, URL: n.kubeletHealth(), Timeout: t.KubeletHealthCheck}}
		ops = append(ops, n.healthWaits("kube-apiserver", "kube-controller-manager", "kube-scheduler")...)
		if n.isFounder() {
			ops = append(ops, planner.Wait{For: planner.WaitAPI, Timeout: t.ControlPlaneComponentHealthCheck})
		}
		return planner.Step{Via: n.target, Operations: ops}
	},
	nodeNeeds: func(n *node) []state.Address {
		if n.upgrades() {
			return []state.Address{step(n.target, controlPlanePhase), step(n.target, etcdPhase)}
		}
		needs := []state.Address{step(n.target, kubeletStartPhase), step(n.target, controlPlanePhase), step(n.target, etcdPhase)}
		if n.cluster.unbound() && n.target != n.cluster.seat {
			needs = append(needs, step(n.cluster.target, uploadConfigPhase))
		}
		return needs
	},
}

// apiMissing tells that the founder's files are all there but its API has not answered yet.
func (n *node) apiMissing() bool { return n.isFounder() && n.cluster.report == nil }

func (n *node) kubeletHealth() string {
	tree, err := n.cluster.view.memo.tree(state.KindYAMLFile, n.kubeletConfig())
	must(nil, err)
	address, port := kubeadm.KubeletHealthz(tree)
	return fmt.Sprintf("http://%s:%d/healthz", bracket(address), port)
}

// caFile is the certificate of the cluster's CA on a control plane.
func (c *cluster) caFile() string { return c.Certificates.Dir + "/ca.crt" }

// caBase is the path of the cluster's CA without .crt and .key.
func (c *cluster) caBase() string { return c.Certificates.Dir + "/ca" }

// healthWaits waits for components of this node as kubeadm's wait-control-plane does.
func (n *node) healthWaits(components ...string) []planner.Operation {
	var ops []planner.Operation
	for _, c := range components {
		h := n.health(c)
		if h.url == "" {
			continue
		}
		ca := n.cluster.caFile()
		if h.insecure {
			ca = ""
		}
		ops = append(ops, planner.Wait{For: planner.WaitHTTP, URL: h.url, CA: ca, Timeout: n.cluster.Timeouts.ControlPlaneComponentHealthCheck})
	}
	return ops
}
