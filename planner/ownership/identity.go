package ownership

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// A cluster is identified by its CA, and its etcd by the ID that etcd has generated. The state
// records both, and the marker on each host has the CA. A cluster that turns out to be another one
// is not changed, and neither is its record in the state.

// CheckIdentity refuses a cluster that is not the recorded one, and hosts with kubewright's markers
// that now belong to another cluster.
func CheckIdentity(c *topology.Cluster) diag.Diagnostics {
	if d := anotherCA(c); d != nil {
		return diag.Diagnostics{d} // all other findings would be about another cluster
	}
	var diags diag.Diagnostics
	if d := refuseDeserted(c); d != nil {
		return diag.Diagnostics{d} // it names these hosts
	}
	diags = append(diags, strays(c)...)
	if astray := etcd.RefuseForeignEtcds(c); len(astray) > 0 {
		return append(diags, astray...)
	}
	if d := anotherEtcd(c); d != nil {
		diags = append(diags, d)
	}
	return diags
}

// heldCAs returns the identities of the CAs in the primary's file of the cluster CA.
func heldCAs(c *topology.Cluster) []string {
	if primary := c.PrimaryNode(); primary != nil {
		return primary.CADigestsIn(c.CAFile())
	}
	return nil
}

// itsCAs returns the cluster's identities, as observed on its primary.
func itsCAs(c *topology.Cluster) []string {
	if primary := c.PrimaryNode(); primary != nil {
		return topology.ClusterIdentities(primary.Report, c.CABase())
	}
	return nil
}

// Vouched returns the known CAs, and all CAs of control planes that share one with them: during a
// rotation to a new CA the cluster is known by either, wherever the rotation was interrupted.
func Vouched(known []string, planes []*state.Report, base string) []string {
	known = slices.Clone(known)
	for _, r := range planes {
		if cas := topology.ClusterIdentities(r, base); shareOne(cas, known) {
			known = append(known, cas...)
		}
	}
	return known
}

