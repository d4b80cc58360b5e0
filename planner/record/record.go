package record

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drift"
	"github.com/kubewright/kubewright/planner/immutable"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Identify returns the record of a step's node from before its first change, so that a node whose
// block is removed later can still be reached and reset.
func Identify(v *topology.Fleet, s *planner.Step) state.Learned {
	c := v.ClusterOf(s.Target)
	if s.Phase == topology.ResetPhase && c != nil {
		return state.Learned{Clusters: resetting(c, s.Target)}
	}
	if s.Target.Type != state.TypeNode || c == nil || s.Phase == topology.DrainPhase {
		return state.Learned{}
	}
	n := c.Node(s.Target)
	if n == nil || n.Report == nil { // what only the API does needs no host
		return state.Learned{}
	}
	l := state.Learned{Nodes: map[state.Target]*state.RecordedNode{n.Target: nodeRecord(n)}}
	if s.ID.Phase == topology.RestorePhase && s.ID.Waypoint == maintenance.RestoreDone {
		l.Clusters = withoutEtcdID(c)
	}
	return l
}

// resetting returns the record of a cluster that is destroyed as a whole, from before the reset of one of
// its control planes: etcd may not answer from then on. Of another cluster or node it returns nil.
func resetting(c *topology.Cluster, t state.Target) map[string]*state.RecordedCluster {
	old := c.Fleet.Recorded
	if old == nil || old.Clusters[c.Label] == nil || old.Nodes[t] == nil || old.Nodes[t].Role != string(config.ControlPlane) || !c.Fleet.DepartureOf(t).Whole {
		return nil
	}
	rec := *old.Clusters[c.Label]
	rec.Resetting = true
	return map[string]*state.RecordedCluster{c.Label: &rec}
}

// withoutEtcdID returns the record of the cluster without the ID of its etcd, which was recreated:
// once the restore has ended nothing else shows that.
func withoutEtcdID(c *topology.Cluster) map[string]*state.RecordedCluster {
	if c.Fleet.Recorded == nil || c.Fleet.Recorded.Clusters[c.Label] == nil {
		return nil
	}
	rec := *c.Fleet.Recorded.Clusters[c.Label]
	rec.EtcdClusterID = ""
	return map[string]*state.RecordedCluster{c.Label: &rec}
}

func nodeRecord(n *topology.Node) *state.RecordedNode {
	return &state.RecordedNode{
		Adopted: pki.Adoption(n),
		HostKey: n.Report.HostKey, HopKeys: n.Report.HopKeys, Cluster: n.Node.Cluster, Role: string(n.Role), Name: n.NodeName, Address: n.AdvertiseAddress(),
		MachineID: n.Facts().MachineID, Connection: connection(n), Programs: n.Report.Programs,
		PreventDestroy: pipeline.RemembersProtection(n.Cluster.Fleet, n.Target),
	}
}

// connection returns how to connect to the host; the address is the default for the host.
func connection(n *topology.Node) state.Value {
	c := n.Connection
	if c.Host == "" {
		c.Host = n.Address
	}
	return c.ToValue()
}

// TakenApart returns what the state drops after a destroy: the clusters of the plan of which it
// records no nodes any more.
func TakenApart(p *planner.Plan, st *state.State) state.Learned {
	var l state.Learned
	for _, r := range p.Resources {
		if r.Target.Type == state.TypeCluster && r.Action == planner.Delete && !topology.HasRecordedNodes(st, r.Target.Name) {
			l.Left = append(l.Left, r.Target)
		}
	}
	return l
}

// Record returns what the state has to record after an observation: the desired items that are
// observed to be as desired, and the identities of clusters. It is the difference to the current
// record; zero if there is none. It does not record what a restricted plan has not done, nor items
// of a host that never joined: kubewright has not created them, so it must not remove them.
func Record(v *topology.Fleet, r topology.Result) state.Learned {
	var l state.Learned
	l.Gone = slices.Clone(r.Plan.Forgotten)
	l.Nodes, l.Left = remembered(v), deserted(v)
	l.Seen = drift.StepsSeenDone(v, r)
	settled := func(it *state.Item) bool { return !r.Open[it.Address] && r.Observed.Find(it.Address) != nil }
	for i := range r.Desired.Items {
		it := &r.Desired.Items[i]
		if it.Kind == state.KindMark && settled(it) && !v.RecordedNode(it.Address.Target) {
			l.Nodes = knownAgain(v, it.Address.Target, l.Nodes)
		}
	}
	for i := range r.Desired.Items {
		it := &r.Desired.Items[i]
		t := it.Address.Target
		if !settled(it) || t.Type == state.TypeNode && !v.RecordedNode(t) && l.Nodes[t] == nil {
			continue
		}
		was := v.RecordedItems.Find(it.Address)
		now := drift.AsRemembered(v, objects.Recordable(*it), was, r.Observed.Find(it.Address))
		if was == nil || !was.Attributes.Equal(now.Attributes) {
			l.Items = append(l.Items, now)
		}
	}
	for _, c := range v.Clusters {
		if rec := clusterRecord(c); rec != nil && (v.Recorded == nil || v.Recorded.Clusters[c.Label] == nil || !v.Recorded.Clusters[c.Label].Equal(*rec)) {
			if l.Clusters == nil {
				l.Clusters = map[string]*state.RecordedCluster{}
			}
			l.Clusters[c.Label] = rec
		}
	}
	return l
}

