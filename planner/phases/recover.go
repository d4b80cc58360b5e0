package phases

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Recover makes the beginning of a state that was lost from the marks on the
// hosts: lineage, run token, and the nodes by which hosts are found again. What
// is observed to be as the configuration wants it is Record's to add. Errors
// among the diagnostics mean that the marks do not allow it.
func Recover(v *View) (*state.State, diag.Diagnostics) {
	v.resolve()
	if diags := v.newerMarks(); diags.HasErrors() {
		return nil, diags
	}
	st := &state.State{FormatVersion: state.FormatVersion, Nodes: map[state.Target]*state.RecordedNode{}}
	r := recovery{state: st, lineages: map[string][]string{}}
	for _, c := range v.clusters {
		for _, n := range c.nodes {
			r.node(n)
		}
		r.cluster(c)
	}
	r.agree()
	if r.diags.HasErrors() {
		return nil, r.diags
	}
	st.RunToken = state.VouchedRun(r.seen)
	for _, c := range v.clusters {
		r.adopted(c)
	}
	return st, r.diags
}

// Relearn compares what Recover has found with the configuration, for Record to add
// the items. What would keep a change from being made is no matter here: the next plan
// says it, and may need the state to say what to do. But another value of what stays
// for a cluster's life would be remembered as its own.
func Relearn(v *View, header planner.Plan) (Result, diag.Diagnostics) {
	v.RefreshOnly = true
	r, diags := Plan(v, header, planner.Options{})
	if !diags.HasErrors() {
		diags = append(diags, v.checkFixed()...)
	}
	return r, diags
}

// recovery collects what the marks say.
type recovery struct {
	state *state.State
	// lineages has the hosts of each lineage.
	lineages map[string][]string
	// seen are the run tokens of the hosts.
	seen  []state.SeenRun
	diags diag.Diagnostics
}

func (r *recovery) refuse(n *node, format string, args ...any) {
	r.diags.Append(diag.Errorf("State cannot be recovered", format, args...).At(n.Source).For(n.target))
}

func (r *recovery) node(n *node) {
	if n.report == nil {
		u := n.cluster.view.Unobserved[n.target]
		r.refuse(n, "%s (%s) could not be looked at, and what it holds belongs into the state. Bring it back and run the same command again; "+
			"if it is gone for good, take it out of the configuration first.\n\n%s", n.target, n.Address, reason(u))
		return
	}
	m := n.report.Marks
	switch {
	case m == nil && blank(n.report):
		if n.cluster.tellsMembers() && n.counted() != "" {
			// Its host was reinstalled: a node that can be replaced, as etcd has to be told.
			r.state.Nodes[n.target] = n.recovered()
		} // else a node to come
	case unchanged(n.report) && n.sharesCA() && (n.cluster.report == nil || n.cluster.knows(n)):
		// Adopted, and nothing was done there since: a node of the cluster by its CA. That
		// nobody can ask for nodes now is said of the cluster.
		r.state.Nodes[n.target] = n.recovered()
		if m != nil {
			r.lineage(n, m)
		}
	case m == nil:
		r.diags.Append(n.refuseForeign())
	case m.Cluster != n.Cluster || m.Node != n.target:
		r.refuse(n, "%s (%s) is %s of cluster %q to the state that made it, and %s of cluster %q to this configuration. "+
			"Use the configuration that made it, or correct the addresses here.", n.target, n.Address, m.Node, m.Cluster, n.target, n.Cluster)
	default:
		r.lineage(n, m)
		r.state.Nodes[n.target] = n.recovered()
	}
}

// recovered is what is remembered of a node by its host: another role than that of its
// block is a change, which the next plan shows.
func (n *node) recovered() *state.RecordedNode {
	r := n.record()
	r.Role = string(cmp.Or(n.otherRole(), n.Role))
	return r
}

// lineage takes up of which state's runs a host has seen the last.
func (r *recovery) lineage(n *node, m *state.Marks) {
	r.lineages[m.Lineage] = append(r.lineages[m.Lineage], fmt.Sprintf("  %s: %s (%s)", m.Lineage, n.target, n.Address))
	r.state.Lineage = m.Lineage
	r.seen = append(r.seen, state.SeenRun{Target: n.target, ControlPlane: n.isControlPlane(), Token: m.Token})
}

