package phases

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Identify is what a step's node is remembered by from before its first
// change, so that a node whose block goes away can still be reached and reset.
func Identify(v *View, s *planner.Step) state.Learned {
	c := v.clusterOf(s.Target)
	if s.Target.Type != state.TypeNode || c == nil || s.Phase == drainPhase || s.Phase == resetPhase {
		return state.Learned{}
	}
	n := c.node(s.Target)
	if n == nil {
		return state.Learned{}
	}
	l := state.Learned{Nodes: map[state.Target]*state.RecordedNode{n.target: n.record()}}
	if s.ID.Phase == restorePhase && s.ID.Waypoint == restoreDone {
		l.Clusters = c.withoutEtcdID()
	}
	return l
}

// withoutEtcdID is what is recorded of the cluster without the ID of its etcd: it was
// made anew, and as soon as the restore has ended nothing else tells of that.
func (c *cluster) withoutEtcdID() map[string]*state.RecordedCluster {
	if c.view.Recorded == nil || c.view.Recorded.Clusters[c.Label] == nil {
		return nil
	}
	rec := *c.view.Recorded.Clusters[c.Label]
	rec.EtcdClusterID = ""
	return map[string]*state.RecordedCluster{c.Label: &rec}
}

func (n *node) record() *state.RecordedNode {
	return &state.RecordedNode{
		Adopted: n.adoption(),
		HostKey: n.report.HostKey, HopKeys: n.report.HopKeys, Cluster: n.Cluster, Role: string(n.Role), Name: n.name, Address: n.AdvertiseAddress(),
		MachineID: n.facts().MachineID, Connection: n.connection(), Programs: n.report.Programs,
		PreventDestroy: n.cluster.view.prevents(n.target),
	}
}

// connection is how the host is reached; the address stands in for the host.
func (n *node) connection() state.Value {
	c := n.Connection
	if c.Host == "" {
		c.Host = n.Address
	}
	return c.ToValue()
}

// Left is what a reset leaves behind in the state: nothing.
func Left(s *planner.Step) state.Learned {
	if s.Phase != resetPhase {
		return state.Learned{}
	}
	return state.Learned{Left: []state.Target{s.Target}}
}

// TakenApart is what a destroy leaves of the clusters that its plan took apart, once
// the state has none of their nodes any more: nothing.
func TakenApart(p *planner.Plan, st *state.State) state.Learned {
	var l state.Learned
	for _, r := range p.Resources {
		if r.Target.Type == state.TypeCluster && r.Action == planner.Delete && !inhabited(st, r.Target.Name) {
			l.Left = append(l.Left, r.Target)
		}
	}
	return l
}

// inhabited tells that the state has nodes of a cluster.
func inhabited(st *state.State, label string) bool {
	for _, n := range st.Nodes {
		if n.Cluster == label {
			return true
		}
	}
	return false
}

// Record is what the state has to learn from a round of observation: the
// desired items that are seen to be so, and the identities of clusters. It is
// the difference to what is recorded; zero when there is none. What a restricted
// plan has left undone is not recorded, nor is what a host that never joined has
// by itself: nobody has put it there, and nothing of it is to be taken away.
func Record(v *View, r Result) state.Learned {
	var l state.Learned
	l.Gone = slices.Clone(r.Plan.Forgotten)
	l.Nodes, l.Left = v.remembered(), v.deserted()
	l.Seen = v.seenDone(r)
	settled := func(it *state.Item) bool { return !r.Open[it.Address] && r.Observed.Find(it.Address) != nil }
	for i := range r.Desired.Items {
		it := &r.Desired.Items[i]
		if it.Kind == state.KindMark && settled(it) && !v.recordedNode(it.Address.Target) {
			l.Nodes = v.knownAgain(it.Address.Target, l.Nodes)
		}
	}
	for i := range r.Desired.Items {
		it := &r.Desired.Items[i]
		t := it.Address.Target
		if !settled(it) || t.Type == state.TypeNode && !v.recordedNode(t) && l.Nodes[t] == nil {
			continue
		}
		was := v.recorded.Find(it.Address)
		now := v.onceSet(recordable(*it), was, r.Observed.Find(it.Address))
		if was == nil || !was.Attributes.Equal(now.Attributes) {
			l.Items = append(l.Items, now)
		}
	}
	for _, c := range v.clusters {
		if rec := c.record(); rec != nil && (v.Recorded == nil || v.Recorded.Clusters[c.Label] == nil || !v.Recorded.Clusters[c.Label].Equal(*rec)) {
			if l.Clusters == nil {
				l.Clusters = map[string]*state.RecordedCluster{}
			}
			l.Clusters[c.Label] = rec
		}
	}
	return l
}

