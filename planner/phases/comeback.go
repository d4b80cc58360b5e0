package phases

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// returning are the control planes that the state knows, and that have left since: the
// state was put back from before. Their hosts were given back, and neither the API nor
// etcd knows them. They join as ones that were never there, and what is remembered of
// them is no drift.
func (v *View) returning() []state.Target {
	if v.Destroy || v.RefreshOnly {
		return nil
	}
	var out []state.Target
	for _, n := range v.Config.Nodes {
		if n.Role == config.ControlPlane && v.recordedNode(n.Target) && !v.replaces(n.Target) && v.hasLeft(v.Recorded.Nodes[n.Target], v.Reports[n.Target]) {
			out = append(out, n.Target)
		}
	}
	return out
}

// hasLeft tells that a control plane was seen to be out of its cluster. Where the API
// or etcd does not say so, it is not known.
func (v *View) hasLeft(was *state.RecordedNode, r *state.Report) bool {
	c, cfg := v.Clusters[was.Cluster], v.Config.Cluster(was.Cluster)
	if r == nil || c == nil || cfg == nil || !blank(r) || r.Units[kubeletUnit].Active == "active" {
		return false
	}
	if _, registered := c.Nodes[was.Name]; registered {
		return false
	}
	url := kubeadm.PeerURL(was.Address)
	return cfg.Etcd.External != nil || len(c.Members) > 0 &&
		!slices.ContainsFunc(c.Members, func(m state.EtcdMember) bool { return slices.Contains(m.PeerURLs, url) })
}
