package etcd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner/availability"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// AstrayEtcds warns of control planes whose own etcd is not the cluster's.
func AstrayEtcds(v *topology.Fleet, label string) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, t := range v.ForeignEtcds(label) {
		diags.Append(diag.Warningf("Control plane runs a different etcd cluster", "The etcd of %s is %s, and that of cluster %q is %s: "+
			"a member that came back without its data has bootstrapped a new, empty etcd cluster. It was not queried. Remove the node and join it again:\n\n"+
			"  %s",
			t, v.Etcds[t].ClusterID, label, v.EtcdID(label), remedy.Apply.With(remedy.Replace.Of(t))).For(t))
	}
	return diags
}

// AstrayText names the nodes whose etcd does not belong to the cluster, and the remedy; "" if there
// are none.
func AstrayText(c *topology.Cluster) remedy.Text {
	var out remedy.Text
	for _, t := range c.Fleet.ForeignEtcds(c.Label) {
		out += remedy.Textf("The etcd of %s came back without its data, and bootstrapped a new, empty etcd cluster. "+
			"Remove the node and join it again:\n\n  %s\n\n", t, remedy.Apply.With(remedy.Replace.Of(t)))
	}
	return out
}

// RefuseForeignEtcds refuses control planes whose own etcd is not the cluster's.
func RefuseForeignEtcds(c *topology.Cluster) diag.Diagnostics {
	if c.Etcd.External != nil || c.Fleet.Destroy || c.Fleet.Restores || c.Founding || InRestore(c) {
		return nil
	}
	strays := c.Fleet.ForeignEtcds(c.Label)
	var diags diag.Diagnostics
	for _, n := range c.ControlPlanes() {
		if slices.Contains(strays, n.Target) && !c.Fleet.Replaces(n.Target) {
			diags = append(diags, refuseForeignEtcd(n, strays))
		}
	}
	if d := refuseDivided(c); d != nil {
		diags = append(diags, d)
	}
	return diags
}

// refuseForeignEtcd says how to recover the node: from the other members if they hold a quorum. If
// they do not, their data may be the last copy.
func refuseForeignEtcd(n *topology.Node, strays []state.Target) *diag.Diagnostic {
	c := n.Cluster
	its := c.Fleet.EtcdID(c.Label)
	what := fmt.Sprintf("The etcd of %s (%s) is %s, and that of cluster %q is %s", n.Target, n.Address, c.Fleet.Etcds[n.Target].ClusterID, c.Label, its)
	if c.Fleet.Etcds[n.Target].ClusterID == its {
		what = fmt.Sprintf("The etcd of %s (%s) lists no member but itself, and that of cluster %q has others", n.Target, n.Address, c.Label)
	}
	what += ": a member that came back without its data has bootstrapped a new, empty etcd cluster. "
	again := remedy.Textf("remove the node and join it again:\n\n  %s", remedy.Apply.With(remedy.Replace.Of(n.Target)))
	if c.Seen != nil && c.Seen.EtcdClusterID == its && len(c.Seen.Members) > 0 {
		return diag.Errorf(foundedAgain, "%sThe others hold the cluster's data, and a quorum of them answers: %s", what, again).At(n.Source).For(n.Target)
	}
	var holders []string
	for t, e := range c.Fleet.Etcds {
		if e.ClusterID == its && !slices.Contains(strays, t) {
			holders = append(holders, t.String())
		}
	}
	return diag.Errorf(foundedAgain, "%sThe cluster's data is still on %s, and no quorum of its members answers: keep that data. "+
		"If other members are only down, bring them back, and %s\n\nIf quorum is lost for good, restore etcd from a snapshot:\n\n"+
		"  %s\n\nOnly if etcd was recreated by hand and on purpose is that data not needed; "+
		"then clean the hosts that hold it (kubeadm reset), and plan again.",
		what, strings.Join(topology.Sorted(holders), ", "), again, remedy.Restore.On("FILE")).At(n.Source).For(n.Target)
}

const foundedAgain = "Etcd was bootstrapped again"

// refuseDivided refuses control planes with several etcds of which it is unknown which one is the
// cluster's: the state does not record it, and no majority runs one.
func refuseDivided(c *topology.Cluster) *diag.Diagnostic {
	if c.Fleet.EtcdID(c.Label) != "" {
		return nil
	}
	var lines []string
	for _, n := range c.ControlPlanes() {
		if e, ok := c.Fleet.Etcds[n.Target]; ok && !c.Fleet.Replaces(n.Target) {
			lines = append(lines, fmt.Sprintf("  %s (%s): %s, %s", n.Target, n.Address, e.ClusterID, availability.Members(len(e.PeerURLs))))
		}
	}
	if len(lines) < 2 {
		return nil
	}
	return diag.Errorf("Control planes run different etcd clusters", "The control planes of cluster %q run different etcd clusters, "+
		"and the state does not record which is the right one:\n\n%s\n\nA member that came back without its data has bootstrapped one of its own. "+
		"Find out which has the cluster's data (kubectl on that host shows it), remove the other node and join it again, with %s.",
		c.Label, strings.Join(lines, "\n"), remedy.Option{Kind: remedy.Replace, Value: "NODE"}).At(c.Source).For(c.Target)
}

// DataLeftBehind refuses an etcd that has bootstrapped a new cluster because its pod has another
// data folder than the one with the cluster's data, and says how to return.
func DataLeftBehind(c *topology.Cluster) *diag.Diagnostic {
	for _, n := range c.ControlPlanes() {
		if n.Report == nil || !n.Report.Files[n.EtcdData()].Exists || !dataElsewhere(c, n.Target, n.Report.Files[topology.Manifest("etcd")]) {
			continue
		}
		pod, _ := kubeadm.StaticPodAttributes(n.Report.Files[topology.Manifest("etcd")].Content)
		return diag.Errorf("Etcd data was left behind", "The etcd that answers for cluster %q on %s has its data in %s, where it has bootstrapped a new, "+
			"empty cluster. The data of the cluster is in %q on that host. In %s on the host, point --data-dir and the volume etcd-data to %s again: "+
			"the kubelet restarts etcd with the cluster's data. Then plan again.",
			c.Label, n.Target, staticpod.FolderName(staticpod.DataOnHost(pod, c.Etcd.DataDir)), c.Etcd.DataDir, topology.Manifest("etcd"), c.Etcd.DataDir).At(c.Source).For(n.Target)
	}
	return nil
}

// InRestore reports whether a restore of the cluster's etcd from a snapshot was interrupted.
func InRestore(c *topology.Cluster) bool {
	return slices.ContainsFunc(c.ControlPlanes(), func(n *topology.Node) bool { return n.Report != nil && HoldsRestored(n, RestoredFrom(n)) })
}
