package topology

import (
	"slices"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Fleet is everything that a phase may know: the configuration, what was seen
// on hosts and in clusters, and what is recorded. Phases do not change it.
type Fleet struct {
	Config   *config.Config
	Recorded *state.State
	// Reports has the hosts that answered, Unobserved those that did not.
	Reports    map[state.Target]*state.Report
	Unobserved map[state.Target]state.Unobserved
	// ClusterReports has the clusters whose API answered, by label; ClusterErrors says why others did not.
	ClusterReports map[string]*state.ClusterReport
	ClusterErrors  map[string]string
	// Etcds is of which etcd the member on each control plane's own host says that it
	// is; of those that did not answer nothing is there.
	Etcds map[state.Target]state.EtcdIdentity
	// ExternalEtcds has the external etcds that were observed, by the cluster's label.
	ExternalEtcds map[string]*ExternalEtcd
	// ObservedAt is when: certificates are due or not relative to it.
	ObservedAt time.Time
	// Destroy plans for nothing of the configuration to be left.
	Destroy bool
	// AllowUnreachable plans without workers, nodes that leave and, in a destroy,
	// any nodes whose hosts could not be observed. Their steps are withheld.
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

	Clusters []*Cluster
	// Replacements are the nodes that leave and join again; what was seen of
	// clusters with them is in original, and without them in Clusters.
	Replacements map[state.Target]*Replacement
	Original     map[string]*state.ClusterReport
	// OriginalReports has the hosts of replaced nodes as they were seen.
	OriginalReports map[state.Target]*state.Report
	// Refused are nodes and clusters, by address, that cannot be what the state has of
	// them, or are asked for what cannot be: their hosts count as not observed, so that
	// what is wrong with others can still be told.
	Refused map[string]bool
	// Untrusted are the workers that are left out because of what their hosts report.
	Untrusted map[state.Target]bool
	// RecordedItems are the items of Recorded, but for those of nodes that are replaced or
	// come back.
	RecordedItems *state.Snapshot
	Cache         *cache
	// Targeted reports whether the plan is restricted to targets: what would only go
	// before them does not have to come along.
	Targeted bool
	// Skipped are the phases that the plan leaves out: what refers to one, or waits
	// for it, is another step then.
	Skipped []string
	// Excluded are the steps that the plan leaves out, with what needs them.
	Excluded []planner.Selector
	// Writes are the operations of the plan that write to the host of each node.
	Writes map[state.Target]planner.Operations
	// Restores reports whether an etcd is to be restored from a snapshot, which makes it
	// another one.
	Restores bool
	// PathsOnly leaves out what files hold: what to look at does not depend on it.
	PathsOnly bool
}

// NameOf returns the name of a node's Node object: the configured, the recorded, or the host's.
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

// Report returns what was seen of a node's host; nil when it did not answer, or was refused.
func (v *Fleet) Report(t state.Target) *state.Report {
	if v.Refused[t.String()] {
		return nil
	}
	return v.Reports[t]
}

// PeerURL returns the peer URL of the etcd member on a node's host, as it is before the node is
// replaced; empty when the node is not known.
func (v *Fleet) PeerURL(t state.Target) string {
	if c := v.ClusterOf(t); c != nil && c.Node(t) != nil && !v.Replaces(t) {
		return c.Node(t).PeerURL()
	}
	if v.RecordedNode(t) {
		return kubeadm.PeerURL(v.Recorded.Nodes[t].Address)
	}
	return ""
}

// CA returns the key digest of the CA that a node's host was seen to hold; empty
// when it holds none or was not seen.
func (v *Fleet) CA(t state.Target) string {
	if cas := v.CAs(t); len(cas) > 0 {
		return cas[0]
	}
	return ""
}

// CAs returns the key digests of the CAs in the file of a node's CA: several while it
// is rotated. Hosts of one cluster have one in common.
func (v *Fleet) CAs(t state.Target) []string {
	return CADigestsIn(v.Reports[t], v.caBase(t)+".crt")
}

// ClusterIdentities returns the identities by which a node's cluster goes, as its host shows them:
// also those of CAs whose place the one that it holds takes, or has taken.
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

// SameCluster reports whether two nodes were seen to hold a CA that is the same, and are
// not known to be on different etcds.
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

// Primary returns the control plane through which a cluster is spoken to; zero when
// there is none. It is known once a plan was made.
func (v *Fleet) Primary(label string) state.Target {
	for _, c := range v.Clusters {
		if c.Label == label {
			return c.Primary
		}
	}
	return state.Target{}
}

// ExternalEtcd is what was seen of an external etcd on which a cluster is to be
// founded.
type ExternalEtcd struct {
	state.ExternalEtcdReport
	// Err says why not all of it could be observed; nil when all was.
	Err error
	// Blind reports whether hosts do not let a connection through: nothing is known then.
	Blind bool
}

// Returning returns the control planes that the state knows, and that have left since: the
// state was put back from before. Their hosts were given back, and neither the API nor
// etcd knows them. They join as ones that were never there, and what is remembered of
// them is no drift.
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

// hasLeft reports whether a control plane was seen to be out of its cluster. Where the API
// or etcd does not say so, it is not known.
func (v *Fleet) hasLeft(was *state.RecordedNode, r *state.Report) bool {
	c, cfg := v.ClusterReports[was.Cluster], v.Config.Cluster(was.Cluster)
	if r == nil || c == nil || cfg == nil || !Blank(r) || r.Units[KubeletUnit].Active == "active" {
		return false
	}
	if _, registered := c.Nodes[was.Name]; registered {
		return false
	}
	url := kubeadm.PeerURL(was.Address)
	return cfg.Etcd.External != nil || len(c.Members) > 0 &&
		!slices.ContainsFunc(c.Members, func(m state.EtcdMember) bool { return slices.Contains(m.PeerURLs, url) })
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

// AllowUnreachableFlag is the flag with which a plan goes on without hosts that
// could not be observed.
const AllowUnreachableFlag = "allow-unreachable"

// Find returns the configured node of a target, or nil.
func (v *Fleet) Find(t state.Target) *Node {
	for _, c := range v.Clusters {
		if n := c.Node(t); n != nil {
			return n
		}
	}
	return nil
}
