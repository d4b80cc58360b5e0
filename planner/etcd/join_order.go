package etcd

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// OrderJoins makes control planes join a living cluster one after another: the join of the next one
// begins when the API server of the one before it serves. One that fails there stops the others before
// they begin. Nothing relies yet on a cluster that is being founded: there only the changes of etcd's
// membership are made one at a time, which their limit ensures.
func OrderJoins(b *topology.Builder, c *topology.Cluster) {
	if c.Founding || c.Fleet.Destroy {
		return
	}
	last := begunJoins(b, c)
	for _, n := range joinTurns(c) {
		b.InTurn(topology.StepAddress(n.Target, topology.KubeletStartPhase), last...)
		b.InTurn(topology.StepAddress(n.Target, topology.EtcdPhase), last...)
		last = []state.Address{topology.StepAddress(n.Target, topology.WaitControlPlanePhase)}
	}
}

// joinTurns returns the control planes that join, in the order of the changes of etcd's membership.
func joinTurns(c *topology.Cluster) []*topology.Node {
	var out []*topology.Node
	for _, a := range MembershipChanges(c) {
		if n := c.Node(a.Step.Target); a.Add && n.Joining() {
			out = append(out, n)
		}
	}
	for _, n := range c.Newcomers() { // with an external etcd, or while the members are unknown
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// begunJoins returns the proofs of control planes that have a kubelet and no API server yet: an earlier
// apply was interrupted in their join. Where the plan also changes such a kubelet, the proof waits for the
// turns of other kubelets, which may wait for joins; package staticpod lets joins wait for its static pods.
func begunJoins(b *topology.Builder, c *topology.Cluster) []state.Address {
	var out []state.Address
	for _, n := range c.ControlPlanes() {
		start := topology.StepAddress(n.Target, topology.KubeletStartPhase)
		changes := slices.ContainsFunc(b.Draft.Steps, func(s planner.Step) bool { return s.ID == start })
		if n.Report != nil && !n.Joins() && !n.Runs() && !changes {
			out = append(out, topology.StepAddress(n.Target, topology.WaitControlPlanePhase))
		}
	}
	return out
}
