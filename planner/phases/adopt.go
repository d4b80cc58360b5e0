package phases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Adopt is what the state has to learn so that clusters which somebody else
// made, by their labels, are ours: their identities, and their nodes with what
// each does without. It reads what was observed and nothing else; a blank host is
// a node to come. Errors among the diagnostics mean that there is nothing to adopt.
func Adopt(v *View, labels []string) (state.Learned, diag.Diagnostics) {
	v.resolve()
	l := state.Learned{Nodes: map[state.Target]*state.RecordedNode{}, Clusters: map[string]*state.RecordedCluster{}}
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		if !slices.Contains(labels, c.Label) {
			continue
		}
		found := append(c.adoptable(), c.checkFixed()...)
		if diags = append(diags, found...); found.HasErrors() {
			continue
		}
		diags = append(diags, c.situate()...)
		if names := c.strangers(); len(names) > 0 {
			diags.Append(diag.Warningf(unconfigured, "Cluster %q is adopted without nodes that no block speaks of: %s. kubewright does not know their hosts, and leaves them alone. "+
				"Add their blocks first, or later and beside an import block of the cluster.", c.Label, strings.Join(names, ", ")).At(c.Source).For(c.target))
		}
		for _, n := range c.nodes {
			if blank(n.report) {
				continue
			}
			l.Nodes[n.target] = n.adopted()
		}
		if rec := c.record(); rec != nil {
			l.Clusters[c.Label] = rec
		}
	}
	return l, diags
}

// Imports is what the state has to learn of the clusters that import blocks speak
// of and that it does not know yet, in all or in part.
func Imports(v *View) (state.Learned, diag.Diagnostics) {
	var labels, known []string
	for _, i := range v.Config.Imports {
		if v.Recorded == nil || v.Recorded.Clusters[i.To.Name] == nil {
			labels = append(labels, i.To.Name)
		} else {
			known = append(known, i.To.Name)
		}
	}
	if len(labels)+len(known) == 0 || v.Destroy {
		return state.Learned{}, nil
	}
	l, diags := Adopt(v, labels)
	for _, c := range v.clusters {
		others := c.others()
		if len(others) == 0 || !slices.Contains(known, c.Label) || c.situate().HasErrors() { // the plan says them
			continue
		}
		var refused refusals
		for _, n := range others {
			if refused.role(n); n.otherRole() == "" {
				l.Nodes[n.target] = n.adopted()
			}
		}
		diags = append(diags, refused.findings(c)...)
	}
	return l, diags
}

// others are nodes of a cluster that the state knows without them, and whose hosts have
// no mark: their blocks came later, or the state was made to forget them.
func (c *cluster) others() []*node {
	if c.report == nil || c.recordedCA() == "" {
		return nil
	}
	known := vouched([]string{c.recordedCA()}, c.planeReports(), c.caBase())
	return slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool {
		return n.report == nil || c.view.recordedNode(n.target) || !unchanged(n.report) || !c.knows(n) || !slices.Contains(known, n.caDigest())
	})
}

// adopted is what is remembered of a node that was there before kubewright.
func (n *node) adopted() *state.RecordedNode {
	r := n.record()
	r.Adopted = &state.Adoption{Without: n.without()}
	return r
}

// importedFrom is the host that a target is imported from; empty when it is not.
func (v *View) importedFrom(t state.Target, label string) string {
	if v.Imported.Nodes[t] == nil && (t.Type != state.TypeCluster || v.Imported.Clusters[label] == nil) {
		return ""
	}
	for _, i := range v.Config.Imports {
		if i.To.Name == label {
			return i.ID
		}
	}
	return ""
}

