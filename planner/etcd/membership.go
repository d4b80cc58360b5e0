package etcd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// LostMembers refuses a control plane that etcd counts as a member which has
// run, on a host that holds no data of it: a reinstalled host, or another one
// at its address. A member that comes back without what it has promised to
// remember can make the others lose acknowledged writes, so it has to be
// removed before the host rejoins (etcd: runtime reconfiguration).
func LostMembers(c *topology.Cluster) diag.Diagnostics {
	if c.Etcd.External != nil || c.Founding || InRestore(c) || c.Primary.IsZero() && !staticpod.MembersKnown(c) {
		return nil // where there is no primary, the cluster as a whole is referred to
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

// backFromLoss says how a member comes back that has lost its data, as one of several.
func backFromLoss(n *topology.Node, lost int) string {
	c := n.Cluster
	restore := "restore etcd from a snapshot. A member that still has its data can provide one without a quorum, unless it was started again since:\n\n" +
		"  kubewright etcd snapshot\n  kubewright etcd restore FILE"
	again := "remove the node and join it again:\n\n  kubewright apply " + topology.AsFlags(n.Target, topology.ReplaceFlag)
	switch all := len(c.ControlPlanes()); {
	case staticpod.MembersKnown(c):
		return "While the others hold quorum, " + again
	case all-lost < all/2+1:
		return fmt.Sprintf("Of %s too many are lost for a quorum: %s", staticpod.Members(all), restore)
	}
	return "No quorum answers now. Bring the other members back first, and then " + again + "\n\nIf their data is lost as well, " + restore
}

// RemovedMembers refuses a control plane that holds the data of a member which
// etcd does not count any more: its removal was cut short, or made by hand. With
// such data etcd does not start again (etcd: runtime reconfiguration).
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

// movedMembers refuses to let a control plane leave that etcd does not count at its
// address, and at another one by its name: nobody would be taken out, and the host be
// reset all the same, so that etcd went on counting on a member which is lost.
func movedMembers(c *topology.Cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, l := range c.Departing() {
		if c.Lists(l.PeerURL()) {
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

// IsKnownMember reports whether a member of etcd is that of a node of the configuration, or of one
// that leaves.
func IsKnownMember(c *topology.Cluster, m state.EtcdMember) bool {
	return slices.ContainsFunc(c.ControlPlanes(), func(n *topology.Node) bool { return slices.Contains(m.PeerURLs, n.PeerURL()) }) ||
		slices.ContainsFunc(c.Departing(), func(l topology.Departure) bool { return slices.Contains(m.PeerURLs, l.PeerURL()) })
}

// rejoins says how a node with old data joins. One that the state has forgotten
// cannot be taken out by it any more.
func rejoins(n *topology.Node) string {
	if n.Cluster.Fleet.RecordedNode(n.Target) {
		return "Remove the node completely and join it again:\n\n  kubewright apply " + topology.AsFlags(n.Target, topology.ReplaceFlag)
	}
	return "The state does not record the node any more. Clean the host (kubeadm reset there), and plan again: it joins as a new one. " +
		"If an apply has begun to join it, remove it and join it again with -" + topology.ReplaceFlag + "."
}

// UnlistedMember reports whether the host of a node of ours holds the data of a member that the
// etcd which answers does not count.
func UnlistedMember(n *topology.Node) bool {
	c := n.Cluster
	if len(c.Report.Members) == 0 || n.Report == nil || !n.Report.Files[n.EtcdData()].Exists || !c.Fleet.RecordedNode(n.Target) && n.Report.Marks == nil {
		return false
	}
	return !slices.ContainsFunc(c.Report.Members, func(m state.EtcdMember) bool { return slices.Contains(m.PeerURLs, n.PeerURL()) })
}

// EtcdOfBefore returns the ID of the etcd that the state knows, when another one
// answers: a first member founds one by itself that comes back without its data.
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

// refuseFoundedAgain reports a host that holds what the cluster knew, while an
// etcd answers that has nothing of it: that data may be the last of its kind.
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
		"  kubewright etcd restore FILE\n\nOnly if etcd was recreated by hand and on purpose is that data not needed; then the node is removed and joined again with %s.",
		strings.Join(topology.Sorted(founders), ","), n.Cluster.Report.EtcdClusterID, was, n.Target, n.Address, topology.AsFlags(n.Target, topology.ReplaceFlag)).At(n.Source).For(n.Target)
}

// EtcdUnobserved returns why nobody knows who the members of etcd are, although the API
// answers.
func EtcdUnobserved(c *topology.Cluster) string {
	return cmp.Or(c.Seen.EtcdUnobserved, "it listed none")
}