// deserted returns recorded clusters whose block is gone and whose last node has been removed.
func deserted(v *topology.Fleet) []state.Target {
	var out []state.Target
	for _, label := range pipeline.GoneClusters(v) {
		if !topology.HasRecordedNodes(v.Recorded, label) {
			out = append(out, state.ClusterTarget(label))
		}
	}
	return out
}

// knownAgain adds a node that the state does not record and whose host is marked as this state's:
// the host needs no change, but without the record the node would be left running when its block is
// removed later.
func knownAgain(v *topology.Fleet, t state.Target, nodes map[state.Target]*state.RecordedNode) map[state.Target]*state.RecordedNode {
	c := v.ClusterOf(t)
	if c == nil || c.Node(t) == nil || c.Node(t).Report == nil {
		return nodes
	}
	if nodes == nil {
		nodes = map[state.Target]*state.RecordedNode{}
	}
	nodes[t] = nodeRecord(c.Node(t))
	return nodes
}

// remembered returns the recorded nodes whose record changes: their hosts have other programs or
// another connection, or their protection has changed.
func remembered(v *topology.Fleet) map[state.Target]*state.RecordedNode {
	if v.Recorded == nil {
		return nil
	}
	out := map[state.Target]*state.RecordedNode{}
	for t, n := range v.Recorded.Nodes {
		changed := *n
		if r := v.Reports[t]; r != nil {
			changed.Programs = r.Programs
		}
		if host := v.Find(t); host != nil && joined(host, n) {
			changed.Address, changed.Connection = host.AdvertiseAddress(), connection(host)
			changed.HostKey, changed.HopKeys = host.Report.HostKey, host.Report.HopKeys
		}
		changed.PreventDestroy = pipeline.RemembersProtection(v, t)
		if !changed.Equal(*n) {
			out[t] = &changed
		}
	}
	return out
}

// joined reports whether the host at the node's connection is the one that joined as this node: the
// record is needed to reach it when its block is gone. A node that is replaced or rejoins is
// recorded with its first step.
func joined(n *topology.Node, was *state.RecordedNode) bool {
	return n.Report != nil && !topology.Blank(n.Report) && !topology.OtherMachine(was, n.Report) &&
		was.Cluster == n.Node.Cluster && !n.Cluster.Fleet.Replaces(n.Target) && topology.AnotherNodeReason(n.Node, was) == ""
}

func clusterRecord(c *topology.Cluster) *state.RecordedCluster {
	ca := c.Cas[c.Certificates.Dir+"/ca"]
	if r := c.ClusterCA(); r != nil {
		ca = r.Old // until the new one has replaced it
	}
	if old, ok := c.AtOnce[c.CABase()]; ok {
		ca = old // until the new one has replaced it
	}
	if ca == "" {
		return nil
	}
	rec := state.RecordedCluster{CA: ca}
	if old := c.Fleet.Recorded; old != nil && old.Clusters[c.Label] != nil {
		rec = *old.Clusters[c.Label]
		rec.CA = ca
	}
	if text := trusted(c); text != "" {
		rec.CACertificate = text
	}
	rec.PreventDestroy = pipeline.RemembersProtection(c.Fleet, c.Target)
	if c.Report != nil {
		rec.Version, rec.Resetting = c.Report.Version, false
		rec.Fixed = immutable.Recorded(c, rec.Fixed)
		if c.Report.EtcdClusterID != "" {
			rec.EtcdClusterID = c.Report.EtcdClusterID
		}
	}
	return &rec
}

// trusted returns the certificates of the cluster's CA as PEM, as the first control plane in the
// order of the configuration has them; empty if no control plane was observed with them.
func trusted(c *topology.Cluster) string {
	for _, n := range c.ControlPlanes() {
		if n.Report == nil {
			continue
		}
		if f := n.Report.Files[c.CAFile()]; len(f.Certificates) > 0 {
			return string(f.Content)
		}
	}
	return ""
}

// Servers returns the administrator's URL of each cluster's API, by label, as the last apply
// wrote it to the first of its control planes.
func Servers(recorded *state.State) map[string]string {
	out := map[string]string{}
	for _, it := range recorded.Items {
		n := recorded.Nodes[it.Address.Target]
		if n != nil && out[n.Cluster] == "" && it.Kind == state.KindKubeconfig && it.Address.ID() == topology.AdminConf {
			out[n.Cluster] = it.Attributes.Get("server").AsString()
		}
	}
	return out
}
