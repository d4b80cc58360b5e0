package phases

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// A cluster is told from every other one by its CA, and its etcd by the ID that
// etcd has given itself. The state has both, and the mark on each host has the CA.
// What is seen to be another cluster is left alone, and so is what is remembered of
// the one that was.

// checkIdentity refuses a cluster that is another one than the state knows, and
// hosts with our marks that are part of another one by now.
func (c *cluster) checkIdentity() diag.Diagnostics {
	if d := c.anotherCA(); d != nil {
		return diag.Diagnostics{d} // the rest would speak of another cluster
	}
	var diags diag.Diagnostics
	if d := c.refuseDeserted(); d != nil {
		return diag.Diagnostics{d} // it names these hosts
	}
	diags = append(diags, c.strays()...)
	if astray := c.strayEtcds(); len(astray) > 0 {
		return append(diags, astray...)
	}
	if d := c.anotherEtcd(); d != nil {
		diags = append(diags, d)
	}
	return diags
}

// heldCAs are the identities of the CAs in the seat's file of the cluster's CA.
func (c *cluster) heldCAs() []string {
	if seat := c.seatNode(); seat != nil {
		return seat.casIn(c.caFile())
	}
	return nil
}

// itsCAs are the identities by which the cluster goes, as its seat shows them.
func (c *cluster) itsCAs() []string {
	if seat := c.seatNode(); seat != nil {
		return goesBy(seat.report, c.caBase())
	}
	return nil
}

// goesBy are the identities by which a cluster goes, as one of its hosts shows them:
// the CAs that it holds, one that is being replaced, and those whose place its CA has
// taken before, which the mark tells as long as it speaks of the CA that is there.
func goesBy(r *state.Report, base string) []string {
	held := casIn(r, base+".crt")
	if len(held) == 0 {
		return nil
	}
	return slices.Concat(held, casIn(r, oldFile(base)), casIn(r, endedFile(base)), formerCAs(r, held))
}

// formerCAs are those whose place one of the CAs has taken, as the mark tells.
func formerCAs(r *state.Report, cas []string) []string {
	if m := marksOf(r); m != nil && slices.Contains(cas, m.ClusterCA) {
		return m.FormerCAs
	}
	return nil
}

// vouched are the CAs that are known, and those by which control planes go that go by
// one of these as well: a CA that is on its way to a new one is known by either,
// wherever that was cut short.
func vouched(known []string, planes []*state.Report, base string) []string {
	known = slices.Clone(known)
	for _, r := range planes {
		if cas := goesBy(r, base); shareOne(cas, known) {
			known = append(known, cas...)
		}
	}
	return known
}

