package phases

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// beforeDisruption are the steps that come before the static pods of a control
// plane are touched in an upgrade: the images of its host, and the proof of the
// control plane before it.
func (n *node) beforeDisruption() []state.Address {
	if !n.upgrades() {
		return nil
	}
	needs := slices.Concat(n.cluster.beforeRisk(), n.cluster.afterWaypoints(), n.cluster.imagesOf(n.target))
	if before := before(n.cluster.inTurn(), n, 1); before != nil {
		needs = append(needs, step(before.target, waitPlanePhase))
	}
	return needs
}

// beforeRisk are the steps that come before the first touch of etcd or of a
// control plane in an upgrade: control planes that leave are gone by then. Where only
// kubelets take another version the order is that of any change: (*node).moment.
func (c *cluster) beforeRisk() []state.Address {
	if !c.up.raises {
		return nil
	}
	var needs []state.Address
	for _, l := range c.view.leavers() {
		if l.cluster == c && l.Role == string(config.ControlPlane) {
			needs = append(needs, step(l.target, resetPhase))
		}
	}
	return needs
}

// afterFirstPlane is where kubeadm's upgrade writes the configuration: when the
// first control plane has the new version.
func (c *cluster) afterFirstPlane() []state.Address {
	return []state.Address{step(c.inTurn()[0].target, waitPlanePhase)}
}

// afterPlanes is when every control plane has the new version. Where the endpoint
// moves while only kubelets take another version, the configuration in the cluster
// is written when the kubelets have turned.
func (c *cluster) afterPlanes() []state.Address {
	var needs []state.Address
	if len(c.formerHosts()) == 0 {
		needs = append(needs, step(c.target, uploadConfigPhase))
	}
	return append(needs, c.planesProved()...)
}

// planesProved are the proofs that control planes run with the new version.
func (c *cluster) planesProved() []state.Address {
	var needs []state.Address
	for _, n := range c.controlPlanes() {
		if n.upgrades() {
			needs = append(needs, step(n.target, waitPlanePhase))
		}
	}
	return needs
}

// beforeJoins lets nodes join when the control planes have the new version:
// their kubelets may not be newer.
func (c *cluster) beforeJoins() []state.Address {
	if c.up == nil || !c.up.raises {
		return nil
	}
	return c.afterPlanes()
}

// afterKubelets is when every kubelet has its version: the addons come last.
func (c *cluster) afterKubelets() []state.Address {
	var needs []state.Address
	for _, n := range c.nodes {
		if n.upgrades() {
			needs = append(needs, step(n.target, kubeletStartPhase))
		}
	}
	return needs
}

// beforeKubelet are the steps before a kubelet of a cluster in an upgrade is
// restarted: one that stays in its version comes when the control planes are
// done, too.
func (n *node) beforeKubelet() []state.Address {
	return append(n.cluster.afterPlanes(), step(n.target, drainPhase), step(n.target, installPhase))
}

// beforeDrain are the steps that the drain of a node for its kubelet rests on: all
// control planes have the version, and the batches before its own are well.
func (n *node) beforeDrain() []state.Address {
	needs := append(n.cluster.afterPlanes(), step(n.target, imagesPhase))
	if i := n.cluster.batchOf(n); i >= 0 && !n.isControlPlane() {
		needs = append(needs, n.cluster.pause(i))
	}
	return needs
}

// beforeTurn are the kubelets whose turn comes before a node is drained for its own:
// those of the control planes one after another, then those of the workers, of which
// in a batch the one so many places before is back. Workers that are away come back first.
func (n *node) beforeTurn() []state.Address {
	c := n.cluster
	planes := c.turning(config.ControlPlane)
	turn := []*node{before(planes, n, 1)}
	if !n.isControlPlane() {
		turn = planes
		if i := c.batchOf(n); i >= 0 {
			turn = append(turn, before(c.paced()[i].nodes, n, c.paced()[i].lanes))
		}
	}
	var needs []state.Address
	for _, o := range turn {
		if o != nil {
			needs = append(needs, step(o.target, kubeletStartPhase))
		}
	}
	if !n.isControlPlane() {
		needs = append(needs, c.workersBack()...)
	}
	return needs
}

// workersBack is when no worker is away any more.
func (c *cluster) workersBack() []state.Address {
	var out []state.Address
	for _, n := range c.nodes {
		if n.comesBack() {
			out = append(out, step(n.target, waitBootstrapPhase))
		}
	}
	return out
}