func shareOne(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// ControlPlaneReports returns the reports of the control planes.
func ControlPlaneReports(c *topology.Cluster) []*state.Report {
	var out []*state.Report
	for _, n := range c.ControlPlanes() {
		out = append(out, n.Report)
	}
	return out
}

// anotherCA refuses a cluster whose CA is not the recorded one. Before any apply has observed the
// cluster's API nothing depends on the CA of an earlier run: that may have been cleaned up and
// bootstrapped again.
func anotherCA(c *topology.Cluster) *diag.Diagnostic {
	recorded, cas := c.RecordedCA(), itsCAs(c)
	if !c.RecordedRunning() || recorded == "" || len(cas) == 0 || slices.Contains(cas, recorded) {
		return nil
	}
	primary := c.PrimaryNode()
	return diag.Errorf("Cluster CA differs from the state", "The state records cluster %q with the CA %s, but %s (%s) holds the CA %s. The state is left as it is. "+
		"If that is another cluster, correct the addresses, or use the state that belongs to it. "+
		"If a file was replaced by mistake, restore %s from a backup or from another control plane. "+
		"If the CA was replaced by hand and on purpose, remove the cluster from the state, which changes no host, and plan again: "+
		"the CA on the hosts is then recorded.\n\n  %s",
		c.Label, topology.Short(recorded), primary.Target, primary.Address, topology.Short(cas[0]), c.CAFile(), remedy.Forget.On(c.Target.String())).At(c.Source).For(c.Target)
}

// strays refuses hosts with kubewright's markers and a CA that the cluster does not know: they were
// reset and now belong to another cluster, or their cluster was removed from the state. Their data
// may be the last copy.
func strays(c *topology.Cluster) diag.Diagnostics {
	known := clusterKnownCAs(c)
	if len(known) == 0 {
		return nil
	}
	var diags diag.Diagnostics
	for _, n := range c.Nodes {
		if !inhabited(n) {
			continue
		}
		if own := ownCAs(n.Report, c.CABase()); len(own) > 0 && !shareOne(own, known) {
			diags.Append(nodeRefuseStray(n, own[0]))
		}
	}
	return diags
}

// clusterKnownCAs returns the cluster's identities: as observed on its primary, and as recorded in
// the state, which knows one even if the primary was wiped.
func clusterKnownCAs(c *topology.Cluster) []string {
	known := itsCAs(c)
	if recorded := c.RecordedCA(); recorded != "" {
		known = append(known, recorded)
	}
	return Vouched(known, ControlPlaneReports(c), c.CABase())
}

// inhabited reports whether the host has kubewright's marker and files of a cluster.
func inhabited(n *topology.Node) bool {
	return n.Report != nil && n.Report.Marks != nil && n.Report.Marks.Cluster != "" && !topology.Traceless(n.Report)
}

// ownCAs returns the identities of the cluster that a host belongs to: from its CA file, otherwise
// from its kubelet's kubeconfig, otherwise from the marker; and the former ones in the marker.
func ownCAs(r *state.Report, base string) []string {
	for _, path := range []string{base + ".crt", topology.KubeletConf} {
		if cas := topology.CADigestsIn(r, path); len(cas) > 0 {
			return slices.Concat(cas, topology.FormerCAs(r, cas))
		}
	}
	if m := topology.MarksOf(r); m != nil && m.ClusterCA != "" {
		return append([]string{m.ClusterCA}, m.FormerCAs...)
	}
	return nil
}

func nodeRefuseStray(n *topology.Node, own string) *diag.Diagnostic {
	c := n.Cluster
	by, its := c.Primary.String(), itsCAs(c)
	if len(its) == 0 {
		by, its = "the state", []string{c.RecordedCA()}
	}
	return diag.Errorf(strayHost, "%s (%s) is marked as a node of cluster %q, but it holds the CA %s, which the cluster does not know: according to %s it is %s. "+
		"If the host is part of another cluster now, use another host. If its data is not needed, clean it (kubeadm reset) and plan again. "+
		"If only %s was replaced by mistake, delete that file on the host: the next apply writes it again.",
		n.Target, n.Address, c.Label, topology.Short(own), by, topology.Short(its[0]), c.CAFile()).At(n.Source).For(n.Target)
}

// StrayDepartures refuses to reset hosts that are not those which joined, or that now belong to
// another cluster, from which the reset would remove them.
func StrayDepartures(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	departures := v.Departures()
	for _, l := range departures {
		if l.Report == nil || v.Find(l.Target) != nil && !l.Replaced {
			continue // checked with its cluster
		}
		if d := otherHost(v, l); d != nil {
			diags.Append(d)
			continue
		}
		if topology.Traceless(l.Report) {
			continue
		}
		if l.Role == string(config.Worker) && topology.RoleThere(l.Report) == config.ControlPlane {
			diags.Append(refuseMember(l))
			continue
		}
		own, known := ownCAs(l.Report, observe.CABase(l)), departureKnownCAs(l, departures)
		if len(own) > 0 && len(known) > 0 && !shareOne(own, known) {
			diags.Append(departureRefuseStray(l, own[0]))
		}
	}
	return diags
}

// departureKnownCAs returns the identities of the departing node's cluster. If its block is gone as
// well, its control planes are among the departing nodes.
func departureKnownCAs(l topology.Departure, departures []topology.Departure) []string {
	if l.Cluster != nil {
		return clusterKnownCAs(l.Cluster)
	}
	rec := l.Recorded.Clusters[l.RecordedNode.Cluster]
	if rec == nil || rec.CA == "" {
		return nil
	}
	var planes []*state.Report
	for _, other := range departures {
		if other.RecordedNode.Cluster == l.RecordedNode.Cluster && other.Role == string(config.ControlPlane) {
			planes = append(planes, other.Report)
		}
	}
	return Vouched([]string{rec.CA}, planes, observe.CABase(l))
}

func departureRefuseStray(l topology.Departure, own string) *diag.Diagnostic {
	wish, way := "its host is to be reset", remedy.Textf("remove the node from the state, which changes no host, and plan again:\n\n  %s\n\n", remedy.Forget.On(l.Target.String()))
	if l.Replaced {
		wish, way = "is to join again on the same host", "use another host for the node. "
	}
	return diag.Errorf(strayHost, "%s (%s) is being removed from cluster %q and %s, but it holds the CA %s, which that cluster does not know: "+
		"the reset would remove the host from the cluster that it is part of now. If that cluster is needed, %sIf the data on the host is not needed, "+
		"clean it (kubeadm reset) and plan again.",
		l.Target, l.Address, l.RecordedNode.Cluster, wish, topology.Short(own), way).For(l.Target)
}

// refuseMember refuses to reset a control plane that is recorded as a worker: its member would stay
// in etcd, dead, and quorum would be smaller than the plan says.
func refuseMember(l topology.Departure) *diag.Diagnostic {
	return diag.Errorf(hostIsControlPlane, "%s (%s) is being removed from cluster %q and is recorded as a worker, but its host runs an API server (%s): "+
		"as a worker it would be reset without its etcd member being removed. Remove it from the state, which changes no host either, "+
		"clean the host with kubeadm reset, which removes its member from etcd, and plan again:\n\n  %s",
		l.Target, l.Address, l.RecordedNode.Cluster, topology.Manifest("kube-apiserver"), remedy.Forget.On(l.Target.String())).For(l.Target)
}

// refuseDeserted refuses to bootstrap a cluster while hosts of the configuration still belong to
// one: all control planes are blank, and the state no longer records the cluster, but these hosts
// show that it existed.
func refuseDeserted(c *topology.Cluster) *diag.Diagnostic {
	if !c.Founding || c.Restored != nil || c.Fleet.Destroy || len(heldCAs(c)) > 0 {
		return nil
	}
	var lines []string
	recorded := true
	for _, n := range c.Nodes {
		if n.Target == c.Primary || !inhabited(n) {
			continue
		}
		line := fmt.Sprintf("  %s (%s)", n.Target, n.Address)
		if cas := ownCAs(n.Report, c.CABase()); len(cas) > 0 {
			line += ": CA " + topology.Short(cas[0])
		}
		lines = append(lines, line)
		recorded = recorded && c.Fleet.RecordedNode(n.Target)
	}
	if len(lines) == 0 {
		return nil
	}
	way := remedy.Text("clean each of these hosts (kubeadm reset) and plan again.")
	if recorded {
		way = remedy.Textf("reset its hosts and apply again:\n\n  %s", remedy.Destroy)
	}
	return diag.Errorf("Hosts belong to an earlier cluster", "%s (%s) holds nothing of cluster %q, so that the cluster would be bootstrapped again, "+
		"but these hosts are part of an earlier one:\n\n%s\n\nIf its control planes have other addresses, correct those. "+
		"If its data is needed, restore /etc/kubernetes and %s of a control plane from a backup, and restore etcd from a snapshot (%s). "+
		"If that cluster is no longer needed, %s",
		c.Primary, c.PrimaryNode().Address, c.Label, strings.Join(lines, "\n"), host.OwnFolder, remedy.Restore, way).At(c.Source).For(c.Target)
}

// anotherEtcd refuses an etcd that is not the recorded one. A restore from a snapshot changes it on
// purpose, and for a destroy it does not matter.
func anotherEtcd(c *topology.Cluster) *diag.Diagnostic {
	if c.Report == nil || c.Etcd.External != nil || c.Fleet.Destroy || c.Fleet.Restores || c.Founding || etcd.InRestore(c) {
		return nil
	}
	was := etcd.EtcdOfBefore(c)
	if was == "" || !c.Fleet.RefreshOnly && slices.ContainsFunc(c.ControlPlanes(), etcd.UnlistedMember) {
		return nil // nodes with data of the previous etcd are refused separately
	}
	if d := etcd.DataLeftBehind(c); d != nil {
		return d
	}
	return diag.Errorf("Etcd cluster differs from the state", "Cluster %q: the etcd that answers is %s, and the state records %s: a member that came back without its data has "+
		"bootstrapped a new, empty etcd cluster, or etcd was recreated by hand. The state is left as it is. If data was lost, restore etcd from a snapshot:\n\n"+
		"  %s\n\nIf the data in this etcd is the right one, remove the cluster from the state, which changes no host, "+
		"and plan again:\n\n  %s",
		c.Label, c.Report.EtcdClusterID, was, remedy.Restore.On("FILE"), remedy.Forget.On(c.Target.String())).At(c.Source).For(c.Target)
}

// NewerMarks refuses hosts with markers of a newer version: values there that have to be restored
// one day may not be understood here, and would be lost.
func NewerMarks(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		for _, n := range c.Nodes {
			if d := newerMark(n.Target, n.Address, n.Report); d != nil {
				diags.Append(d.At(n.Source))
			}
		}
	}
	for _, l := range v.Departures() {
		if v.Find(l.Target) == nil {
			if d := newerMark(l.Target, l.Address, l.Report); d != nil {
				diags.Append(d)
			}
		}
	}
	return diags
}

