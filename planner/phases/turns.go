package phases

import "github.com/kubewright/kubewright/state"

// runs tells that the node is a control plane that was one before this plan.
func (n *node) runs() bool {
	return n.isControlPlane() && n.report != nil && n.report.Files[manifest("kube-apiserver")].Exists && n.report.Files[adminConf].Exists
}

// running are the control planes that run already, the seat first.
func (c *cluster) running() []*node {
	var out []*node
	for _, n := range c.controlPlanes() {
		switch {
		case !n.runs():
		case n.target == c.seat:
			out = append([]*node{n}, out...)
		default:
			out = append(out, n)
		}
	}
	return out
}

// turn lets certificates of control planes that run change one control plane
// after the other: only when everything on one is proved to be well with its new
// ones does the next get its own. One that is sick waits for nobody, and all but
// the seat, which the others get CAs from, wait for it. Where nobody answers for
// the cluster there is nothing to keep, and none gets well before all have theirs.
func (n *node) turn() []state.Address {
	c := n.cluster
	if c.report == nil || c.view.targeted || !n.runs() || n.target == c.seat || n.sick() {
		return nil
	}
	var out []state.Address
	for _, o := range c.sick() {
		out = append(out, step(o.target, controlPlanePhase))
	}
	var before *node
	for _, o := range c.running() {
		if o == n {
			break
		}
		if !o.sick() {
			before = o
		}
	}
	if before != nil {
		out = append(out, step(before.target, controlPlanePhase))
	}
	for _, o := range c.failing() {
		out = append(out, step(o.target, waitPlanePhase))
	}
	return out
}

// afterAll lets control planes of a cluster that does not answer wait for one
// another's certificates: an API server needs a quorum of etcd members that
// trust each other.
func (n *node) afterAll() []state.Address {
	c := n.cluster
	if c.report != nil || !n.runs() {
		return nil
	}
	var out []state.Address
	for _, o := range c.running() {
		out = append(out, step(o.target, kubeconfigPhase), step(o.target, etcdPhase))
	}
	return out
}
