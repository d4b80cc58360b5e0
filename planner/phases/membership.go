package phases

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// lostMembers refuses a control plane that etcd counts as a member which has
// run, on a host that holds no data of it: a reinstalled host, or another one
// at its address. A member that comes back without what it has promised to
// remember can make the others lose acknowledged writes, so it has to be
// removed before the host joins anew (etcd: runtime reconfiguration).
func (c *cluster) lostMembers() diag.Diagnostics {
	var diags diag.Diagnostics
	if c.report == nil || c.Etcd.External != nil {
		return nil
	}
	for _, n := range c.controlPlanes() {
		if n.report == nil || n.report.Files[n.etcdData()].Exists {
			continue
		}
		i := slices.IndexFunc(c.report.Members, func(m state.EtcdMember) bool {
			return m.Name != "" && slices.Contains(m.PeerURLs, n.peerURL())
		})
		if i < 0 {
			continue
		}
		m := c.report.Members[i]
		diags = append(diags, diag.Errorf("Etcd member has lost its data",
			"Etcd counts %s (%s) as member %s, but the host holds no data of it: it was reinstalled, or another host has its address. "+
				"Nothing is changed: a member that comes back without its data can make the cluster lose writes. "+
				"While the others hold quorum, have the node taken out and joined anew:\n\n  kubewright apply -%s='%s'",
			n.target, n.Address, m.Name, ReplaceFlag, n.target).At(n.Source).For(n.target))
	}
	return diags
}

// removedMembers refuses a control plane that holds the data of a member which
// etcd does not count any more: its removal was cut short, or made by hand. With
// such data etcd does not start again (etcd: runtime reconfiguration).
func (c *cluster) removedMembers() diag.Diagnostics {
	var diags diag.Diagnostics
	if c.report == nil || len(c.report.Members) == 0 || c.Etcd.External != nil {
		return nil
	}
	for _, n := range c.controlPlanes() {
		if !n.unlisted() {
			continue
		}
		if was := c.etcdOfBefore(); was != "" {
			diags = append(diags, n.refuseFoundedAnew(was))
			continue
		}
		diags = append(diags, diag.Errorf("Etcd does not count this member", "%s (%s) holds the data of an etcd member, and etcd does not list it: it was taken out, and its host was not reset. "+
			"Nothing is changed: with this data it cannot join again. Have the node taken out as a whole and joined anew:\n\n  -%s='%s'",
			n.target, n.Address, ReplaceFlag, n.target).At(n.Source).For(n.target))
	}
	return diags
}

// unlisted tells that the host of a known node holds the data of a member that the
// etcd which answers does not count.
func (n *node) unlisted() bool {
	c := n.cluster
	if len(c.report.Members) == 0 || n.report == nil || !n.report.Files[n.etcdData()].Exists || !c.view.recordedNode(n.target) {
		return false
	}
	return !slices.ContainsFunc(c.report.Members, func(m state.EtcdMember) bool { return slices.Contains(m.PeerURLs, n.peerURL()) })
}

// etcdOfBefore is the ID of the etcd that the state knows, when another one
// answers: a first member founds one by itself that comes back without its data.
func (c *cluster) etcdOfBefore() string {
	if c.view.Recorded == nil || c.view.Recorded.Clusters[c.Label] == nil {
		return ""
	}
	was := c.view.Recorded.Clusters[c.Label].EtcdClusterID
	if was == c.report.EtcdClusterID || c.report.EtcdClusterID == "" {
		return ""
	}
	return was
}

// refuseFoundedAnew speaks of a host that holds what the cluster knew, while an
// etcd answers that has nothing of it: that data may be the last of its kind.
func (n *node) refuseFoundedAnew(was string) *diag.Diagnostic {
	return diag.Errorf("Etcd was founded anew", "The etcd that answers is %s, and that of the state %s, of which %s (%s) holds data still: a member that came back without its data has founded one of its own, "+
		"which has nothing of the cluster in it. Nothing is changed on any host. Keep that data, and make etcd anew of a snapshot:\n\n  kubewright etcd restore FILE\n\n"+
		"Only if etcd was made anew by hand and on purpose is that data not needed; the node is taken out and joined again with -%s='%s'.",
		n.cluster.report.EtcdClusterID, was, n.target, n.Address, ReplaceFlag, n.target).At(n.Source).For(n.target)
}
