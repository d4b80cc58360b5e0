package topology

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/state"
)

// Fleet is everything that a phase may use: the configuration, the observation of hosts and
// clusters, and the state. It is complete when it is made: what differs from it, a what-if as well as
// what a plan finds out, is another fleet that a method With… returns.
type Fleet struct {
	Config   *config.Config
	Recorded *state.State
	// Reports has the hosts that answered, Unobserved those that did not. Both are nil before hosts
	// are observed.
	Reports    map[state.Target]*state.Report
	Unobserved map[state.Target]state.Unobserved
	// ClusterReports has the clusters whose API answered, by label; ClusterErrors says why others
	// did not.
	ClusterReports map[string]*state.ClusterReport
	ClusterErrors  map[string]string
	// Etcds has the etcd that the member on each control plane's own host reports; members that did
	// not answer are missing.
	Etcds map[state.Target]state.EtcdIdentity
	// EtcdAlone has the etcds that answered although the API of their cluster did not, by the
	// cluster's label. No plan rests on them, but a destroy saves what they hold.
	EtcdAlone map[string]EtcdAlone
	// ExternalEtcds has the external etcds that were observed, by the cluster's label.
	ExternalEtcds map[string]*ExternalEtcd
	// Imported is what Recorded has from import blocks and the state file does not have yet.
	Imported state.Learned
	Request

	Clusters []*Cluster
	// Replacements are the nodes that are removed and join again; Original has the reports of
	// clusters with them, Clusters those without.
	Replacements map[state.Target]*Replacement
	Original     map[string]*state.ClusterReport
	// OriginalReports has the reports of the hosts of replaced nodes.
	OriginalReports map[state.Target]*state.Report
	// Refused are nodes and clusters, by address, that do not match the state, or are requested to
	// do something impossible: their hosts count as unobserved, so that findings about others can
	// still be reported.
	Refused map[string]bool
	// Untrusted are the workers that are left out because of what their hosts report.
	Untrusted map[state.Target]bool
	// RecordedItems are the items of Recorded, except those of nodes that are replaced or return.
	RecordedItems *state.Snapshot
	Cache         *cache
	// Targeted reports whether the plan is restricted to targets: steps that would only precede
	// them are not needed.
	Targeted bool
	// Skipped are the phases that the plan skips: a step that refers to one of them, or waits for
	// it, differs then.
	Skipped []string
	// Excluded are the steps that the plan leaves out, together with the steps that need them.
	Excluded []planner.Selector
	// Writes are the operations of the plan that write to each node's host.
	Writes map[state.Target]planner.Operations
	// Restores reports whether an etcd is being restored from a snapshot, which changes its
	// identity.
	Restores bool
}

// NameOf returns the name of a node's Node object: the configured, the recorded, or the host's
// name.
func (v *Fleet) NameOf(t state.Target, configured string) string {
	switch r := v.Report(t); {
	case configured != "":
		return configured
	case v.Recorded != nil && v.Recorded.Nodes[t] != nil && v.Recorded.Nodes[t].Name != "":
		return v.Recorded.Nodes[t].Name
	case r != nil:
		return r.Facts.Hostname
	}
	return ""
}

// Observed reports whether hosts were observed, of which any number answered. Before that the paths
// of files are known, which is all that queries need; their content depends on the hosts.
func Observed(v *Fleet) bool { return v.Reports != nil }

// Report returns the report of a node's host; nil if it did not answer, or was refused.
func (v *Fleet) Report(t state.Target) *state.Report {
	if v.Refused[t.String()] {
		return nil
	}
	return v.Reports[t]
}

// PeerURL returns the peer URL of the etcd member on a node's host before the node is replaced;
// empty for an unknown node.
func (v *Fleet) PeerURL(t state.Target) string {
	if c := v.ClusterOf(t); c != nil && c.Node(t) != nil && !v.Replaces(t) {
		return c.Node(t).PeerURL()
	}
	if v.RecordedNode(t) {
		return kubeadm.PeerURL(v.Recorded.Nodes[t].Address)
	}
	return ""
}

// CA returns the key digest of the CA on a node's host; empty if it has none or was not observed.
func (v *Fleet) CA(t state.Target) string {
	if cas := v.CAs(t); len(cas) > 0 {
		return cas[0]
	}
	return ""
}

