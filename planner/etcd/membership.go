package etcd

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner/availability"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// LostMembers refuses a control plane that etcd lists as a started member, on a host that has no
// data of it: a reinstalled host, or another one at its address. A member that returns without its
// data can make the others lose acknowledged writes, so it has to be removed before the host
// rejoins (etcd: runtime reconfiguration).
func LostMembers(c *topology.Cluster) diag.Diagnostics {
	if c.Etcd.External != nil || c.Founding || InRestore(c) || c.Primary.IsZero() && !staticpod.MembersKnown(c) {
		return nil // without a primary, another check covers the whole cluster
	}
	var lost []*topology.Node
	for _, n := range c.ControlPlanes() {
		if n.Report != nil && !n.Report.Files[n.EtcdData()].Exists && staticpod.MemberName(n) != "" {
			lost = append(lost, n)
		}
	}
	var diags diag.Diagnostics
	for _, n := range lost {
		diags = append(diags, diag.Errorf("Etcd member has lost its data",
			"Etcd lists %s (%s) as member %s, but the host holds no data of it: it was reinstalled, or another host has its address. "+
				"A member that comes back without its data can make the cluster lose writes. %s",
			n.Target, n.Address, staticpod.MemberName(n), backFromLoss(n, len(lost))).At(n.Source).For(n.Target))
	}
	return diags
}

// backFromLoss says how to recover a member that has lost its data, one of lost such members.
func backFromLoss(n *topology.Node, lost int) remedy.Text {
	c := n.Cluster
	restore := remedy.Textf("restore etcd from a snapshot. A member that still has its data can provide one without a quorum, unless it was started again since:\n\n"+
		"  %s\n  %s", remedy.Snapshot, remedy.Restore.On("FILE"))
	again := remedy.Textf("remove the node and join it again:\n\n  %s", remedy.Apply.With(remedy.Replace.Of(n.Target)))
	switch all := len(c.ControlPlanes()); {
	case staticpod.MembersKnown(c):
		return "While the others hold quorum, " + again
	case all-lost < all/2+1:
		return remedy.Textf("Of %s too many are lost for a quorum: %s", availability.Members(all), restore)
	}
	return "No quorum answers now. Bring the other members back first, and then " + again + "\n\nIf their data is lost as well, " + restore
}

// RemovedMembers refuses a control plane that has the data of a member which etcd no longer lists:
// its removal was interrupted, or made by hand. With such data etcd does not start again (etcd:
// runtime reconfiguration).
func RemovedMembers(c *topology.Cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	if c.Report == nil || len(c.Report.Members) == 0 || c.Etcd.External != nil {
		return nil
	}
	for _, n := range c.ControlPlanes() {
		if !UnlistedMember(n) {
			continue
		}
		if was := EtcdOfBefore(c); was != "" {
			diags = append(diags, refuseFoundedAgain(n, was))
			continue
		}
		diags = append(diags, diag.Errorf("Etcd does not list this member", "%s (%s) holds the data of an etcd member that etcd does not list: "+
			"the member was removed, and its host was not reset. With this data it cannot join again. %s",
			n.Target, n.Address, rejoins(n)).At(n.Source).For(n.Target))
	}
	return diags
}

// movedMembers refuses to remove a control plane that etcd does not list at its address, but at
// another one by its name: no member would be removed, yet the host would be reset, so etcd would
// keep counting on a lost member.
func movedMembers(c *topology.Cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, l := range c.Departing() {
		if c.MemberCondition(l.PeerURL()) > quorum.Unlisted {
			continue
		}
		for _, m := range c.Seen.Members {
			if m.Name != l.Name || IsKnownMember(c, m) {
				continue
			}
			diags.Append(diag.Errorf("Etcd lists the member at another address", "%s (%s) is being removed, and etcd has no member at %s, "+
				"but one of that name at %s: it would stay a member after its host is reset. "+
				"If it is the same one, restore the address that the state records, and plan again:\n\n  etcdctl member update %s --peer-urls=%s\n\n"+
				"If it is another one, give it another name.",
				l.Target, l.Address, l.PeerURL(), strings.Join(m.PeerURLs, ", "), m.ID, l.PeerURL()).At(c.Source).For(l.Target))
		}
	}
	return diags
}

