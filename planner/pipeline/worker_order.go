package pipeline

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// orderWorkers makes workers join, be replaced and be removed in this order: those that join are Ready,
// with their labels and taints, before another one is drained; then workers are replaced, each Ready
// again before the next one is drained; those that leave for good are drained last. A worker counts as
// joining until it was seen Ready, whichever apply began its join. In an upgrade
// replaced workers join when the control planes have the version. The limit drain bounds drains at once.
// etcd.OrderMembershipChanges orders control planes.
func orderWorkers(b *topology.Builder, c *topology.Cluster) {
	var joined, begun, back []state.Address
	for _, n := range c.Nodes {
		switch {
		case n.IsControlPlane() || c.Fleet.Replaces(n.Target):
		case n.Joining():
			joined = append(joined, kubelet.JoinProved(n))
		case unconfirmed(n):
			begun = append(begun, kubelet.JoinProved(n))
		}
	}
	before, first := kubelet.StepsBeforeJoins(c), slices.Clone(joined)
	if c.Up == nil { // otherwise these may wait for replaced workers
		first = append(first, begun...)
	}
	for _, n := range c.Nodes {
		if !c.Fleet.Replaces(n.Target) {
			continue
		}
		drain, reset := topology.StepAddress(n.Target, topology.DrainPhase), topology.StepAddress(n.Target, topology.ResetPhase)
		for _, p := range phases.All() {
			if p.NodeStep != nil {
				b.After(topology.StepAddress(n.Target, p.Name), reset)
			}
		}
		back = append(back, kubelet.JoinProved(n))
		if !n.ReplacesWorker() {
			continue
		}
		for _, id := range before {
			b.After(reset, id)
			b.After(drain, id)
		}
		b.InTurn(reset, first...)
		b.InTurn(drain, first...)
		before = []state.Address{kubelet.JoinProved(n)}
	}
	for _, l := range c.Fleet.Departures() {
		if l.Cluster != c || l.Whole || l.Replaced || l.Role != string(config.Worker) {
			continue
		}
		drain := topology.StepAddress(l.Target, topology.DrainPhase)
		for _, id := range joined {
			b.After(drain, id)
		}
		b.InTurn(drain, begun...)
		b.InTurn(drain, back...)
	}
	proveWorkers(b, c)
}

// proveWorkers makes the last step of a worker's join end when the worker is Ready, if a drain waits for
// it. Labels and taints come before that, since pods may be scheduled from then on. While no node is Ready, as
// without a pod network, none will be.
func proveWorkers(b *topology.Builder, c *topology.Cluster) {
	if c.Report != nil && !anyReady(c.Report) {
		return
	}
	awaited := map[state.Address]bool{}
	for _, edges := range []map[state.Address][]state.Address{b.Draft.Edges, b.Draft.Turns} {
		for id, needs := range edges {
			for _, need := range needs {
				awaited[need] = awaited[need] || id.Phase == topology.DrainPhase && need.Target != id.Target
			}
		}
	}
	for _, n := range c.Nodes {
		if !n.IsControlPlane() && n.Report != nil && awaited[kubelet.JoinProved(n)] {
			proveReady(b, n)
		}
	}
}

// proveReady appends the wait to the worker's last step. The worker of an earlier apply may have none.
func proveReady(b *topology.Builder, n *topology.Node) {
	for _, phase := range []string{topology.MarkWorkerPhase, topology.WaitBootstrapPhase, topology.KubeletStartPhase} {
		i := slices.IndexFunc(b.Draft.Steps, func(s planner.Step) bool { return s.ID == topology.StepAddress(n.Target, phase) })
		if i >= 0 && !slices.Contains(n.Cluster.Fleet.Skipped, phase) {
			s := &b.Draft.Steps[i]
			s.Via, s.Operations = n.Cluster.Primary, append(slices.Clone(s.Operations), pki.ReadyWait(n)...)
			return
		}
	}
	if at := n.NodeCondition(); at == state.NodeUnknown || at == state.NodeReady {
		return
	}
	id := topology.StepAddress(n.Target, topology.WaitBootstrapPhase)
	b.Draft.Steps = append(b.Draft.Steps, planner.Step{
		ID: id, Phase: id.Phase, Target: id.Target, Action: planner.NoOp, Via: n.Cluster.Primary,
		Impact: "waits until the node is Ready, whose join was interrupted", Operations: pki.ReadyWait(n),
	})
}

// unconfirmed reports whether an apply has begun to start the node's kubelet, as for a join, and no
// observation has confirmed it since.
func unconfirmed(n *topology.Node) bool {
	was := n.Cluster.Fleet.Recorded
	return n.Report != nil && was != nil && slices.Contains(was.Unseen, topology.StepAddress(n.Target, topology.KubeletStartPhase).String())
}

func anyReady(r *state.ClusterReport) bool {
	for _, n := range r.Nodes {
		if n.Ready {
			return true
		}
	}
	return false
}