// deserted are recorded clusters whose block is gone and whose last node has left.
func (v *View) deserted() []state.Target {
	var out []state.Target
	for _, label := range v.goneClusters() {
		if !inhabited(v.Recorded, label) {
			out = append(out, state.ClusterTarget(label))
		}
	}
	return out
}

// knownAgain adds a node that the state has forgotten and whose host is marked as
// its own: nothing has to be done there, and without this a block that goes away
// later would leave the node behind.
func (v *View) knownAgain(t state.Target, nodes map[state.Target]*state.RecordedNode) map[state.Target]*state.RecordedNode {
	c := v.clusterOf(t)
	if c == nil || c.node(t) == nil || c.node(t).report == nil {
		return nodes
	}
	if nodes == nil {
		nodes = map[state.Target]*state.RecordedNode{}
	}
	nodes[t] = c.node(t).record()
	return nodes
}

// remembered are the recorded nodes of which something else is to be remembered:
// their hosts have other programs or are reached in another way, or they are protected
// or no longer so.
func (v *View) remembered() map[state.Target]*state.RecordedNode {
	if v.Recorded == nil {
		return nil
	}
	out := map[state.Target]*state.RecordedNode{}
	for t, n := range v.Recorded.Nodes {
		changed := *n
		if r := v.Reports[t]; r != nil {
			changed.Programs = r.Programs
		}
		if host := v.find(t); host != nil && host.joined(n) {
			changed.Address, changed.Connection = host.AdvertiseAddress(), host.connection()
			changed.HostKey, changed.HopKeys = host.report.HostKey, host.report.HopKeys
		}
		changed.PreventDestroy = v.prevents(t)
		if !changed.Equal(*n) {
			out[t] = &changed
		}
	}
	return out
}

// joined tells that what was seen at the other end of the node's connection is the host
// that joined as this node: by that way it is reached when its block is gone. One that
// is replaced, or joins anew, is recorded with its first step.
func (n *node) joined(was *state.RecordedNode) bool {
	return n.report != nil && !blank(n.report) && !otherMachine(was, n.report) &&
		was.Cluster == n.Cluster && !n.cluster.view.replaces(n.target) && anotherNodeReason(n.Node, was) == ""
}

// recordable is a desired item as the state remembers it.
func recordable(it state.Item) state.Item {
	it.Origin, it.Outdated, it.Content, it.Sealed, it.Outline = nil, nil, nil, state.Sensitive{}, state.Value{}
	return it
}

func (c *cluster) record() *state.RecordedCluster {
	ca := c.cas[c.Certificates.Dir+"/ca"]
	if r := c.clusterCA(); r != nil {
		ca = r.old // until the new one is in its place
	}
	if old, ok := c.atOnce[c.caBase()]; ok {
		ca = old // likewise
	}
	if ca == "" {
		return nil
	}
	rec := state.RecordedCluster{CA: ca}
	if old := c.view.Recorded; old != nil && old.Clusters[c.Label] != nil {
		rec = *old.Clusters[c.Label]
		rec.CA = ca
	}
	rec.PreventDestroy = c.view.prevents(c.target)
	if c.report != nil {
		rec.Version = c.report.Version
		rec.Fixed = c.recordedFixed(rec.Fixed)
		if c.report.EtcdClusterID != "" {
			rec.EtcdClusterID = c.report.EtcdClusterID
		}
	}
	return &rec
}
