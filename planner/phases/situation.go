package phases

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// situation is where a cluster stands: not there, being founded, or running.
type situation struct {
	// founding: no API has ever served this cluster's objects as far as hosts
	// and state show; the seat makes CAs and the first etcd member.
	founding bool
	// seat is the control plane through which the cluster is spoken to.
	seat state.Target
	// cas are the key digests of the CAs on the seat, by base path; a CA that
	// does not exist yet is missing.
	cas map[string]string
	// failed are the components of control planes that are known not to run as
	// their files say.
	failed map[state.Target][]string
	// up is how versions change; nil when none does.
	up *upgrade
	// rotating are the CAs that are on their way to a new one, signing what its
	// controller managers sign with meanwhile.
	rotating []*rotation
	signing  signing
	// keys are the service account keys on their way to new ones; nil otherwise.
	keys *keyRotation
	// atOnce are the identities of CAs that have ended and are replaced at once, by
	// base path.
	atOnce map[string]string
	// disowned tells that hosts of it belong to somebody else: what their files say
	// is said of another cluster.
	disowned bool
}

// blank tells that a host holds nothing of any cluster.
func blank(r *state.Report) bool {
	return r.Marks == nil && traceless(r)
}

// traceless tells that a host holds no file of any cluster; it may be marked as ours.
func traceless(r *state.Report) bool {
	return !slices.ContainsFunc(tracesOfCluster, func(p string) bool { return r.Files[p].Exists })
}

// tracesOfPlane are files that workers do not have.
var tracesOfPlane = []string{
	"/etc/kubernetes/manifests/kube-apiserver.yaml", "/etc/kubernetes/manifests/etcd.yaml",
	"/etc/kubernetes/manifests/kube-controller-manager.yaml", "/etc/kubernetes/manifests/kube-scheduler.yaml",
	"/etc/kubernetes/admin.conf", "/etc/kubernetes/pki/ca.key", "/var/lib/etcd/member",
}

// tracesOfCluster are files that show that a host belongs to some cluster.
var tracesOfCluster = slices.Concat(tracesOfPlane, []string{
	"/etc/kubernetes/kubelet.conf", "/etc/kubernetes/bootstrap-kubelet.conf", "/etc/kubernetes/pki/ca.crt",
})

// situate finds out where each cluster stands, and refuses what must not be
// guessed: a cluster is founded only if every control plane was seen to be
// blank and neither state nor any host holds a cluster's identity.
func (v *View) situate() diag.Diagnostics {
	diags := v.newerMarks()
	for _, c := range v.clusters {
		owned := c.checkOwner()
		c.disowned = owned.HasErrors()
		owned = append(owned, c.checkForgotten()...)
		diags = append(diags, owned...)
		diags = append(diags, c.situate()...)
		if !owned.HasErrors() {
			diags = append(diags, c.checkIdentity()...)
		}
		c.up = c.upgrade()
		if c.atOnce = c.endedCAs(); c.replacesAtOnce() {
			c.report = nil // whoever answers still does so on connections from before
			for base := range c.atOnce {
				delete(c.cas, base)
			}
		}
		c.failed = c.failures()
		c.rotating = c.rotations()
		c.keys = c.keyRotation()
		for _, r := range c.rotating {
			// Who signs changes within the plan.
			delete(c.cas, r.Base)
		}
	}
	return append(diags, v.strayLeavers()...)
}

func (c *cluster) situate() diag.Diagnostics {
	planes := c.controlPlanes()
	var marked []string
	var silent []*node
	var founder, member, holder *node
	for _, n := range planes {
		if n.refused() {
			continue
		}
		if n.report == nil {
			silent = append(silent, n)
			continue
		}
		if n.report.Marks != nil || !blank(n.report) {
			marked = append(marked, n.target.String())
			if member == nil && n.report.Files["/etc/kubernetes/admin.conf"].Exists {
				member = n
			}
			if holder == nil && n.report.Files[c.caBase()+".crt"].Exists {
				holder = n
			}
		}
		if m := n.report.Marks; m != nil && m.Founder {
			founder = n
		}
	}
	known := c.recordedCA() != "" || len(marked) > 0
	if len(silent) > 0 && !c.view.Destroy {
		return c.refuseSilent(silent, known)
	}
	if c.refused() {
		return nil
	}
	switch {
	case c.report != nil && member != nil:
		c.seat = c.reachable(member).target
	case founder != nil:
		if c.emptied() {
			return c.refuseLost()
		}
		c.founding, c.seat = !c.recordedRunning(), founder.target
	case member != nil:
		c.seat = member.target
	case holder != nil && c.recordedRunning(): // nobody has a kubeconfig, which is an item like others
		c.seat = holder.target
	case len(planes) > 0:
		if known && c.recordedCA() != "" && !c.view.Destroy {
			return c.refuseLost()
		}
		c.founding, c.seat = true, planes[0].target
	}
	c.wholeSeat()
	c.cas = c.caDigests()
	return nil
}

