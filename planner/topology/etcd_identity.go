package topology

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// A first member that comes back without its data founds an etcd of its own, and the
// API server beside it serves that: an empty cluster. So each control plane is asked
// of which etcd its own member is, and one that is astray does not speak for the cluster.

// EtcdID returns the ID by which the etcd of a cluster goes: the recorded one and, where
// none is, the one that most of its control planes show. Empty when it cannot be told.
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

// ControlPlanesOf returns a cluster's control planes of the configuration, and those that only
// the state has.
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

// OtherEtcd reports whether the etcd on a control plane's own host is known to be another
// one than the cluster's. One that is being restored from a snapshot is the cluster's.
func (v *Fleet) OtherEtcd(label string, t state.Target) bool {
	e, seen := v.Etcds[t]
	its := v.EtcdID(label)
	if r := v.Reports[t]; !seen || its == "" || r != nil && RestoredFrom(r) != "" {
		return false
	}
	return e.ClusterID != its || v.alone(e, v.ControlPlanesOf(label))
}

// ForeignEtcds returns the control planes of a cluster whose own etcd is another one than the
// cluster's. As long as nobody shows the cluster's, nobody is known to be astray.
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

// alone tells of a member that knows nobody but itself, while another one has it among
// others. The ID does not tell these apart: etcd derives it of the members that found
// it, and so a first member that founds again gets the same.
func (v *Fleet) alone(e state.EtcdIdentity, planes []state.Target) bool {
	return len(e.PeerURLs) == 1 && slices.ContainsFunc(planes, func(t state.Target) bool {
		other := v.Etcds[t]
		return other.ClusterID == e.ClusterID && len(other.PeerURLs) > 1 && slices.Contains(other.PeerURLs, e.PeerURLs[0])
	})
}
