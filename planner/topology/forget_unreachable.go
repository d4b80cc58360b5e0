package topology

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Abandons reports whether a node without a block is removed from its cluster without its host: the
// user has declared the host gone, and it shows no signs of life. A missing answer alone is never
// enough.
func (v *Fleet) Abandons(t state.Target) bool {
	return v.ForgetRequested(t) && !v.Destroy && !v.Answers(t) && len(v.SignsOfLife(t)) == 0
}

// ForgetRequested reports whether a removed block or the flag declares the host of a recorded node
// without a block gone for good.
func (v *Fleet) ForgetRequested(t state.Target) bool {
	if !v.RecordedNode(t) || v.Configured(t) {
		return false
	}
	if slices.Contains(v.ForgetUnreachable, t) {
		return true
	}
	for _, r := range v.Config.Removals {
		if r.Unreachable && r.Covers(t) {
			return true
		}
	}
	return false
}

func (v *Fleet) Configured(t state.Target) bool {
	for _, n := range v.Config.Nodes {
		if n.Target == t {
			return true
		}
	}
	return false
}

// Answers reports whether the machine that joined was observed. Another, blank machine at its
// address does not count.
func (v *Fleet) Answers(t state.Target) bool {
	r, was := v.Reports[t], v.Recorded.Nodes[t]
	if r == nil {
		return false
	}
	return !OtherMachine(was, r) || !Blank(r)
}

// SignsOfLife returns signs that the host of a recorded node is not gone although it could not be
// observed: it refused the connection, as a running machine does, or its cluster receives reports
// from it. A machine at its address that does not authenticate as that host may be another one: the
// cluster shows that by a Node that no longer reports.
func (v *Fleet) SignsOfLife(t state.Target) []string {
	var out []string
	was, u := v.Recorded.Nodes[t], v.Unobserved[t]
	c := v.ClusterReports[was.Cluster]
	if c == nil {
		c = &state.ClusterReport{}
	}
	if u.Answered || u.Estranged && !c.Nodes[was.Name].Silent {
		out = append(out, "its host responds ("+u.Reason+")")
	}
	peer := ""
	if was.Role == string(config.ControlPlane) {
		peer = kubeadm.PeerURL(was.Address)
	}
	return append(out, planner.SignsOfLife(was.Name, c.Nodes, peer, c.Members)...)
}