func newerMark(t state.Target, address string, r *state.Report) *diag.Diagnostic {
	m := topology.MarksOf(r)
	switch {
	case m == nil || m.Unreadable == "" && m.Format <= state.MarksFormat:
		return nil
	case m.Unreadable != "":
		return diag.Errorf(unreadableMark, "%s (%s): %s. This file identifies the owner of the host and the last run there. Find out who wrote it. "+
			"If the host is the one that joined, restore the file from a backup, or delete it; if all of %s is missing, the node is removed and joins again: %s.",
			t, address, m.Unreadable, host.OwnFolder, remedy.Replace.Of(t)).For(t)
	}
	return diag.Errorf(newerVersion, "The files that kubewright keeps on %s (%s), in %s, have format %d, and this version supports formats up to %d: "+
		"they were written by a newer kubewright. This version would lose what it does not understand. Update kubewright here and run the same command again.",
		t, address, host.OwnFolder, m.Format, state.MarksFormat).For(t)
}

// CADigest returns the identity of the cluster that the host belongs to.
func CADigest(n *topology.Node) string {
	if certs := n.Report.Files[n.Cluster.Certificates.Dir+"/ca.crt"].Certificates; len(certs) > 0 {
		return certs[0].KeyDigest
	}
	return ""
}

// checkAdopted refuses a host without a marker that does not belong to the adopted cluster. During
// a rotation of the CA a host may have the new one before it is marked.
func checkAdopted(n *topology.Node) diag.Diagnostics {
	recorded := n.Cluster.Fleet.Recorded
	if m := n.Report.Marks; m != nil && m.Lineage != "" && recorded.Lineage != "" && m.Lineage != recorded.Lineage {
		return diag.Diagnostics{nodeRefuseLineage(n, m)}
	}
	ca := n.Cluster.RecordedCA()
	if seen := CADigest(n); ca == "" || seen == "" || slices.Contains(Vouched([]string{ca}, ControlPlaneReports(n.Cluster), n.Cluster.CABase()), seen) {
		return nil
	}
	return diag.Diagnostics{diag.Errorf(strayHost, "%s (%s) holds the CA %s, and cluster %q was adopted with the CA %s. "+
		"Correct the address, or clean the host (kubeadm reset) and plan again.",
		n.Target, n.Address, topology.Short(CADigest(n)), n.Node.Cluster, topology.Short(ca)).At(n.Source).For(n.Target)}
}
