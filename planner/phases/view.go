package phases

import (
	"slices"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// View is everything that a phase may know: the configuration, what was seen
// on hosts and in clusters, and what is recorded. Phases do not change it.
type View struct {
	Config   *config.Config
	Recorded *state.State
	// Reports has the hosts that answered, Unobserved those that did not.
	Reports    map[state.Target]*state.Report
	Unobserved map[state.Target]state.Unobserved
	// Clusters has the clusters whose API answered, by label; ClusterErrors says why others did not.
	Clusters      map[string]*state.ClusterReport
	ClusterErrors map[string]string
	// Etcds is of which etcd the member on each control plane's own host says that it
	// is; of those that did not answer nothing is there.
	Etcds map[state.Target]state.EtcdIdentity
	// ExternalEtcds has the external etcds that were looked at, by the cluster's label.
	ExternalEtcds map[string]*ExternalEtcd
	// ObservedAt is when: certificates are due or not relative to it.
	ObservedAt time.Time
	// Destroy plans for nothing of the configuration to be left.
	Destroy bool
	// AllowUnreachable plans without workers, nodes that leave and, in a destroy,
	// any nodes whose hosts could not be looked at. Their steps are withheld.
	AllowUnreachable bool
	// AllowOlderState plans with a state that lacks runs which its hosts have seen.
	AllowOlderState bool
	// Replace are nodes that leave and join again on request; of those in
	// AcceptNewHost the host is meant to be another machine than before.
	Replace, AcceptNewHost []state.Target
	// RefreshOnly plans for nothing but that the state learns what drifted.
	RefreshOnly bool
	// ForgetUnreachable are nodes without a block whose hosts are gone for good.
	ForgetUnreachable []state.Target
	// Rotate are the CAs to replace by new ones.
	Rotate []Rotation
	// Moved are the renamings that Recorded has behind it and the state file not.
	Moved []state.Moved
	// Imported is what Recorded knows by import blocks and the state file does not yet.
	Imported state.Learned
	// Key keys the fingerprints of secrets. Without one nothing that was seen
	// equals a secret of the configuration.
	Key state.Key

	clusters []*cluster
	// replacements are the nodes that leave and join again; what was seen of
	// clusters with them is in original, and without them in Clusters.
	replacements map[state.Target]*replacement
	original     map[string]*state.ClusterReport
	// originalReports has the hosts of replaced nodes as they were seen.
	originalReports map[state.Target]*state.Report
	// refused are nodes and clusters, by address, that cannot be what the state has of
	// them, or are asked for what cannot be: their hosts count as not looked at, so that
	// what is wrong with others can still be told.
	refused map[string]bool
	// untrusted are the workers that are left out because of what their hosts report.
	untrusted map[state.Target]bool
	// recorded are the items of Recorded, but for those of nodes that are replaced or
	// come back.
	recorded *state.Snapshot
	memo     *memo
	// targeted tells that the plan is restricted to targets: what would only go
	// before them does not have to come along.
	targeted bool
	// skipped are the phases that the plan leaves out: what speaks of one, or waits
	// for it, is another step then.
	skipped []string
	// excluded are the steps that the plan leaves out, with what needs them.
	excluded []planner.Selector
	// writes are the operations of the plan that write to the host of each node.
	writes map[state.Target]planner.Operations
	// restores tells that an etcd is to be made anew of a snapshot, which makes it
	// another one.
	restores bool
	// pathsOnly leaves out what files hold: what to look at does not depend on it.
	pathsOnly bool
}

// cluster is a cluster of the configuration together with what is known of it.
type cluster struct {
	*config.Cluster
	view   *View
	target state.Target
	// shared is what the objects in the cluster are rendered of: the
	// configuration, with what is ignored as it is there.
	shared *config.Cluster
	// nodes has control planes first.
	nodes    []*node
	byTarget map[state.Target]*node
	// authorities are its CAs in kubeadm's order.
	authorities []authority
	// report is nil when the API did not answer. It is without the nodes that are
	// replaced; seen has them still.
	report, seen *state.ClusterReport
	// restoring tells that its etcd is made anew of a snapshot.
	restoring bool
	// stages are those of the rotations of its CAs.
	stages []*rotationStage
	situation
}

// node is a node of the configuration together with what is known of its host.
type node struct {
	*config.Node
	cluster *cluster
	target  state.Target
	// settings are the cluster's as this node has them: what is ignored is as it
	// is on its host.
	settings *config.Cluster
	// ignored are arguments of its static pods that are left to others; nil where none is.
	ignored *kubeadm.Kept
	// report is nil when the host did not answer.
	report *state.Report
	// name is the Kubernetes node name.
	name string
}

// resolve joins the configuration with what was observed. It is done once per plan.
func (v *View) resolve() {
	v.clusters, v.recorded, v.memo = nil, &state.Snapshot{}, newMemo()
	if v.Recorded != nil {
		back := v.returning()
		v.recorded.Items = slices.DeleteFunc(slices.Clone(v.Recorded.Items), func(i state.Item) bool {
			return v.replaces(i.Address.Target) || slices.Contains(back, i.Address.Target)
		})
		v.recorded.Sort()
	}
	for _, c := range v.Config.Clusters {
		cl := &cluster{
			Cluster: c, view: v, target: state.ClusterTarget(c.Label), report: v.Clusters[c.Label],
			byTarget: map[state.Target]*node{}, authorities: authoritiesOf(c), shared: c, seen: v.Clusters[c.Label],
		}
		if v.original != nil {
			cl.seen = v.original[c.Label]
		}
		for _, role := range []config.Role{config.ControlPlane, config.Worker} {
			for _, n := range v.Config.NodesOf(c.Label, role) {
				cl.nodes = append(cl.nodes, v.node(cl, n))
				cl.byTarget[n.Target] = cl.nodes[len(cl.nodes)-1]
			}
		}
		cl.ignore()
		v.clusters = append(v.clusters, cl)
	}
}

func (v *View) node(c *cluster, n *config.Node) *node {
	out := &node{Node: n, cluster: c, target: n.Target, settings: c.Cluster, report: v.report(n.Target), name: v.nameOf(n.Target, n.Name)}
	out.ignore()
	return out
}

// nameOf is the name of a node's Node object: the configured, the recorded, or the host's.
func (v *View) nameOf(t state.Target, configured string) string {
	switch r := v.report(t); {
	case configured != "":
		return configured
	case v.Recorded != nil && v.Recorded.Nodes[t] != nil && v.Recorded.Nodes[t].Name != "":
		return v.Recorded.Nodes[t].Name
	case r != nil:
		return r.Facts.Hostname
	}
	return ""
}

// refuse notes of which nodes and clusters errors speak.
func (v *View) refuse(diags diag.Diagnostics) {
	v.refused = map[string]bool{}
	for _, d := range diags.Errors() {
		v.refused[d.Address] = true
	}
}

// report is what was seen of a node's host; nil when it did not answer, or was refused.
func (v *View) report(t state.Target) *state.Report {
	if v.refused[t.String()] {
		return nil
	}
	return v.Reports[t]
}

// PeerURL is that of the etcd member on a node's host, as it is before the node is
// replaced; empty when the node is not known.
func (v *View) PeerURL(t state.Target) string {
	if c := v.clusterOf(t); c != nil && c.node(t) != nil && !v.replaces(t) {
		return c.node(t).peerURL()
	}
	if v.recordedNode(t) {
		return kubeadm.PeerURL(v.Recorded.Nodes[t].Address)
	}
	return ""
}

// CA is the key digest of the CA that a node's host was seen to hold; empty
// when it holds none or was not seen.
func (v *View) CA(t state.Target) string {
	if cas := v.CAs(t); len(cas) > 0 {
		return cas[0]
	}
	return ""
}

// CAs are the key digests of the CAs in the file of a node's CA: several while it
// is rotated. Hosts of one cluster have one in common.
func (v *View) CAs(t state.Target) []string {
	return casIn(v.Reports[t], v.caBase(t)+".crt")
}

// GoesBy are the identities by which a node's cluster goes, as its host shows them:
// also those of CAs whose place the one that it holds takes, or has taken.
func (v *View) GoesBy(t state.Target) []string { return goesBy(v.Reports[t], v.caBase(t)) }

// caBase is the path of a node's CA without .crt and .key.
func (v *View) caBase(t state.Target) string {
	for _, n := range v.Config.Nodes {
		if c := v.Config.Cluster(n.Cluster); n.Target == t && c != nil {
			return c.Certificates.Dir + "/ca"
		}
	}
	return kubeadmPKI + "/ca"
}

// SameCluster tells that two nodes were seen to hold a CA that is the same, and are
// not known to be on different etcds.
func (v *View) SameCluster(a, b state.Target) bool {
	cas := v.CAs(b)
	return v.astray(a) == v.astray(b) && slices.ContainsFunc(v.CAs(a), func(ca string) bool { return slices.Contains(cas, ca) })
}

// astray tells that the node's own etcd is not its cluster's.
func (v *View) astray(t state.Target) bool {
	for _, n := range v.Config.Nodes {
		if n.Target == t {
			return slices.Contains(v.StrayEtcds(n.Cluster), t)
		}
	}
	return v.recordedNode(t) && slices.Contains(v.StrayEtcds(v.Recorded.Nodes[t].Cluster), t)
}

// Seat is the control plane through which a cluster is spoken to; zero when
// there is none. It is known once a plan was made.
func (v *View) Seat(label string) state.Target {
	for _, c := range v.clusters {
		if c.Label == label {
			return c.seat
		}
	}
	return state.Target{}
}

// controlPlanes are the cluster's control planes in order.
func (c *cluster) controlPlanes() []*node {
	var out []*node
	for _, n := range c.nodes {
		if n.Role != config.ControlPlane {
			break
		}
		out = append(out, n)
	}
	return out
}

// node is nil when the target is no node of the cluster.
func (c *cluster) node(t state.Target) *node { return c.byTarget[t] }

// seatNode is the control plane through which the cluster is spoken to, or nil.
func (c *cluster) seatNode() *node { return c.node(c.seat) }

func (n *node) isControlPlane() bool { return n.Role == config.ControlPlane }

// isFounder tells that the cluster is being founded on this node.
func (n *node) isFounder() bool { return n.cluster.founding && n.target == n.cluster.seat }

func (n *node) facts() *state.Facts {
	if n.report == nil {
		return &state.Facts{}
	}
	return &n.report.Facts
}

// input is the node as the renderer takes it.
func (n *node) input() kubeadm.Input {
	in := kubeadm.Input{
		Cluster: n.settings, Node: n.Node, NodeName: n.name, Facts: n.facts(), RunningKubelet: n.runningKubelet(),
		ExternalCA: n.cluster.externalCA(), SigningCert: n.signing().certificate, SigningKey: n.signing().key,
		Kept: n.ignored,
	}
	// Without an endpoint the first control plane stands for the cluster.
	if seat := n.cluster.seatNode(); seat != nil {
		in.SharedAddress = seat.AdvertiseAddress()
	} else if planes := n.cluster.controlPlanes(); len(planes) > 0 {
		in.SharedAddress = planes[0].AdvertiseAddress()
	}
	return in
}

// criSocket is the runtime's endpoint: configured, found, or containerd's.
func (n *node) criSocket() string {
	switch {
	case n.CRISocket != "":
		return n.CRISocket
	case n.facts().CRISocket != "":
		return n.facts().CRISocket
	}
	return "unix:///var/run/containerd/containerd.sock"
}

// step is the address of the phase's step on the target.
func step(t state.Target, phase string) state.Address {
	return state.Address{Target: t, Phase: phase}
}

// item is the address of an item of the phase.
func item(t state.Target, phase, class, id string) state.Address {
	return state.Address{Target: t, Phase: phase, Item: class + ":" + id}
}
