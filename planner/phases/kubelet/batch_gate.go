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

// UpgradeBatches returns the workers whose kubelets get another version, in batches. Nodes that run the
// version already count as canaries.
func UpgradeBatches(c *topology.Cluster) []topology.Batch {
	if c.Up == nil {
		return nil
	}
	m := c.Fleet.Cache
	if _, ok := m.Batches[c]; !ok {
		m.Batches[c] = Batches(c, KubeletsToUpgrade(c, config.Worker), func(n *topology.Node) bool {
			running, ok := skew.ParseRelease(n.RunningKubelet())
			return ok && running == c.Up.Want && !pki.KubeletChanges(n)
		})
	}
	return m.Batches[c]
}

// Batches cuts workers that are taken down into the batches of their pools: the canaries of each pool
// first. Nodes that an earlier apply has begun are finished before anything else, and proved nodes
// already count as canaries.
func Batches(c *topology.Cluster, turning []*topology.Node, proved func(*topology.Node) bool) []topology.Batch {
	var out []topology.Batch
	pools := drain.Pools(c)
	members := drain.Members(c, pools)
	for _, p := range pools {
		out = append(out, paceOf(c, p, members[p], turning, proved)...)
	}
	return out
}

func paceOf(c *topology.Cluster, p *config.Pool, members, turning []*topology.Node, proved func(*topology.Node) bool) []topology.Batch {
	var out []topology.Batch
	lanes := max(drain.MaxUnavailable(p.MaxUnavailable, len(members))-len(DownThroughout(members, turning)), 1)
	cut := func(nodes []*topology.Node, canary bool, size int) {
		for chunk := range slices.Chunk(nodes, max(size, 1)) {
			out = append(out, topology.Batch{Pool: p, Canary: canary, Nodes: chunk, Lanes: lanes})
		}
	}
	rest := slices.DeleteFunc(slices.Clone(turning), func(n *topology.Node) bool { return !slices.Contains(members, n) })
	slices.SortStableFunc(rest, func(a, b *topology.Node) int { return cmp.Compare(urgency(a), urgency(b)) })
	canaries := p.Canary
	if canaries == 1 && lanes == 1 && p.Pause == 0 {
		canaries = 0 // each of them goes alone
	}
	staged := canaries > 0 || p.Pause > 0
	for _, n := range members {
		if proved(n) {
			canaries--
		}
	}
	if staged {
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
	case n.NodeCondition().IsDown():
		return 1
	}
	return 2
}

// DownThroughout returns the workers that are down and are not among those that are taken down: they
// count as unavailable throughout. A node that rejoins is not among them: its Node object is a leftover.
func DownThroughout(members, turning []*topology.Node) []*topology.Node {
	return slices.DeleteFunc(slices.Clone(members), func(n *topology.Node) bool {
		return !n.NodeCondition().IsDown() || n.Joins() || slices.Contains(turning, n)
	})
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
