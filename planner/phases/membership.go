package phases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// lostMembers refuses a control plane that etcd counts as a member which has
// run, on a host that holds no data of it: a reinstalled host, or another one
// at its address. A member that comes back without what it has promised to
// remember can make the others lose acknowledged writes, so it has to be
// removed before the host joins anew (etcd: runtime reconfiguration).
func (c *cluster) lostMembers() diag.Diagnostics {
	if c.Etcd.External != nil || c.founding || c.inRestore() || c.seat.IsZero() && !c.tellsMembers() {
		return nil // where there is no seat, the cluster as a whole is spoken of
	}
	var lost []*node
	for _, n := range c.controlPlanes() {
		if n.report != nil && !n.report.Files[n.etcdData()].Exists && n.counted() != "" {
			lost = append(lost, n)
		}
	}
	var diags diag.Diagnostics
	for _, n := range lost {
		diags = append(diags, diag.Errorf("Etcd member has lost its data",
			"Etcd counts %s (%s) as member %s, but the host holds no data of it: it was reinstalled, or another host has its address. "+
				"Nothing is changed: a member that comes back without its data can make the cluster lose writes. %s",
			n.target, n.Address, n.counted(), n.backFromLoss(len(lost))).At(n.Source).For(n.target))
	}
	return diags
}

// counted is the name by which etcd counts the node as a member that has run and,
// where etcd does not say who its members are, by which the state has it as one;
// empty when it is none.
func (n *node) counted() string {
	c := n.cluster
	if !c.tellsMembers() {
		if c.view.recorded.Find(item(n.target, etcdPhase, "member", n.peerURL())) == nil {
			return ""
		}
		return n.name
	}
	for _, m := range c.report.Members {
		if slices.Contains(m.PeerURLs, n.peerURL()) {
			return m.Name
		}
	}
	return ""
}

// tellsMembers tells that etcd answers.
func (c *cluster) tellsMembers() bool { return c.report != nil && len(c.report.Members) > 0 }

// backFromLoss says how a member comes back that has lost its data, as one of several.
func (n *node) backFromLoss(lost int) string {
	c := n.cluster
	restore := "make etcd anew of a snapshot. One of a member that has its data still is taken without a quorum, unless the member was started again since:\n\n  kubewright etcd snapshot\n  kubewright etcd restore FILE"
	again := "have the node taken out and joined anew:\n\n  kubewright apply " + AsFlags(n.target, ReplaceFlag)
	switch all := len(c.controlPlanes()); {
	case c.tellsMembers():
		return "While the others hold quorum, " + again
	case all-lost < all/2+1:
		return fmt.Sprintf("Of %s too many are lost for a quorum: %s", members(all), restore)
	}
	return "No quorum answers now. Bring the other members back first, and then " + again + "\n\nIf their data is lost as well, " + restore
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
			"Nothing is changed: with this data it cannot join again. %s",
			n.target, n.Address, n.joinsAnew()).At(n.Source).For(n.target))
	}
	return diags
}

// movedMembers refuses to let a control plane leave that etcd does not count at its
// address, and at another one by its name: nobody would be taken out, and the host be
// reset all the same, so that etcd went on counting on a member which is lost.
func (c *cluster) movedMembers() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, l := range c.parting() {
		if c.lists(l.peerURL()) {
			continue
		}
		for _, m := range c.seen.Members {
			if m.Name != l.Name || c.known(m) {
				continue
			}
			diags.Append(diag.Errorf("Etcd has the member at another address", "%s (%s) is to leave, and etcd has no member at %s, but one of that name at %s. Nothing is changed: it would stay a member whose host was reset. "+
				"If it is this one, give it back the address by which the state knows it, and plan again:\n\n  etcdctl member update %s --peer-urls=%s\n\nIf it is another one, give it another name.",
				l.target, l.Address, l.peerURL(), strings.Join(m.PeerURLs, ", "), m.ID, l.peerURL()).At(c.Source).For(l.target))
		}
	}
	return diags
}

// known tells that a member of etcd is that of a node of the configuration, or of one
// that leaves.
func (c *cluster) known(m state.EtcdMember) bool {
	return slices.ContainsFunc(c.controlPlanes(), func(n *node) bool { return slices.Contains(m.PeerURLs, n.peerURL()) }) ||
		slices.ContainsFunc(c.parting(), func(l leaver) bool { return slices.Contains(m.PeerURLs, l.peerURL()) })
}

// joinsAnew says how a node with old data joins. One that the state has forgotten
// cannot be taken out by it any more.
func (n *node) joinsAnew() string {
	if n.cluster.view.recordedNode(n.target) {
		return "Have the node taken out as a whole and joined anew:\n\n  kubewright apply " + AsFlags(n.target, ReplaceFlag)
	}
	return "The state does not know the node any more. Clean the host (kubeadm reset there), and plan again: it joins as a new one. " +
		"Where an apply has begun to join it, take it out and join it anew with -" + ReplaceFlag + "."
}

// unlisted tells that the host of a node of ours holds the data of a member that the
// etcd which answers does not count.
func (n *node) unlisted() bool {
	c := n.cluster
	if len(c.report.Members) == 0 || n.report == nil || !n.report.Files[n.etcdData()].Exists || !c.view.recordedNode(n.target) && n.report.Marks == nil {
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
	var founders []string
	for t, e := range n.cluster.view.Etcds {
		if e.ClusterID == n.cluster.report.EtcdClusterID {
			founders = append(founders, " of "+t.String())
		}
	}
	return diag.Errorf(foundedAnew, "The etcd that answers%s is %s, and that of the state %s, of which %s (%s) holds data still: a member that came back without its data has founded one of its own, "+
		"which has nothing of the cluster in it. Nothing is changed on any host. Keep that data. If etcd is only down where it is, bring it back, and plan again. If a quorum of it is lost for good, make etcd anew of a snapshot:\n\n  kubewright etcd restore FILE\n\n"+
		"Only if etcd was made anew by hand and on purpose is that data not needed; the node is taken out and joined again with %s.",
		strings.Join(sorted(founders), ","), n.cluster.report.EtcdClusterID, was, n.target, n.Address, AsFlags(n.target, ReplaceFlag)).At(n.Source).For(n.target)
}