// refused tells that it was refused already, or a control plane of it, without which
// nobody can tell where it stands.
func (c *cluster) refused() bool {
	return c.view.refused[c.target.String()] || slices.ContainsFunc(c.controlPlanes(), (*node).refused)
}

func (n *node) refused() bool { return n.cluster.view.refused[n.target.String()] }

// reachable prefers a control plane with an administrator's kubeconfig whose API
// server runs, and which has what the others are given: its CA and the key of service
// accounts. An API server goes on for a while when somebody has deleted those.
func (c *cluster) reachable(fallback *node) *node {
	for _, n := range c.controlPlanes() {
		if n.report == nil || !n.report.Files[adminConf].Exists || !n.report.Files[kubeletConf].Exists {
			continue
		}
		if !n.report.Files[c.caBase()+".crt"].Exists || !n.report.Files[n.serviceAccountKey()+".pub"].Exists {
			continue
		}
		if c.report.StaticPods["kube-apiserver-"+n.name].Ready {
			return n
		}
	}
	return fallback
}

func (c *cluster) recordedCA() string {
	if c.view.Recorded == nil || c.view.Recorded.Clusters[c.Label] == nil {
		return ""
	}
	return c.view.Recorded.Clusters[c.Label].CA
}

// recordedRunning tells that an apply once saw the cluster's API.
func (c *cluster) recordedRunning() bool { return c.recordedVersion() != "" }

// recordedVersion is the version of the cluster's API server as an apply saw it last.
func (c *cluster) recordedVersion() string {
	if c.view.Recorded == nil || c.view.Recorded.Clusters[c.Label] == nil {
		return ""
	}
	return c.view.Recorded.Clusters[c.Label].Version
}

func (c *cluster) caDigests() map[string]string {
	out := map[string]string{}
	seat := c.seatNode()
	if seat == nil || seat.report == nil {
		return out
	}
	for _, base := range []string{"ca", "front-proxy-ca", "etcd/ca"} {
		path := c.Certificates.Dir + "/" + base
		if certs := seat.report.Files[path+".crt"].Certificates; len(certs) > 0 {
			out[path] = certs[0].KeyDigest
		}
	}
	return out
}

func (c *cluster) refuseSilent(silent []*node, known bool) diag.Diagnostics {
	var names []string
	for _, n := range silent {
		names = append(names, n.target.String())
	}
	detail := fmt.Sprintf("Of cluster %q, %s could not be looked at", c.Label, strings.Join(names, ", "))
	var reasons []string
	for t, u := range c.view.Unobserved {
		if n := c.node(t); n != nil && n.isControlPlane() && !n.refused() {
			reasons = append(reasons, reason(u))
		}
	}
	sort.Strings(reasons)
	if !known {
		detail += ". A cluster is founded only when every control plane has been seen to be blank: " +
			"one that was not may hold the data of a cluster that exists."
	} else {
		detail += ". What a control plane holds decides what is safe on the others, so nothing is planned for this cluster."
	}
	return diag.Diagnostics{{
		Severity: diag.Error, Summary: controlPlaneNotLookedAt,
		Detail: detail + " Nothing is changed on any host. Put right what follows, and plan again.\n\n" +
			strings.Join(reasons, "\n") + c.toForget(silent),
		Subject: c.Source,
	}}
}

