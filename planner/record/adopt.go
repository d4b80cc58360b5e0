package record

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner/immutable"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/phases"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Adopt returns what the state has to record to adopt existing clusters, by their labels: their
// identities, and their nodes with the optional items that each lacks. It only uses the
// observation; a blank host is a node that has yet to join. Errors among the diagnostics mean that
// the clusters cannot be adopted.
func Adopt(v *topology.Fleet, labels []string) (state.Learned, diag.Diagnostics) {
	return adopt(resolve.NewFleet(v), labels)
}

// adopt is Adopt of a resolved fleet.
func adopt(v *topology.Fleet, labels []string) (state.Learned, diag.Diagnostics) {
	situated, statuses := pipeline.SituateClusters(v, labels)
	l := state.Learned{Nodes: map[state.Target]*state.RecordedNode{}, Clusters: map[string]*state.RecordedCluster{}}
	var diags diag.Diagnostics
	for i, c := range v.Clusters {
		if !slices.Contains(labels, c.Label) {
			continue
		}
		found := append(adoptable(c), immutable.CheckCluster(c)...)
		if diags = append(diags, found...); found.HasErrors() {
			continue
		}
		diags, c = append(diags, statuses[c.Target]...), situated.Clusters[i]
		if names := c.UnmanagedNodes(); len(names) > 0 {
			diags.Append(diag.Warningf(unconfigured, "Cluster %q is adopted without its unmanaged nodes: %s. "+
				"kubewright does not know their hosts, and leaves them alone. Add their blocks first, or later and beside an import block of the cluster.", c.Label, strings.Join(names, ", ")).At(c.Source).For(c.Target))
		}
		for _, n := range c.Nodes {
			if topology.Blank(n.Report) {
				continue
			}
			l.Nodes[n.Target] = adopted(n)
		}
		if rec := clusterRecord(c); rec != nil {
			l.Clusters[c.Label] = rec
		}
	}
	return l, diags
}

// Imports returns what the state has to record for the clusters of import blocks that it does not
// record yet, completely or in part.
func Imports(v *topology.Fleet) (state.Learned, diag.Diagnostics) {
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
	v = resolve.NewFleet(v)
	l, diags := adopt(v, labels)
	v, statuses := pipeline.SituateClusters(v, known)
	for _, c := range v.Clusters {
		others := clusterOthers(c)
		if len(others) == 0 || !slices.Contains(known, c.Label) || statuses[c.Target].HasErrors() { // the plan reports the errors
			continue
		}
		var refused refusals
		for _, n := range others {
			if refused.role(n); n.OtherRole() == "" {
				l.Nodes[n.Target] = adopted(n)
			}
		}
		diags = append(diags, refused.findings(c)...)
	}
	return l, diags
}

// clusterOthers returns unrecorded nodes of a recorded cluster whose hosts have no marker: their
// blocks were added later, or they were removed from the state.
func clusterOthers(c *topology.Cluster) []*topology.Node {
	if c.Report == nil || c.RecordedCA() == "" {
		return nil
	}
	known := ownership.Vouched([]string{c.RecordedCA()}, ownership.ControlPlaneReports(c), c.CABase())
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n *topology.Node) bool {
		return n.Report == nil || c.Fleet.RecordedNode(n.Target) || !unchanged(n.Report) || n.NodeCondition() == state.NodeMissing || !slices.Contains(known, ownership.CADigest(n))
	})
}

// adopted returns the record of a node that existed before kubewright.
func adopted(n *topology.Node) *state.RecordedNode {
	r := nodeRecord(n)
	r.Adopted = &state.Adoption{Without: without(n)}
	return r
}