// before is the node so many places before another one, or nil.
func before(nodes []*node, n *node, places int) *node {
	if i := slices.Index(nodes, n); i >= places {
		return nodes[i-places]
	}
	return nil
}

// turning are the nodes of a role whose kubelets get another version or that are
// cordoned for it; those that are cordoned already come first.
func (c *cluster) turning(role config.Role) []*node {
	var held, rest []*node
	for _, n := range c.nodes {
		switch {
		case n.Role != role || !n.upgrades():
		case n.cordoned():
			held = append(held, n)
		case n.turns():
			rest = append(rest, n)
		}
	}
	return append(held, rest...)
}

// upgrade adds to the draft what only an upgrade has: the drains of nodes whose
// kubelets get another version, pauses, and versions on the way.
func (b *builder) upgrade(c *cluster) {
	if c.up == nil {
		return
	}
	for _, n := range c.nodes {
		if !n.upgrades() {
			continue
		}
		b.draft.Turns[step(n.target, etcdPhase)], b.draft.Turns[step(n.target, controlPlanePhase)] = c.allImages(), c.allImages()
		id := step(n.target, drainPhase)
		b.draft.Edges[id], b.draft.Turns[id] = n.beforeDrain(), n.beforeTurn()
		if s := n.drainStep(); len(s.Operations) > 0 {
			s.ID, s.Phase, s.Target, s.Action = id, drainPhase, n.target, planner.Update
			b.draft.Steps = append(b.draft.Steps, s)
		}
	}
	b.draft.Turns[step(c.target, addonPhase)] = c.afterKubelets()
	configured, gone := c.addonTargets()
	for _, t := range slices.Concat(configured, gone) {
		b.draft.Turns[step(t, addonPhase)] = c.afterKubelets()
	}
	b.pauses(c)
	before := c.beforeRisk()
	for _, w := range c.up.way {
		b.waypoint(c, w, before)
		before = w.doneAll()
	}
}

// taintsFirst has the step that marks a node come between the drain and the kubelet,
// which lets pods in again, where it sets a taint: a pod that the taint is to keep away
// would be scheduled in between, and killed where the effect is NoExecute. A part of a
// plan has both or none, but where somebody has left out the mark by its name.
func (b *builder) taintsFirst(c *cluster) {
	restricted := planner.Options{Excludes: c.view.excluded, SkipPhases: c.view.skipped}
	for _, n := range c.nodes {
		mark, start := step(n.target, n.markPhase()), step(n.target, kubeletStartPhase)
		if !n.opens() || !restricted.Selects(mark) || !(work{changes: b.changes[mark]}).setsTaint() {
			continue
		}
		b.draft.Edges[mark] = slices.Clone(b.draft.Edges[start])
		b.after(start, mark)
		b.draft.Closes[start] = []state.Address{mark}
	}
}

// opens tells that the node's step for its kubelet lets pods in again.
func (n *node) opens() bool {
	if n.cluster.report == nil || n.report == nil || n.joins() || n.unregistered() {
		return false
	}
	return n.marked() || n.wasLeaving()
}

// setsTaint tells that a change gives a node a taint.
func (w work) setsTaint() bool {
	return slices.ContainsFunc(w.changes, func(c planner.Change) bool {
		return slices.ContainsFunc(c.Attributes, func(a planner.AttributeChange) bool {
			keys := state.SplitPath(a.Path)
			return len(keys) == 2 && keys[0] == "taints" && !a.After.IsNull()
		})
	})
}

// risky are the steps that replace etcd, or move the cluster to another minor
// version, in which the API may store things in another form. Where one etcd is
// replaced, whatever else changes there comes behind the snapshot, too.
func (b *builder) risky(c *cluster) []state.Address {
	var out []state.Address
	replaced := c.up != nil || slices.ContainsFunc(c.controlPlanes(), b.replacesEtcd)
	if c.up != nil {
		for _, w := range c.up.way {
			out = append(out, w.doneAll()...)
		}
	}
	for _, n := range c.controlPlanes() {
		etcd, plane := step(n.target, etcdPhase), step(n.target, controlPlanePhase)
		if len(b.changes[etcd]) > 0 && replaced {
			out = append(out, etcd)
		}
		if len(b.changes[plane]) > 0 && c.up != nil && c.up.raises && c.up.oldest.Minor != c.up.want.Minor {
			out = append(out, plane)
		}
	}
	return out
}