func shareOne(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// planeReports are what was seen of the control planes.
func (c *cluster) planeReports() []*state.Report {
	var out []*state.Report
	for _, n := range c.controlPlanes() {
		out = append(out, n.report)
	}
	return out
}

// anotherCA refuses a cluster whose CA is not the one that the state has. As long
// as no apply has seen the cluster's API nothing rests on the CA that an earlier run
// made: it may have been cleaned away and founded again.
func (c *cluster) anotherCA() *diag.Diagnostic {
	recorded, cas := c.recordedCA(), c.itsCAs()
	if !c.recordedRunning() || recorded == "" || len(cas) == 0 || slices.Contains(cas, recorded) {
		return nil
	}
	seat := c.seatNode()
	return diag.Errorf("Cluster is another one", "The state has cluster %q with the CA %s, and %s (%s) holds the CA %s. Nothing is changed on any host, and the state is left as it is. "+
		"If that is another cluster, correct the addresses, or use the state that belongs to it. If a file was replaced by mistake, put %s back, from a backup or from another control plane. "+
		"If the CA was replaced by hand and on purpose, have the state forget the cluster, which changes no host, and plan again: what the hosts hold counts then.\n\n  kubewright state rm %s",
		c.Label, short(recorded), seat.target, seat.Address, short(cas[0]), c.caFile(), state.ShellWord(c.target.String())).At(c.Source).For(c.target)
}

// strays refuses hosts with our marks that hold a CA which the cluster does not
// know: they were reset and are part of another cluster by now, or the state was
// made to forget the one that they are of. What is on them may be the last of its kind.
func (c *cluster) strays() diag.Diagnostics {
	known := c.knownCAs()
	if len(known) == 0 {
		return nil
	}
	var diags diag.Diagnostics
	for _, n := range c.nodes {
		if !n.inhabited() {
			continue
		}
		if own := ownCAs(n.report, c.caBase()); len(own) > 0 && !shareOne(own, known) {
			diags.Append(n.refuseStray(own[0]))
		}
	}
	return diags
}

// knownCAs are the identities by which the cluster goes: as its seat shows them, and
// by the state, which knows one also when the seat was emptied.
func (c *cluster) knownCAs() []string {
	known := c.itsCAs()
	if recorded := c.recordedCA(); recorded != "" {
		known = append(known, recorded)
	}
	return vouched(known, c.planeReports(), c.caBase())
}

// inhabited tells that our mark is on the host, and files of a cluster.
func (n *node) inhabited() bool {
	return n.report != nil && n.report.Marks != nil && n.report.Marks.Cluster != "" && !traceless(n.report)
}

// ownCAs are the identities of the cluster that a host is part of: by its file of the
// CA, where that is gone by its kubelet's kubeconfig, and at last by our mark; and
// those that the mark says it went by before.
func ownCAs(r *state.Report, base string) []string {
	for _, path := range []string{base + ".crt", kubeletConf} {
		if cas := casIn(r, path); len(cas) > 0 {
			return slices.Concat(cas, formerCAs(r, cas))
		}
	}
	if m := marksOf(r); m != nil && m.ClusterCA != "" {
		return append([]string{m.ClusterCA}, m.FormerCAs...)
	}
	return nil
}

func (n *node) refuseStray(own string) *diag.Diagnostic {
	c := n.cluster
	by, its := c.seat.String(), c.itsCAs()
	if len(its) == 0 {
		by, its = "the state", []string{c.recordedCA()}
	}
	return diag.Errorf(strayHost, "%s (%s) is marked as a node of cluster %q, but it holds the CA %s, which the cluster does not know: by %s that is %s. "+
		"Nothing is changed on any host. If the host is part of another cluster now, take another one. If nobody needs what is on it, clean it (kubeadm reset), and plan again. "+
		"If only %s was replaced by mistake, delete that file on the host: it is brought again.",
		n.target, n.Address, c.Label, short(own), by, short(its[0]), c.caFile()).At(n.Source).For(n.target)
}

// strayLeavers refuses to give back hosts that are not those which joined, or are part
// of another cluster by now, which the reset would tear out of it.
func (v *View) strayLeavers() diag.Diagnostics {
	var diags diag.Diagnostics
	leavers := v.leavers()
	for _, l := range leavers {
		if l.report == nil || v.find(l.target) != nil && !l.replaced {
			continue // what stays configured was looked at with its cluster
		}
		if d := v.otherHost(l); d != nil {
			diags.Append(d)
			continue
		}
		if traceless(l.report) {
			continue
		}
		if l.Role == string(config.Worker) && roleThere(l.report) == config.ControlPlane {
			diags.Append(l.refuseMember())
			continue
		}
		own, known := ownCAs(l.report, l.caBase()), l.knownCAs(leavers)
		if len(own) > 0 && len(known) > 0 && !shareOne(own, known) {
			diags.Append(l.refuseStray(own[0]))
		}
	}
	return diags
}

// knownCAs are the identities by which the leaver's cluster goes. When its block is
// gone as well, its control planes are among the leavers.
func (l leaver) knownCAs(leavers []leaver) []string {
	if l.cluster != nil {
		return l.cluster.knownCAs()
	}
	rec := l.recorded.Clusters[l.Cluster]
	if rec == nil || rec.CA == "" {
		return nil
	}
	var planes []*state.Report
	for _, other := range leavers {
		if other.Cluster == l.Cluster && other.Role == string(config.ControlPlane) {
			planes = append(planes, other.report)
		}
	}
	return vouched([]string{rec.CA}, planes, l.caBase())
}

// caBase is the path of the CA of the leaver's cluster without .crt and .key: where
// the block is gone, that of the recorded item which is not below another folder.
func (l leaver) caBase() string {
	if l.cluster != nil {
		return l.cluster.caBase()
	}
	base := ""
	for _, it := range recordedItems(l.recorded, l.target) {
		if it.Kind != state.KindCertificate {
			continue
		}
		if b, ok := strings.CutSuffix(certificateFile(&it), ".crt"); ok && strings.HasSuffix(b, "/ca") && (base == "" || len(b) < len(base)) {
			base = b
		}
	}
	return cmp.Or(base, kubeadmPKI+"/ca")
}

func (l leaver) refuseStray(own string) *diag.Diagnostic {
	wish, way := "its host to be given back", "have the state forget the node, which changes no host, and plan again:\n\n  kubewright state rm "+state.ShellWord(l.target.String())+"\n\n"
	if l.replaced {
		wish, way = "to join anew on the same host", "take another host for the node. "
	}
	return diag.Errorf(strayHost, "%s (%s) is to leave cluster %q, and %s, but it holds the CA %s, which that cluster does not know. Nothing is changed on any host: "+
		"the reset would tear the host out of the cluster that it is part of now. If that cluster is needed, %s"+
		"If nobody needs what is on the host, clean it (kubeadm reset), and plan again.",
		l.target, l.Address, l.Cluster, wish, short(own), way).For(l.target)
}

// refuseMember refuses to reset a control plane as the worker that the state takes it for:
// its member would stay in etcd, dead, and quorum be less than the plan says.
func (l leaver) refuseMember() *diag.Diagnostic {
	return diag.Errorf(hostIsPlane, "%s (%s) is to leave cluster %q, and is a worker to the state, but its host runs an API server (%s). Nothing is changed on any host: "+
		"as a worker it would be reset without etcd being told. Have the state forget it, which changes no host either, clean the host with kubeadm reset, which takes its member out of etcd, and plan again:\n\n  kubewright state rm %s",
		l.target, l.Address, l.Cluster, manifest("kube-apiserver"), state.ShellWord(l.target.String())).For(l.target)
}

// identityQuery asks for what tells of which cluster the leaver's host is part.
func (l leaver) identityQuery(q *state.Query) {
	base := l.caBase()
	for _, path := range []string{base + ".crt", oldFile(base), endedFile(base)} {
		q.Files = append(q.Files, state.FileQuery{Path: path, Read: state.ReadCertificate})
	}
	q.Files = append(q.Files, state.FileQuery{Path: kubeletConf, Read: state.ReadKubeconfig})
}

// refuseDeserted refuses to found a cluster while hosts of the configuration are still
// part of one: all control planes are blank, and the state does not know of it any
// more, but these hosts show that it was there.
func (c *cluster) refuseDeserted() *diag.Diagnostic {
	if !c.founding || c.view.Destroy || len(c.heldCAs()) > 0 {
		return nil
	}
	var lines []string
	recorded := true
	for _, n := range c.nodes {
		if n.target == c.seat || !n.inhabited() {
			continue
		}
		line := fmt.Sprintf("  %s (%s)", n.target, n.Address)
		if cas := ownCAs(n.report, c.caBase()); len(cas) > 0 {
			line += ": CA " + short(cas[0])
		}
		lines = append(lines, line)
		recorded = recorded && c.view.recordedNode(n.target)
	}
	if len(lines) == 0 {
		return nil
	}
	remedy := "clean each of these hosts (kubeadm reset), and plan again."
	if recorded {
		remedy = "give its hosts back, and apply again:\n\n  kubewright destroy"
	}
	return diag.Errorf("Hosts still belong to a cluster", "%s (%s) holds nothing of cluster %q, so that it would be founded anew, but these hosts are part of one that was there before:\n\n%s\n\n"+
		"Nothing is changed on any host. If its control planes are at other addresses, correct those. If its data is needed, put /etc/kubernetes and %s of a control plane back, from a backup, "+
		"and make etcd anew of a snapshot (kubewright etcd restore). If nobody needs that cluster any more, %s",
		c.seat, c.seatNode().Address, c.Label, strings.Join(lines, "\n"), ownFolder, remedy).At(c.Source).For(c.target)
}

// anotherEtcd refuses an etcd that is not the one that the state has. While one is
// made anew of a snapshot it is another one on purpose, and one that goes may be any.
func (c *cluster) anotherEtcd() *diag.Diagnostic {
	if c.report == nil || c.Etcd.External != nil || c.view.Destroy || c.view.restores || c.founding || c.inRestore() {
		return nil
	}
	was := c.etcdOfBefore()
	if was == "" || !c.view.RefreshOnly && slices.ContainsFunc(c.controlPlanes(), (*node).unlisted) {
		return nil // who holds data of the one before is refused as such
	}
	return diag.Errorf("Etcd is another one", "The etcd that answers for cluster %q is %s, and that of the state %s: a member that came back without its data has founded one of its own, which has nothing of the cluster in it, "+
		"or somebody has made etcd anew by hand. Nothing is changed on any host, and the state is left as it is. If data was lost, make etcd anew of a snapshot:\n\n  kubewright etcd restore FILE\n\n"+
		"If what this etcd holds is what is meant, have the state forget the cluster, which changes no host, and plan again:\n\n  kubewright state rm %s",
		c.Label, c.report.EtcdClusterID, was, state.ShellWord(c.target.String())).At(c.Source).For(c.target)
}

// inRestore tells that the cluster's etcd is being made anew of a snapshot, and that
// this was cut short.
func (c *cluster) inRestore() bool {
	return slices.ContainsFunc(c.controlPlanes(), func(n *node) bool { return n.report != nil && n.holdsRestored(n.restoredFrom()) })
}

// newerMarks refuses hosts that a newer version has marked: what it wrote there,
// and is to be put back one day, may not be understood here, and would be lost.
func (v *View) newerMarks() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		for _, n := range c.nodes {
			if d := newerMark(n.target, n.Address, n.report); d != nil {
				diags.Append(d.At(n.Source))
			}
		}
	}
	for _, l := range v.leavers() {
		if v.find(l.target) == nil {
			if d := newerMark(l.target, l.Address, l.report); d != nil {
				diags.Append(d)
			}
		}
	}
	return diags
}

func newerMark(t state.Target, address string, r *state.Report) *diag.Diagnostic {
	m := marksOf(r)
	switch {
	case m == nil || m.Unreadable == "" && m.Format <= state.MarksFormat:
		return nil
	case m.Unreadable != "":
		return diag.Errorf(unreadableMark, "%s (%s): %s. kubewright knows by this file whose the host is and which run was the last there. Nothing is changed on any host. "+
			"Find out who wrote it. If the host is the one that joined, put the file back from a backup, or delete it; without any of %s the node is taken out and joins again: %s.",
			t, address, m.Unreadable, ownFolder, AsFlags(t, ReplaceFlag)).For(t)
	}
	return diag.Errorf(newerVersion, "What kubewright keeps on %s (%s), in %s, has format %d, and this version knows formats up to %d: a newer kubewright has written it. "+
		"Nothing is changed on any host: what this version does not understand of it would be lost. Update kubewright here, and run the same command again.",
		t, address, ownFolder, m.Format, state.MarksFormat).For(t)
}