// IsKnownMember reports whether a member of etcd belongs to a control plane of the configuration or
// to a departing one.
func IsKnownMember(c *topology.Cluster, m state.EtcdMember) bool {
	return slices.ContainsFunc(c.ControlPlanes(), func(n *topology.Node) bool { return slices.Contains(m.PeerURLs, n.PeerURL()) }) ||
		slices.ContainsFunc(c.Departing(), func(l topology.Departure) bool { return slices.Contains(m.PeerURLs, l.PeerURL()) })
}

// rejoins says how a node with old data joins. The name of a node that the state has forgotten can
// no longer be used to remove it.
func rejoins(n *topology.Node) remedy.Text {
	if n.Cluster.Fleet.RecordedNode(n.Target) {
		return remedy.Textf("Remove the node completely and join it again:\n\n  %s", remedy.Apply.With(remedy.Replace.Of(n.Target)))
	}
	return remedy.Textf("The state does not record the node any more. Clean the host (kubeadm reset there), and plan again: it joins as a new one. "+
		"If an apply has begun to join it, remove it and join it again with %s.", remedy.Replace)
}

// UnlistedMember reports whether the host of one of kubewright's nodes has the data of a member
// that the answering etcd does not list.
func UnlistedMember(n *topology.Node) bool {
	c := n.Cluster
	return quorum.ConditionOf(c.Report.Members, n.PeerURL()) == quorum.Unlisted &&
		n.Report != nil && n.Report.Files[n.EtcdData()].Exists && (c.Fleet.RecordedNode(n.Target) || n.Report.Marks != nil)
}

// EtcdOfBefore returns the recorded ID of the cluster's etcd if another one answers: a first member
// that returns without its data bootstraps a new one.
func EtcdOfBefore(c *topology.Cluster) string {
	if c.Fleet.Recorded == nil || c.Fleet.Recorded.Clusters[c.Label] == nil {
		return ""
	}
	was := c.Fleet.Recorded.Clusters[c.Label].EtcdClusterID
	if was == c.Report.EtcdClusterID || c.Report.EtcdClusterID == "" {
		return ""
	}
	return was
}

// refuseFoundedAgain refuses a host that has the cluster's data while an etcd answers that lacks
// it: that data may be the last copy.
func refuseFoundedAgain(n *topology.Node, was string) *diag.Diagnostic {
	var founders []string
	for t, e := range n.Cluster.Fleet.Etcds {
		if e.ClusterID == n.Cluster.Report.EtcdClusterID {
			founders = append(founders, " of "+t.String())
		}
	}
	return diag.Errorf(foundedAgain, "The etcd that answers%s is %s, and that of the state %s, whose data is still on %s (%s): "+
		"a member that came back without its data has bootstrapped a new, empty etcd cluster. Keep that data. "+
		"If the recorded etcd is only down, bring it back, and plan again. If a quorum of it is lost for good, restore etcd from a snapshot:\n\n"+
		"  %s\n\nOnly if etcd was recreated by hand and on purpose is that data not needed; then the node is removed and joined again with %s.",
		strings.Join(topology.Sorted(founders), ","), n.Cluster.Report.EtcdClusterID, was, n.Target, n.Address, remedy.Restore.On("FILE"), remedy.Replace.Of(n.Target)).At(n.Source).For(n.Target)
}

// EtcdUnobserved returns why the members of etcd are unknown although the API answers.
func EtcdUnobserved(c *topology.Cluster) string {
	return cmp.Or(c.Seen.EtcdUnobserved, "it listed none")
}
