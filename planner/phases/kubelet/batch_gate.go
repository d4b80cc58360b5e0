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

// UpgradeBatches returns the workers whose kubelets get another version, in batches: of each
// pool the canaries first. What an earlier apply has begun is ended before
// anything else, and canaries that have the version already are not asked for again.
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

// urgency puts workers in order: first those that an earlier apply has cordoned, then
// those that are down, by which no other one goes down.
func urgency(n *topology.Node) int {
	switch {
	case drain.Cordoned(n):
		return 0
	case isDown(n):
		return 1
	}
	return 2
}

// isDown reports whether the node's Node is there and was seen to be not Ready.
func isDown(n *topology.Node) bool {
	if n.Cluster.Report == nil {
		return false
	}
	seen, ok := n.Cluster.Report.Nodes[n.NodeName]
	return ok && !seen.Ready
}

// DownThroughout are workers that are down and whose turn does not come: they count as
// unavailable throughout. One that rejoins is none: its Node is of before.
func DownThroughout(c *topology.Cluster, members []*topology.Node) []*topology.Node {
	turning := KubeletsToUpgrade(c, config.Worker)
	return slices.DeleteFunc(slices.Clone(members), func(n *topology.Node) bool { return !isDown(n) || n.Joins() || slices.Contains(turning, n) })
}

// BatchOf returns the place of a worker's batch; -1 when it has none.
func BatchOf(c *topology.Cluster, n *topology.Node) int {
	return slices.IndexFunc(UpgradeBatches(c), func(b topology.Batch) bool { return slices.Contains(b.Nodes, n) })
}

// pauseBehind returns how long is waited when the worker's batch is done.
func pauseBehind(n *topology.Node) time.Duration {
	if i := BatchOf(n.Cluster, n); i >= 0 && i+1 < len(UpgradeBatches(n.Cluster)) {
		return UpgradeBatches(n.Cluster)[i].Pool.Pause
	}
	return 0
}
