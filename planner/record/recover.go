package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/immutable"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Recover rebuilds a lost state from the markers on the hosts: lineage, run token, and the nodes
// that identify the hosts. Record adds the items that are observed to be as desired. Errors among
// the diagnostics mean that the markers do not allow it.
func Recover(v *topology.Fleet) (*state.State, diag.Diagnostics) {
	v = resolve.NewFleet(v)
	if diags := ownership.NewerMarks(v); diags.HasErrors() {
		return nil, diags
	}
	st := &state.State{FormatVersion: state.FormatVersion, Nodes: map[state.Target]*state.RecordedNode{}}
	r := recovery{state: st, lineages: map[string][]string{}}
	for _, c := range v.Clusters {
		for _, n := range c.Nodes {
			r.node(n)
		}
		r.cluster(c)
	}
	r.agree()
	if r.diags.HasErrors() {
		return nil, r.diags
	}
	st.RunToken = state.VouchedRun(r.seen)
	r.adopted(v)
	return st, r.diags
}

// Relearn compares the result of Recover with the configuration, so that Record can add the items.
// Reasons that prevent a change do not matter here: the next plan reports them, and may need the
// state to do so. But it does check immutable settings, because a wrong value would be recorded as
// the cluster's own.
func Relearn(v *topology.Fleet, header planner.Plan) (topology.Result, diag.Diagnostics) {
	r, diags := pipeline.Plan(topology.WithRefreshOnly(v), header, planner.Options{})
	if !diags.HasErrors() {
		diags = append(diags, immutable.Check(r.Fleet)...)
	}
	return r, diags
}

// recovery collects what the markers say.
type recovery struct {
	state *state.State
	// lineages has the hosts of each lineage.
	lineages map[string][]string
	// seen are the run tokens of the hosts.
	seen  []state.SeenRun
	diags diag.Diagnostics
}

func (r *recovery) refuse(n *topology.Node, format string, args ...any) {
	r.diags.Append(diag.Errorf("State cannot be recovered", format, args...).At(n.Source).For(n.Target))
}

func (r *recovery) node(n *topology.Node) {
	if n.Report == nil {
		u := n.Cluster.Fleet.Unobserved[n.Target]
		r.refuse(n, "%s (%s) could not be observed, and the state has to record what it holds. "+
			"Bring it back and run the same command again; if it is gone for good, remove it from the configuration first.\n\n%s", n.Target, n.Address, ownership.Reason(u))
		return
	}
	m := n.Report.Marks
	switch {
	case m == nil && topology.Blank(n.Report):
		if staticpod.MembersKnown(n.Cluster) && staticpod.MemberName(n) != "" {
			// Its host was reinstalled: record the node so that it can be replaced, because etcd
			// still lists it.
			r.state.Nodes[n.Target] = recovered(n)
		} // otherwise the node has yet to join
	case unchanged(n.Report) && sharesCA(n) && n.NodeCondition() != state.NodeMissing:
		// Adopted and unchanged since: its CA makes it a node of the cluster. If the nodes cannot
		// be queried now, a finding about the cluster says so.
		r.state.Nodes[n.Target] = recovered(n)
		if m != nil {
			r.lineage(n, m)
		}
	case m == nil:
		r.diags.Append(ownership.RefuseForeign(n))
	case m.Cluster != n.Node.Cluster || m.Node != n.Target:
		r.refuse(n, "%s (%s) is %s of cluster %q in the state that created it, and %s of cluster %q in this configuration. "+
			"Use the configuration that created it, or correct the addresses here.", n.Target, n.Address, m.Node, m.Cluster, n.Target, n.Node.Cluster)
	default:
		r.lineage(n, m)
		r.state.Nodes[n.Target] = recovered(n)
	}
}

// recovered returns the record of a node according to its host: if its block has another role, that
// is a change which the next plan shows.
func recovered(n *topology.Node) *state.RecordedNode {
	r := nodeRecord(n)
	r.Role = string(cmp.Or(n.OtherRole(), n.Role))
	return r
}

// lineage records the lineage and the last run that a host has seen.
func (r *recovery) lineage(n *topology.Node, m *state.Marks) {
	r.lineages[m.Lineage] = append(r.lineages[m.Lineage], fmt.Sprintf("  %s: %s (%s)", m.Lineage, n.Target, n.Address))
	r.state.Lineage = m.Lineage
	r.seen = append(r.seen, state.SeenRun{Target: n.Target, ControlPlane: n.IsControlPlane(), Token: m.Token})
}