// adoptable checks that the hosts of a cluster belong to one running cluster that no state records.
func adoptable(c *topology.Cluster) diag.Diagnostics {
	const summary = "Cluster cannot be adopted"
	var diags diag.Diagnostics
	if c.Report == nil {
		diags.Append(diag.Errorf(summary, "The API of cluster %q did not answer, and a cluster is adopted only while it runs: %s. Start it, and run the same command again.",
			c.Label, maintenance.ReasonOrUnknown(c.Fleet.ClusterErrors[c.Label])).At(c.Source).For(c.Target))
	}
	cas, refused := map[string][]string{}, refusals{}
	for _, n := range c.Nodes {
		who := fmt.Sprintf("%s (%s)", n.Target, n.Address)
		switch m := topology.MarksOf(n.Report); {
		case n.Report == nil:
			refused.dark = append(refused.dark, ownership.Reason(c.Fleet.Unobserved[n.Target]))
			continue
		case m != nil && m.Cluster != "":
			refused.owned = append(refused.owned, fmt.Sprintf("  %s: %s of cluster %q, lineage %s", who, m.Node, m.Cluster, m.Lineage))
			continue
		case topology.Blank(n.Report):
			continue
		}
		if ca := ownership.CADigest(n); ca != "" {
			cas[ca] = append(cas[ca], "  "+topology.Short(ca)+": "+n.Target.String()+" ("+n.Address+")")
		}
		if n.NodeCondition() == state.NodeMissing {
			refused.unknown = append(refused.unknown, fmt.Sprintf("  %s: %q", who, n.NodeName))
		}
		refused.role(n)
	}
	diags = append(diags, refused.findings(c)...)
	if len(cas) > 1 {
		diags.Append(diag.Errorf(summary, "The hosts of cluster %q have different CAs, so they are not one cluster:\n\n%s\n\n"+
			"Remove those of another cluster from the configuration, or correct their addresses.", c.Label, lines(cas)).At(c.Source).For(c.Target))
	}
	return diags
}

// refusals are the hosts that prevent a cluster from being adopted, by reason.
type refusals struct{ dark, owned, unknown, roles []string }

// role refuses a host whose role in the cluster differs from the node's block: its etcd member
// would be unmanaged, or a member expected that never existed.
func (r *refusals) role(n *topology.Node) {
	if there := n.OtherRole(); there != "" {
		r.roles = append(r.roles, fmt.Sprintf("  %s (%s): a %s", n.Target, n.Address, there))
	}
}

// findings returns a finding for each reason, with its hosts.
func (r refusals) findings(c *topology.Cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	say := func(hosts []string, format string, args ...any) {
		if len(hosts) > 0 {
			diags.Append(diag.Errorf("Cluster cannot be adopted", format+"\n\n"+strings.ReplaceAll(strings.Join(hosts, "\n"), "%", "%%"), args...).At(c.Source).For(c.Target))
		}
	}
	say(r.dark, "Not all hosts of cluster %q could be observed, and the state has to record what they hold.", c.Label)
	say(r.owned, "Hosts of cluster %q already belong to a state of kubewright, which has created or adopted them before. "+
		"Use the folder with that state; if it is lost, %s rebuilds it.", c.Label, remedy.Recover)
	if c.Report != nil {
		say(r.unknown, "Hosts hold files of a Kubernetes cluster, but cluster %q has no nodes of their names: it has %s. "+
			"Remove them from the configuration, or set the attribute name of the nodes.", c.Label, strings.Join(nodeNames(c), ", "))
	}
	say(r.roles, "Hosts have another role in cluster %q than in their blocks. Give each the role that it has; change the role in the next plan.", c.Label)
	return diags
}

func nodeNames(c *topology.Cluster) []string { return host.SortedNames(c.Report.Nodes) }

// without returns the optional items that the node lacks when it is adopted.
func without(n *topology.Node) []string {
	var out []string
	for _, it := range phases.Desired(n) {
		if _, there := observe.Observe(n.Cluster.Fleet, &it); !there && pipeline.OptionalWhenAdopted(&it) && it.Kind != state.KindMark {
			out = append(out, pipeline.ItemName(&it))
		}
	}
	slices.Sort(out)
	return out
}
