package kubelet

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/planner/topology"
)

// UpgradeBatches returns the workers whose kubelets get another version, in batches: the canaries of
// each pool first. Nodes that an earlier apply has begun are finished before anything else, and nodes
// that run the version already count as canaries.
func UpgradeBatches(c *topology.Cluster) []topology.Batch {
	if c.Up == nil {
		return nil
	}
	if c.Up.Batches == nil {
		pools := drain.Pools(c)
		members, turning := drain.Members(c, pools), KubeletsToUpgrade(c, config.Worker)
		for _, p := range pools {
			c.Up.Batches = append(c.Up.Batches, paceOf(c, p, members[p], turning)...)
		}
	}
	return c.Up.Batches
}

func paceOf(c *topology.Cluster, p *config.Pool, members, turning []*topology.Node) []topology.Batch {
	var out []topology.Batch
	lanes := max(drain.MaxUnavailable(p.MaxUnavailable, len(members))-len(DownThroughout(c, members)), 1)
	cut := func(nodes []*topology.Node, canary bool, size int) {
		for chunk := range slices.Chunk(nodes, max(size, 1)) {
			out = append(out, topology.Batch{Pool: p, Canary: canary, Nodes: chunk, Lanes: lanes})
		}
	}
	rest := slices.DeleteFunc(slices.Clone(turning), func(n *topology.Node) bool { return !slices.Contains(members, n) })
	slices.SortStableFunc(rest, func(a, b *topology.Node) int { return cmp.Compare(urgency(a), urgency(b)) })
	canaries := p.Canary
	for _, n := range members {
		if running, ok := skew.ParseRelease(n.RunningKubelet()); ok && running == c.Up.Want && !pki.KubeletChanges(n) {
			canaries--
		}
	}
	if p.Canary > 0 || p.Pause > 0 {
		held := slices.IndexFunc(append(slices.Clone(rest), nil), func(n *topology.Node) bool { return n == nil || !drain.Cordoned(n) })
		cut(rest[:held], canaries > 0, held)
		canaries, rest = canaries-held, rest[held:]
	}
	first := min(max(canaries, 0), len(rest))
	cut(rest[:first], true, first)
	if p.Pause > 0 {
		cut(rest[first:], false, lanes)
	} else {
		cut(rest[first:], false, len(rest))
	}
	return out
}

// urgency orders workers: first those that an earlier apply has cordoned, then those that are down,
// since upgrading one of them takes no other node down.
func urgency(n *topology.Node) int {
	switch {
	case drain.Cordoned(n):
		return 0
	case isDown(n):
		return 1
	}
	return 2
}

// isDown reports whether the node's Node object exists and was observed to be not Ready.
func isDown(n *topology.Node) bool {
	if n.Cluster.Report == nil {
		return false
	}
	seen, ok := n.Cluster.Report.Nodes[n.NodeName]
	return ok && !seen.Ready
}

// DownThroughout returns the workers that are down and are not upgraded: they count as unavailable
// throughout. A node that rejoins is not among them: its Node object is a leftover.
func DownThroughout(c *topology.Cluster, members []*topology.Node) []*topology.Node {
	turning := KubeletsToUpgrade(c, config.Worker)
	return slices.DeleteFunc(slices.Clone(members), func(n *topology.Node) bool { return !isDown(n) || n.Joins() || slices.Contains(turning, n) })
}

// BatchOf returns the index of a worker's batch; -1 when it is in none.
func BatchOf(c *topology.Cluster, n *topology.Node) int {
	return slices.IndexFunc(UpgradeBatches(c), func(b topology.Batch) bool { return slices.Contains(b.Nodes, n) })
}

// pauseBehind returns the pause after the worker's batch.
func pauseBehind(n *topology.Node) time.Duration {
	if i := BatchOf(n.Cluster, n); i >= 0 && i+1 < len(UpgradeBatches(n.Cluster)) {
		return UpgradeBatches(n.Cluster)[i].Pool.Pause
	}
	return 0
}