// toForget says what to do about control planes that are gone for good, where one
// of the cluster answers through which they can be taken out, or into which etcd can be
// restored.
func (c *cluster) toForget(silent []*node) string {
	var flags []string
	for _, n := range silent {
		if !c.view.Unobserved[n.target].Answered { // nobody forgets a host that answers
			flags = append(flags, AsFlags(n.target, ForgetUnreachableFlag))
		}
	}
	if c.report == nil && !c.view.restores || len(silent) == len(c.controlPlanes()) || len(flags) == 0 {
		return ""
	}
	if c.view.restores {
		return fmt.Sprintf("\n\nIf such a host is gone for good, take its block, or its key, out of the configuration; etcd is then restored without it:\n\n"+
			"  kubewright etcd restore FILE %s\n\nA removed block with unreachable = true does the same.", strings.Join(flags, " "))
	}
	return fmt.Sprintf("\n\nIf such a host is gone for good, take its block, or its key, out of the configuration; its node is then taken out of the cluster without it:\n\n"+
		"  kubewright apply %s\n\nA removed block with unreachable = true does the same.", strings.Join(flags, " "))
}

// reason is why a host was not observed, and below it what to do.
func reason(u state.Unobserved) string {
	text := "  " + u.Target.String() + ": " + u.Reason
	if u.Remedy != "" {
		text += "\n    To do: " + u.Remedy + "."
	}
	return text
}

// emptied tells that a cluster whose API was seen has left nothing on its control
// planes but our marks, as kubeadm reset does: a new one in its place would be
// empty, with another CA than its nodes and users know.
func (c *cluster) emptied() bool {
	return c.recordedRunning() && !c.view.Destroy && !slices.ContainsFunc(c.controlPlanes(), func(n *node) bool {
		return n.report != nil && !traceless(n.report)
	})
}

func (c *cluster) refuseLost() diag.Diagnostics {
	return diag.Diagnostics{{
		Severity: diag.Error, Summary: "Cluster is gone from its hosts", Address: c.target.String(),
		Detail: fmt.Sprintf("The state says that cluster %q exists (CA %s), but no control plane holds any of it. "+
			"Nothing is founded over a cluster that is remembered. If addresses changed, correct them. "+
			"If a destroy was cut short, run it again. If the hosts were emptied on purpose and the data is not needed, have the state forget the cluster, and plan again:\n\n  kubewright state rm %s",
			c.Label, short(c.recordedCA()), state.ShellWord(c.target.String())),
		Subject: c.Source,
	}}
}

// checkOwner refuses hosts that belong to another state, another cluster or another node block.
func (c *cluster) checkOwner() diag.Diagnostics {
	var diags diag.Diagnostics
	orphans, elsewhere := map[string][]*node{}, map[string][]*node{}
	leaving := c.view.leavingAt()
	for _, n := range c.nodes {
		if n.report == nil {
			continue
		}
		m := n.report.Marks
		switch label, leaver := n.recordedElsewhere(), leaving[n.Address]; {
		case label != "":
			elsewhere[label] = append(elsewhere[label], n)
		case !leaver.IsZero():
			diags = append(diags, n.refuseLeaver(leaver))
		case n.unmarked():
			diags = append(diags, n.checkAdopted()...)
		case m == nil && !blank(n.report):
			diags = append(diags, n.refuseForeign())
		case m == nil:
		case c.view.Recorded == nil:
			orphans[m.Lineage] = append(orphans[m.Lineage], n)
		case m.Lineage != c.view.Recorded.Lineage:
			diags = append(diags, n.refuseLineage(m))
		case m.Cluster != c.Label && !n.renamedCluster(m):
			diags = append(diags, n.refuseCluster(m))
		default:
			if d := n.anotherNode(m); d != nil {
				diags = append(diags, d)
			}
		}
	}
	for _, lineage := range slices.Sorted(maps.Keys(orphans)) {
		diags = append(diags, c.refuseOrphans(lineage, orphans[lineage]))
	}
	for _, label := range slices.Sorted(maps.Keys(elsewhere)) {
		diags = append(diags, c.refuseElsewhere(label, elsewhere[label]))
	}
	return diags
}