// cluster checks that a cluster can be identified: one CA on all control planes, and an API that
// answers if there is data to serve.
func (r *recovery) cluster(c *topology.Cluster) {
	cas := map[string][]string{}
	data := false
	for _, n := range c.ControlPlanes() {
		if n.Report == nil || n.Report.Marks == nil && !sharesCA(n) {
			continue
		}
		data = data || n.Report.Files[n.EtcdData()].Exists || c.Etcd.External != nil && n.Report.Files[topology.AdminConf].Exists
		if certs := n.Report.Files[c.Certificates.Dir+"/ca.crt"].Certificates; len(certs) > 0 {
			ca := certs[0].KeyDigest
			cas[ca] = append(cas[ca], fmt.Sprintf("  %s: %s (%s)", topology.Short(ca), n.Target, n.Address))
		}
	}
	if len(cas) > 1 {
		r.diags.Append(diag.Errorf("State cannot be recovered", "The control planes of cluster %q have different CAs, so they are not one cluster:\n\n%s\n\n"+
			"Remove those of another cluster from this configuration, or correct their addresses.", c.Label, lines(cas)).At(c.Source).For(c.Target))
	}
	if data && c.Report == nil {
		r.diags.Append(diag.Errorf("State cannot be recovered", "The API of cluster %q did not answer, and a cluster that has data is recovered only while it runs: %s. "+
			"Start it (systemctl status kubelet and crictl ps on a control plane show what is missing) and run the same command again.",
			c.Label, maintenance.ReasonOrUnknown(c.Fleet.ClusterErrors[c.Label])).At(c.Source).For(c.Target))
		return
	}
	r.unmanaged(c)
}

// unchanged reports whether a host of some cluster has no node of kubewright's: at most the token
// of a run that was interrupted before it marked the host.
func unchanged(r *state.Report) bool {
	return !topology.Traceless(r) && (r.Marks == nil || r.Marks.Cluster == "")
}

// sharesCA reports whether the host belongs to the cluster of other hosts with kubewright's
// markers.
func sharesCA(n *topology.Node) bool {
	return slices.ContainsFunc(n.Cluster.Nodes, func(o *topology.Node) bool {
		m := topology.MarksOf(o.Report)
		return m != nil && m.Cluster == n.Node.Cluster && m.Node == o.Target && slices.Contains(topology.ClusterIdentities(o.Report, n.Cluster.CABase()), ownership.CADigest(n))
	})
}

// adopted records what nodes lack that existed before kubewright. Their hosts have no marker yet,
// or one that was written while a kubelet was already running there.
func (r *recovery) adopted(v *topology.Fleet) {
	existed := func(n *topology.Node) bool {
		return r.state.Nodes[n.Target] != nil && (unchanged(n.Report) || ranBefore(n.Report.Marks))
	}
	var labels []string
	for _, c := range v.Clusters {
		if slices.ContainsFunc(c.Nodes, existed) {
			labels = append(labels, c.Label)
		}
	}
	v, found := pipeline.SituateClusters(v, labels)
	for _, c := range v.Clusters {
		r.diags = append(r.diags, found[c.Target]...)
		for _, n := range c.Nodes {
			if existed(n) {
				r.state.Nodes[n.Target] = adopted(n)
			}
		}
	}
}

// ranBefore reports whether a kubelet ran on a host when it was marked.
func ranBefore(m *state.Marks) bool {
	if m == nil {
		return false
	}
	_, active, _ := strings.Cut(m.Before["unit:"+topology.KubeletUnit], " ")
	return active == "active"
}

// unmanaged warns of nodes in the cluster that the configuration does not have: the recovered state
// does not record their hosts.
func (r *recovery) unmanaged(c *topology.Cluster) {
	if slices.ContainsFunc(c.Nodes, func(n *topology.Node) bool { return n.NodeName == "" }) {
		return // a configured node whose host did not answer would count as unmanaged; recovery is refused anyway
	}
	if names := c.UnmanagedNodes(); len(names) > 0 {
		r.diags.Append(diag.Warningf(unconfigured, "Cluster %q has unmanaged nodes: %s. The new state does not record their hosts, "+
			"so kubewright leaves them alone. To have it manage or remove one that it created, add its block, move the new state away and recover again.", c.Label, strings.Join(names, ", ")).At(c.Source).For(c.Target))
	}
}

const unconfigured = "Cluster has unmanaged nodes"

// agree checks that there are markers and that all have the same lineage.
func (r *recovery) agree() {
	switch {
	case len(r.lineages) > 1:
		r.diags.Append(diag.Errorf("State cannot be recovered", "The hosts belong to different states, which no single state can replace:\n\n%s\n\n"+
			"Remove the hosts of other states from this configuration.", lines(r.lineages)))
	case len(r.lineages) == 0 && !r.diags.HasErrors():
		r.diags.Append(diag.Errorf("Nothing to recover", "No host of this configuration was set up by kubewright: all are blank. Run %s.", remedy.Plan))
	}
}

// lines joins the texts of a map, sorted by key.
func lines(texts map[string][]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		out = append(out, texts[key]...)
	}
	return strings.Join(out, "\n")
}
