package topology

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// A first member that returns without its data bootstraps a new etcd, and its API server serves
// that: an empty cluster. So each control plane is queried for the etcd of its own member, and one
// with another etcd does not represent the cluster.

// EtcdID returns the ID of a cluster's etcd: the recorded one or, without a record, the one that
// most of its control planes report. Empty if it is unknown.
func (v *Fleet) EtcdID(label string) string {
	if rec := v.Recorded; rec != nil && rec.Clusters[label] != nil && rec.Clusters[label].EtcdClusterID != "" {
		return rec.Clusters[label].EtcdClusterID
	}
	shown := map[string]int{}
	for _, t := range v.ControlPlanesOf(label) {
		if e, ok := v.Etcds[t]; ok {
			shown[e.ClusterID]++
		}
	}
	its, most := "", 0
	for id, n := range shown {
		switch {
		case n > most:
			its, most = id, n
		case n == most:
			its = ""
		}
	}
	return its
}

// ControlPlanesOf returns a cluster's control planes in the configuration, and those only in the
// state.
func (v *Fleet) ControlPlanesOf(label string) []state.Target {
	var out []state.Target
	for _, n := range v.Config.NodesOf(label, config.ControlPlane) {
		out = append(out, n.Target)
	}
	if v.Recorded == nil {
		return out
	}
	for t, n := range v.Recorded.Nodes {
		if n.Cluster == label && n.Role == string(config.ControlPlane) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, CompareTargets)
	return out
}

// OtherEtcd reports whether the etcd on a control plane's host is known not to be the cluster's. An
// etcd that is being restored from a snapshot is the cluster's.
func (v *Fleet) OtherEtcd(label string, t state.Target) bool {
	e, seen := v.Etcds[t]
	its := v.EtcdID(label)
	if r := v.Reports[t]; !seen || its == "" || r != nil && RestoredFrom(r) != "" {
		return false
	}
	return e.ClusterID != its || v.alone(e, v.ControlPlanesOf(label))
}

// ForeignEtcds returns the control planes of a cluster whose own etcd is not the cluster's. While
// no control plane reports the cluster's etcd, none is known to be foreign.
func (v *Fleet) ForeignEtcds(label string) []state.Target {
	var out []state.Target
	known := false
	for _, t := range v.ControlPlanesOf(label) {
		_, seen := v.Etcds[t]
		switch {
		case v.OtherEtcd(label, t):
			out = append(out, t)
		case seen:
			known = true
		}
	}
	if !known {
		return nil
	}
	return out
}

// alone reports whether a member lists only itself, while another one lists it among others. The ID
// does not distinguish them: etcd derives it from the founding members, so a first member that
// bootstraps again gets the same ID.
func (v *Fleet) alone(e state.EtcdIdentity, planes []state.Target) bool {
	return len(e.PeerURLs) == 1 && slices.ContainsFunc(planes, func(t state.Target) bool {
		other := v.Etcds[t]
		return other.ClusterID == e.ClusterID && len(other.PeerURLs) > 1 && slices.Contains(other.PeerURLs, e.PeerURLs[0])
	})
}