// CAs returns the key digests of the CAs in a node's CA file: several during a rotation. Hosts of
// one cluster have one in common.
func (v *Fleet) CAs(t state.Target) []string {
	return CADigestsIn(v.Reports[t], v.caBase(t)+".crt")
}

// ClusterIdentities returns the identities of a node's cluster, as observed on its host, including
// those of CAs that its CA replaces or has replaced.
func (v *Fleet) ClusterIdentities(t state.Target) []string {
	return ClusterIdentities(v.Reports[t], v.caBase(t))
}

// caBase returns the path of a node's CA without .crt and .key.
func (v *Fleet) caBase(t state.Target) string {
	for _, n := range v.Config.Nodes {
		if c := v.Config.Cluster(n.Cluster); n.Target == t && c != nil {
			return c.Certificates.Dir + "/ca"
		}
	}
	return KubeadmPKI + "/ca"
}

// SameCluster reports whether two nodes have a CA in common, and are not known to have different
// etcds.
func (v *Fleet) SameCluster(a, b state.Target) bool {
	cas := v.CAs(b)
	return v.astray(a) == v.astray(b) && slices.ContainsFunc(v.CAs(a), func(ca string) bool { return slices.Contains(cas, ca) })
}

// astray reports whether the node's own etcd is not its cluster's.
func (v *Fleet) astray(t state.Target) bool {
	for _, n := range v.Config.Nodes {
		if n.Target == t {
			return slices.Contains(v.ForeignEtcds(n.Cluster), t)
		}
	}
	return v.RecordedNode(t) && slices.Contains(v.ForeignEtcds(v.Recorded.Nodes[t].Cluster), t)
}

// Primary returns the control plane through which a cluster's API and etcd are reached; zero if
// there is none. It is known once a plan was made.
func (v *Fleet) Primary(label string) state.Target {
	for _, c := range v.Clusters {
		if c.Label == label {
			return c.Primary
		}
	}
	return state.Target{}
}

// ExternalEtcd is the observation of an external etcd on which a cluster is to be bootstrapped.
type ExternalEtcd struct {
	state.ExternalEtcdReport
	// Err says why not everything could be observed; nil if it was.
	Err error
	// Blind reports whether the hosts do not permit a connection: nothing is known then.
	Blind bool
}

// EtcdAlone is what an etcd shows without the API of its cluster.
type EtcdAlone struct {
	Members []state.EtcdMember
	// ClusterID is hex.
	ClusterID string
}

// Returning returns the recorded control planes that have been removed since: an older state was
// restored. Their hosts were reset, and neither the API nor etcd lists them. They join as new
// nodes, and their recorded items are no drift.
func (v *Fleet) Returning() []state.Target {
	if v.Destroy || v.RefreshOnly {
		return nil
	}
	var out []state.Target
	for _, n := range v.Config.Nodes {
		if n.Role == config.ControlPlane && v.RecordedNode(n.Target) && !v.Replaces(n.Target) && v.hasLeft(v.Recorded.Nodes[n.Target], v.Reports[n.Target]) {
			out = append(out, n.Target)
		}
	}
	return out
}

// hasLeft reports whether a control plane was observed not to be in its cluster. Without a report
// of the API or etcd that is unknown.
func (v *Fleet) hasLeft(was *state.RecordedNode, r *state.Report) bool {
	c, cfg := v.ClusterReports[was.Cluster], v.Config.Cluster(was.Cluster)
	if r == nil || c == nil || cfg == nil || !Blank(r) || r.Units[KubeletUnit].Active == "active" {
		return false
	}
	return c.NodeCondition(was.Name) == state.NodeMissing &&
		(cfg.Etcd.External != nil || quorum.ConditionOf(c.Members, kubeadm.PeerURL(was.Address)) == quorum.Unlisted)
}

func (v *Fleet) ClusterOf(t state.Target) *Cluster {
	for _, c := range v.Clusters {
		if t.Type != state.TypeNode && t.Name == c.Label {
			return c
		}
		if t.Type == state.TypeNode && c.Node(t) != nil {
			return c
		}
	}
	return nil
}

// Find returns the configured node of a target, or nil.
func (v *Fleet) Find(t state.Target) *Node {
	for _, c := range v.Clusters {
		if n := c.Node(t); n != nil {
			return n
		}
	}
	return nil
}