// checkForgotten refuses to destroy a cluster of which the state knows nothing, and
// which its hosts carry: it would be left running, as if nothing were there.
func (c *cluster) checkForgotten() diag.Diagnostics {
	if !c.view.Destroy || c.view.remembers(c.Label) {
		return nil
	}
	var lines []string
	for _, n := range c.nodes {
		if n.forgotten() {
			lines = append(lines, fmt.Sprintf("  %s (%s)", n.target, n.Address))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.Errorf("Hosts are not in the state", "Hosts of this configuration carry cluster %q, of which the state knows nothing, so that a destroy would leave it running. "+
		"Nothing is changed on any host:\n\n%s\n\nTo destroy it, have the state know it again first, which kubewright apply does. "+
		"If it is to stay as it is, take its blocks out of the configuration.", c.Label, strings.Join(lines, "\n")).At(c.Source).For(c.target)}
}

// warnForgotten tells of nodes that the next apply has the state know again, or that a
// destroy does not touch.
func (v *View) warnForgotten() diag.Diagnostics {
	var names []string
	for _, t := range Unremembered(v) {
		names = append(names, t.String())
	}
	if len(names) == 0 {
		return nil
	}
	then := "An apply has it know them again, and changes there only what this plan shows. Until then a block that goes away leaves its node running."
	if v.Destroy {
		then = "They are left as they are. To destroy them as well, have the state know them again first, which kubewright apply does."
	}
	return diag.Diagnostics{diag.Warningf("Node is not in the state", "The state has forgotten %s, which the hosts carry. %s", strings.Join(names, ", "), then)}
}

// Unremembered are the nodes whose hosts are marked as this state's, which does not know
// them: somebody has had it forget them.
func Unremembered(v *View) []state.Target {
	var out []state.Target
	for _, c := range v.clusters {
		for _, n := range c.nodes {
			if n.forgotten() {
				out = append(out, n.target)
			}
		}
	}
	return out
}

// forgotten tells that the host is marked as this state's, which does not know it.
func (n *node) forgotten() bool {
	v := n.cluster.view
	if n.report == nil || n.report.Marks == nil || v.Recorded == nil {
		return false
	}
	m := n.report.Marks
	return m.Lineage == v.Recorded.Lineage && !v.recordedNode(n.target) && !v.recordedNode(m.Node)
}

// refuseOrphans speaks of hosts that a state has made which is not here: one
// finding for all of them, as they have one cause.
func (c *cluster) refuseOrphans(lineage string, nodes []*node) *diag.Diagnostic {
	var lines []string
	for _, n := range nodes {
		m := n.report.Marks
		lines = append(lines, fmt.Sprintf("  %s (%s): %s of cluster %q", n.target, n.Address, m.Node, m.Cluster))
	}
	return &diag.Diagnostic{
		Severity: diag.Error, Summary: "State file is missing", Subject: c.Source,
		Detail: fmt.Sprintf("Hosts of this configuration belong to a state with lineage %s, and there is no state file here. "+
			"Nothing is founded and nothing is changed:\n\n%s\n\n"+
			"Put the state file back, from a copy or from a backup beside it, or name it with -state. If it is lost, make a new one from what the hosts hold:\n\n"+
			"  kubewright state recover", lineage, strings.Join(lines, "\n")),
	}
}

func (n *node) refuseForeign() *diag.Diagnostic {
	var found []string
	for _, p := range tracesOfCluster {
		if n.report.Files[p].Exists {
			found = append(found, p)
		}
	}
	if n.cluster.view.recordedNode(n.target) {
		return n.refuseUnknown(found)
	}
	return &diag.Diagnostic{
		Severity: diag.Error, Summary: strayHost, Address: n.target.String(),
		Detail: fmt.Sprintf("%s (%s) holds files of a Kubernetes cluster that kubewright did not make: %s. "+
			"Nothing is changed on any host. Take another host, or clean this one (kubeadm reset) if that cluster is not needed. "+
			"If it is the cluster that this configuration means, adopt it: kubewright import says how.",
			n.target, n.Address, strings.Join(found, ", ")), Subject: n.Source,
	}
}

// refuseUnknown speaks of a node of the state's whose host holds a cluster's files and
// nothing any more by which kubewright knows it.
func (n *node) refuseUnknown(found []string) *diag.Diagnostic {
	return diag.Errorf(strayHost, "%s (%s) is a node of cluster %q by the state, and its host holds files of a Kubernetes cluster (%s), but not %s, by which kubewright knows its hosts: "+
		"it was deleted, or another host is at this address. Nothing is changed on any host. If it is the host that joined, put that folder back from a backup, or have the node leave and join again:\n\n"+
		"  kubewright apply %s\n\nIf it is another one, correct the address, or clean it (kubeadm reset) if what is on it is not needed.",
		n.target, n.Address, n.Cluster, strings.Join(found, ", "), ownFolder, AsFlags(n.target, ReplaceFlag)).At(n.Source).For(n.target)
}

func (n *node) refuseLineage(m *state.Marks) *diag.Diagnostic {
	return &diag.Diagnostic{
		Severity: diag.Error, Summary: foreignHost, Address: n.target.String(), Subject: n.Source,
		Detail: fmt.Sprintf("%s (%s) is %s of cluster %q in the state with lineage %s; the state here has lineage %s. Nothing is changed on any host. "+
			"Use the folder and state that made it, or take another host.", n.target, n.Address, m.Node, m.Cluster, m.Lineage, n.cluster.view.Recorded.Lineage),
	}
}

// recordedElsewhere is the other cluster in which the state has a node. What it
// has there would be taken off the very host that the configuration keeps.
func (n *node) recordedElsewhere() string {
	v := n.cluster.view
	if !v.recordedNode(n.target) || v.Recorded.Nodes[n.target].Cluster == n.Cluster {
		return ""
	}
	label := v.Recorded.Nodes[n.target].Cluster
	if v.Destroy && (n.report.Marks == nil || n.report.Marks.Cluster != label) {
		return "" // what goes anyway may go by either name
	}
	return label
}

// refuseElsewhere speaks of nodes that the state has in another cluster: one
// finding for all of them, as they have one cause.
func (c *cluster) refuseElsewhere(label string, nodes []*node) *diag.Diagnostic {
	var lines []string
	for _, n := range nodes {
		lines = append(lines, fmt.Sprintf("  %s (%s)", n.target, n.Address))
	}
	remedy := c.fromElsewhere(label, "take these nodes out of the configuration, apply, and put them back.")
	return &diag.Diagnostic{
		Severity: diag.Error, Summary: "Host belongs to another cluster", Address: c.target.String(), Subject: c.Source,
		Detail: fmt.Sprintf("The state has these nodes in cluster %q, and the configuration in %q. Nothing is changed on any host:\n\n%s\n\n%s",
			label, c.Label, strings.Join(lines, "\n"), remedy),
	}
}

// fromElsewhere says how hosts of another cluster come into this one; leaving is how
// they leave that.
func (c *cluster) fromElsewhere(label, leaving string) string {
	if c.view.Config.Cluster(label) == nil && c.view.Recorded.Clusters[c.Label] == nil {
		return fmt.Sprintf("If that cluster has another name now, say so:\n\n  moved {\n    from = cluster.%s\n    to   = cluster.%s\n  }\n\n"+
			"If they are to be another cluster, destroy the one that is there first, while its block is still written.", label, c.Label)
	}
	return "A host changes its cluster by leaving the one and joining the other: " + leaving
}

// leavingAt are the recorded nodes that would be taken off a host, by its address.
func (v *View) leavingAt() map[string]state.Target {
	if v.Destroy {
		return nil
	}
	out := map[string]state.Target{}
	for _, l := range v.leavers() {
		if !l.replaced && l.report != nil {
			out[l.Address] = l.target
		}
	}
	return out
}

// refuseLeaver speaks of a host that the state has as another node, which is to
// leave: its reset would take away what this node is.
func (n *node) refuseLeaver(leaver state.Target) *diag.Diagnostic {
	remedy := fmt.Sprintf("If %s is its name now, say so:\n\n  moved {\n    from = %s\n    to   = %s\n  }\n\n"+
		"If it is another node, apply without it first, so that the old one leaves.", n.target, leaver, n.target)
	if label := n.cluster.view.Recorded.Nodes[leaver].Cluster; label != n.Cluster {
		remedy = fmt.Sprintf("%s is a node of cluster %q, and %s is one of %q. ", leaver, label, n.target, n.Cluster) +
			n.cluster.fromElsewhere(label, "apply without this node first, so that the old one leaves, and put it back.")
	}
	return diag.Errorf(otherNode, "%s is %s in the state, which is no longer in the configuration and would be taken off this host. "+
		"Nothing is changed on any host. %s", n.Address, leaver, remedy).At(n.Source).For(n.target)
}

func (n *node) refuseCluster(m *state.Marks) *diag.Diagnostic {
	return &diag.Diagnostic{
		Severity: diag.Error, Summary: strayHost, Address: n.target.String(), Subject: n.Source,
		Detail: fmt.Sprintf("%s (%s) is a node of cluster %q. Nothing is changed on any host. Destroy it there before it joins %q.", n.target, n.Address, m.Cluster, n.Cluster),
	}
}

func short(digest string) string {
	if len(digest) > 12 {
		return digest[:12]
	}
	return digest
}