// adoptable checks that the hosts of a cluster are those of one running cluster
// that is nobody's.
func (c *cluster) adoptable() diag.Diagnostics {
	const summary = "Cluster cannot be adopted"
	var diags diag.Diagnostics
	if c.report == nil {
		diags.Append(diag.Errorf(summary, "The API of cluster %q did not answer, and a cluster is adopted while it runs: %s. Start it, and run the same command again.",
			c.Label, orUnknown(c.view.ClusterErrors[c.Label])).At(c.Source).For(c.target))
	}
	cas, refused := map[string][]string{}, refusals{}
	for _, n := range c.nodes {
		who := fmt.Sprintf("%s (%s)", n.target, n.Address)
		switch m := marksOf(n.report); {
		case n.report == nil:
			refused.dark = append(refused.dark, reason(c.view.Unobserved[n.target]))
			continue
		case m != nil && m.Cluster != "":
			refused.owned = append(refused.owned, fmt.Sprintf("  %s: %s of cluster %q, lineage %s", who, m.Node, m.Cluster, m.Lineage))
			continue
		case blank(n.report):
			continue
		}
		if ca := n.caDigest(); ca != "" {
			cas[ca] = append(cas[ca], "  "+short(ca)+": "+n.target.String()+" ("+n.Address+")")
		}
		if c.report != nil && !c.knows(n) {
			refused.unknown = append(refused.unknown, fmt.Sprintf("  %s: %q", who, n.name))
		}
		refused.role(n)
	}
	diags = append(diags, refused.findings(c)...)
	if len(cas) > 1 {
		diags.Append(diag.Errorf(summary, "The hosts of cluster %q have different CAs, so they are not one cluster:\n\n%s\n\nNothing was changed. "+
			"Take those of another cluster out of the configuration, or correct their addresses.", c.Label, lines(cas)).At(c.Source).For(c.target))
	}
	return diags
}

// refusals are the hosts that keep a cluster from being adopted, by why.
type refusals struct{ dark, owned, unknown, roles []string }

// role refuses a host that is something else in its cluster than the node's block says:
// its member of etcd would be nobody's business, or one be missed that it never had.
func (r *refusals) role(n *node) {
	if there := n.otherRole(); there != "" {
		r.roles = append(r.roles, fmt.Sprintf("  %s (%s): a %s", n.target, n.Address, there))
	}
}

// findings are one for each reason, with its hosts.
func (r refusals) findings(c *cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	say := func(hosts []string, format string, args ...any) {
		if len(hosts) > 0 {
			diags.Append(diag.Errorf("Cluster cannot be adopted", format+"\n\n"+strings.ReplaceAll(strings.Join(hosts, "\n"), "%", "%%"), args...).At(c.Source).For(c.target))
		}
	}
	say(r.dark, "Not all hosts of cluster %q could be looked at, and what they are like belongs into the state. Nothing was changed.", c.Label)
	say(r.owned, "Hosts of cluster %q belong to a state of kubewright already, which has made or adopted them before. "+
		"Use the folder with that state; if it is lost, kubewright state recover makes it anew.", c.Label)
	if c.report != nil {
		say(r.unknown, "Hosts hold files of a Kubernetes cluster, but cluster %q has no nodes of their names: it has %s. "+
			"Take them out of the configuration, or give the nodes' attribute name.", c.Label, strings.Join(c.nodeNames(), ", "))
	}
	say(r.roles, "Hosts are something else in cluster %q than their blocks say. Nothing was changed. Give each the role that it has; what it is to become is a change of the next plan.", c.Label)
	return diags
}

func marksOf(r *state.Report) *state.Marks {
	if r == nil {
		return nil
	}
	return r.Marks
}

func orUnknown(reason string) string {
	if reason == "" {
		return "no control plane has an administrator's kubeconfig (" + adminConf + ")"
	}
	return reason
}

// knows tells that the API has the node.
func (c *cluster) knows(n *node) bool {
	_, ok := c.report.Nodes[n.name]
	return ok
}

func (c *cluster) nodeNames() []string { return sortedNames(c.report.Nodes) }

// caDigest is the identity of the cluster that the host belongs to.
func (n *node) caDigest() string {
	if certs := n.report.Files[n.cluster.Certificates.Dir+"/ca.crt"].Certificates; len(certs) > 0 {
		return certs[0].KeyDigest
	}
	return ""
}