// cluster checks that a cluster's identity can be told: one CA on all control
// planes, and an API that answers where there is data to serve.
func (r *recovery) cluster(c *cluster) {
	cas := map[string][]string{}
	data := false
	for _, n := range c.controlPlanes() {
		if n.report == nil || n.report.Marks == nil && !n.sharesCA() {
			continue
		}
		data = data || n.report.Files["/var/lib/etcd/member"].Exists || c.Etcd.External != nil && n.report.Files[adminConf].Exists
		if certs := n.report.Files[c.Certificates.Dir+"/ca.crt"].Certificates; len(certs) > 0 {
			ca := certs[0].KeyDigest
			cas[ca] = append(cas[ca], fmt.Sprintf("  %s: %s (%s)", short(ca), n.target, n.Address))
		}
	}
	if len(cas) > 1 {
		r.diags.Append(diag.Errorf("State cannot be recovered", "The control planes of cluster %q have different CAs, so they are not one cluster:\n\n%s\n\n"+
			"Take those of another cluster out of this configuration, or correct their addresses.", c.Label, lines(cas)).At(c.Source).For(c.target))
	}
	if data && c.report == nil {
		r.diags.Append(diag.Errorf("State cannot be recovered", "The API of cluster %q did not answer, and a cluster that has data is recovered only while it runs: %s. "+
			"Start it (systemctl status kubelet and crictl ps on a control plane show what is missing) and run the same command again.",
			c.Label, orUnknown(c.view.ClusterErrors[c.Label])).At(c.Source).For(c.target))
		return
	}
	r.strangers(c)
}

// unchanged tells that a host of some cluster carries no node of ours: at most the token
// of a run that was cut short before it marked the host.
func unchanged(r *state.Report) bool {
	return !traceless(r) && (r.Marks == nil || r.Marks.Cluster == "")
}

// sharesCA tells that the host is of the cluster of which others carry our marks.
func (n *node) sharesCA() bool {
	return slices.ContainsFunc(n.cluster.nodes, func(o *node) bool {
		m := marksOf(o.report)
		return m != nil && m.Cluster == n.Cluster && m.Node == o.target && slices.Contains(goesBy(o.report, n.cluster.caBase()), n.caDigest())
	})
}

// adopted notes what nodes do without that were there before kubewright. Their hosts have
// no mark yet, or one from when a kubelet ran there already.
func (r *recovery) adopted(c *cluster) {
	nodes := slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool {
		return r.state.Nodes[n.target] == nil || !unchanged(n.report) && !ranBefore(n.report.Marks)
	})
	if len(nodes) == 0 {
		return
	}
	r.diags = append(r.diags, c.situate()...)
	for _, n := range nodes {
		r.state.Nodes[n.target] = n.adopted()
	}
}

// ranBefore tells that a kubelet ran on a host when it was marked.
func ranBefore(m *state.Marks) bool {
	if m == nil {
		return false
	}
	_, active, _ := strings.Cut(m.Before["unit:"+kubeletUnit], " ")
	return active == "active"
}

// strangers warns of nodes that the cluster has and the configuration has not:
// a state made here does not know their hosts.
func (r *recovery) strangers(c *cluster) {
	if names := c.strangers(); len(names) > 0 {
		r.diags.Append(diag.Warningf(unconfigured, "Cluster %q has nodes that no block speaks of: %s. "+
			"The new state does not know their hosts, so kubewright leaves them alone. To have it manage or remove one that it made, "+
			"add its block, move the new state away and recover again.", c.Label, strings.Join(names, ", ")).At(c.Source).For(c.target))
	}
}

const unconfigured = "Nodes are not in the configuration"

// strangers are the nodes that the cluster has and the configuration has not.
func (c *cluster) strangers() []string {
	if c.report == nil {
		return nil
	}
	known := map[string]bool{}
	for _, n := range c.nodes {
		known[n.name] = true
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.report.Nodes)) {
		if !known[name] {
			names = append(names, name)
		}
	}
	return names
}

// agree checks that there are marks and that all are of one lineage.
func (r *recovery) agree() {
	switch {
	case len(r.lineages) > 1:
		r.diags.Append(diag.Errorf("State cannot be recovered", "The hosts belong to different states, so no single state can stand for them:\n\n%s\n\n"+
			"Take the hosts of other states out of this configuration.", lines(r.lineages)))
	case len(r.lineages) == 0 && !r.diags.HasErrors():
		r.diags.Append(diag.Errorf("Nothing to recover", "No host of this configuration was made by kubewright: all are blank. Run kubewright plan."))
	}
}

// lines joins the texts of a map, in order.
func lines(texts map[string][]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		out = append(out, texts[key]...)
	}
	return strings.Join(out, "\n")
}