// adoption is what is remembered of the node when somebody else made it. What is
// replaced, or was reset since, joins as ours.
func (n *node) adoption() *state.Adoption {
	v := n.cluster.view
	if !v.recordedNode(n.target) || v.replaces(n.target) || n.report != nil && blank(n.report) {
		return nil
	}
	return v.Recorded.Nodes[n.target].Adopted
}

// unmarked tells that the node was adopted and its host does not carry our mark
// yet: nothing was changed there.
func (n *node) unmarked() bool {
	return n.report != nil && n.adoption() != nil && (n.report.Marks == nil || n.report.Marks.Cluster == "")
}

// checkAdopted refuses a host without a mark that is not of the cluster which
// was adopted. While its CA is rotated a host may hold the new one before it is marked.
func (n *node) checkAdopted() diag.Diagnostics {
	recorded := n.cluster.view.Recorded
	if m := n.report.Marks; m != nil && m.Lineage != "" && recorded.Lineage != "" && m.Lineage != recorded.Lineage {
		return diag.Diagnostics{n.refuseLineage(m)}
	}
	ca := n.cluster.recordedCA()
	if seen := n.caDigest(); ca == "" || seen == "" || slices.Contains(vouched([]string{ca}, n.cluster.planeReports(), n.cluster.caBase()), seen) {
		return nil
	}
	return diag.Diagnostics{diag.Errorf(strayHost, "%s (%s) holds the CA %s, and cluster %q was adopted with the CA %s. "+
		"Nothing is changed on any host. Correct the address, or clean the host (kubeadm reset) and plan again.",
		n.target, n.Address, short(n.caDigest()), n.Cluster, short(ca)).At(n.Source).For(n.target)}
}

// spared are the kinds of which an adopted node may do without: images, which
// its kubelet fetches when it needs them, and the files that keep sysctls and
// modules which are set and loaded already.
func spared(it *state.Item) bool {
	return it.Kind == state.KindImage || it.Kind == state.KindMark || it.Kind == state.KindFile && (it.Address.ID() == sysctlFile || it.Address.ID() == modulesFile)
}

// without are the items that the node does without, when it is adopted.
func (n *node) without() []string {
	var out []string
	for _, it := range n.desired() {
		if _, there := n.cluster.view.observe(&it); !there && spared(&it) && it.Kind != state.KindMark {
			out = append(out, itemName(&it))
		}
	}
	slices.Sort(out)
	return out
}

// itemName is an item's address on its node: images/image:REF.
func itemName(it *state.Item) string { return it.Address.Phase + "/" + it.Address.Item }

// missed are the items without those that an adopted node does without.
func (n *node) missed(items []state.Item) []state.Item {
	a := n.adoption()
	if a == nil {
		return items
	}
	return slices.DeleteFunc(items, func(it state.Item) bool {
		return it.Kind == state.KindMark && n.unmarked() || spared(&it) && slices.Contains(a.Without, itemName(&it))
	})
}

// markAdopted puts our mark on the hosts of adopted nodes that are going to be
// changed: from then on each remembers whose it is.
func (v *View) markAdopted(changes []planner.Change) ([]state.Item, []planner.Change) {
	marks := &state.Snapshot{}
	for _, c := range v.clusters {
		for _, n := range c.nodes {
			if n.unmarked() && slices.ContainsFunc(changes, func(c planner.Change) bool { return c.Address.Target == n.target }) {
				marks.Items = append(marks.Items, n.markItem())
			}
		}
	}
	return marks.Items, planner.Diff(marks, &state.Snapshot{}, &state.Snapshot{})
}

// adoptedMarks are those of an adopted host that has none yet, while its node is
// replaced. Of what was there before nothing is known but that folders which
// others use as well stay.
func (l leaver) adoptedMarks() *state.Marks {
	m := &state.Marks{Format: state.MarksFormat, Cluster: l.Cluster, Node: l.target, Before: map[string]string{}}
	for _, p := range foldersBefore {
		if f := l.report.Files[p]; f.Exists && !slices.Contains(foldersOfKubernetes, p) {
			m.Before["folder:"+p] = f.Mode + " " + f.Owner
		}
	}
	return m
}
