package ownership

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"sort"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// RefuseSilent refuses a cluster of which control planes could not be observed. doubt is why the
// cluster itself does not account for them; empty for an operation that needs all of them.
func RefuseSilent(c *topology.Cluster, silent []*topology.Node, known bool, doubt string) diag.Diagnostics {
	var names []string
	for _, n := range silent {
		names = append(names, n.Target.String())
	}
	detail := fmt.Sprintf("Cluster %q: cannot observe %s", c.Label, strings.Join(names, ", "))
	var reasons []string
	for t, u := range c.Fleet.Unobserved {
		if n := c.Node(t); n != nil && n.IsControlPlane() && !n.Refused() {
			reasons = append(reasons, Reason(u))
		}
	}
	sort.Strings(reasons)
	switch {
	case !known:
		detail += ". A cluster is bootstrapped only after every control plane was observed to be blank: one that was not may hold the data of an existing cluster."
	case doubt != "":
		detail += ". The others are planned without it only while the cluster itself shows what is missing, and " + doubt + "."
		if len(silent) > 1 {
			detail = strings.Replace(detail, "without it only", "without them only", 1)
		}
	default:
		detail += ". What a control plane holds decides what is safe on the others, so this cluster is not planned."
	}
	return diag.Diagnostics{diag.Errorf(ControlPlaneNotObserved, "%s Fix the errors below and plan again.\n\n%s%s", detail, strings.Join(reasons, "\n"), toForget(c, silent)).At(c.Source)}
}

// toForget returns the remedy for control planes that are gone for good, if a control plane answers
// through which they can be removed or into which etcd can be restored.
func toForget(c *topology.Cluster, silent []*topology.Node) remedy.Text {
	var gone []remedy.Option
	for _, n := range silent {
		if !c.Fleet.Unobserved[n.Target].Answered { // a host that answers is never forgotten
			gone = append(gone, remedy.GoneHost.Of(n.Target))
		}
	}
	if c.Report == nil && !c.Fleet.Restores || len(silent) == len(c.ControlPlanes()) || len(gone) == 0 {
		return ""
	}
	if c.Fleet.Restores {
		return remedy.Textf("\n\nIf such a host is gone for good, remove its block, or its key, from the configuration; etcd is then restored without it:\n\n"+
			"  %s\n\nA removed block with unreachable = true does the same.", remedy.Restore.On("FILE").With(gone...))
	}
	return remedy.Textf("\n\nIf such a host is gone for good, remove its block, or its key, from the configuration; "+
		"its node is then removed from the cluster without it:\n\n  %s\n\nA removed block with unreachable = true does the same.", remedy.Apply.With(gone...))
}

// Reason returns why a host was not observed, followed by the remedy.
func Reason(u state.Unobserved) string {
	text := "  " + u.Target.String() + ": " + u.Reason
	if u.Remedy != "" {
		text += "\n    To do: " + u.Remedy + "."
	}
	return text
}

func RefuseLost(c *topology.Cluster) diag.Diagnostics {
	return diag.Diagnostics{diag.Errorf("Cluster is missing from its hosts", "Cluster %q is recorded in the state (CA %s), but no control plane holds any of it. "+
		"A recorded cluster is not bootstrapped a second time. If addresses changed, correct them. If a destroy was interrupted, run it again. "+
		"If the hosts were wiped on purpose and the data is not needed, remove the cluster from the state and plan again:\n\n  %s",
		c.Label, topology.Short(c.RecordedCA()), remedy.Forget.On(c.Target.String())).At(c.Source).For(c.Target)}
}

// CheckOwner refuses hosts that belong to another state, another cluster or another node block.
func CheckOwner(c *topology.Cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	orphans, elsewhere := map[string][]*topology.Node{}, map[string][]*topology.Node{}
	leaving := leavingAt(c.Fleet)
	for _, n := range c.Nodes {
		if n.Report == nil {
			continue
		}
		m := n.Report.Marks
		switch label, departing := recordedElsewhere(n), leaving[n.Address]; {
		case label != "":
			elsewhere[label] = append(elsewhere[label], n)
		case !departing.IsZero():
			diags = append(diags, refuseDeparture(n, departing))
		case pki.Unmarked(n):
			diags = append(diags, checkAdopted(n)...)
		case m == nil && !topology.Blank(n.Report):
			diags = append(diags, RefuseForeign(n))
		case m == nil:
		case c.Fleet.Recorded == nil:
			orphans[m.Lineage] = append(orphans[m.Lineage], n)
		case m.Lineage != c.Fleet.Recorded.Lineage:
			diags = append(diags, nodeRefuseLineage(n, m))
		case m.Cluster != c.Label && !renamedCluster(n, m):
			diags = append(diags, refuseCluster(n, m))
		default:
			if d := anotherNode(n, m); d != nil {
				diags = append(diags, d)
			}
		}
	}
	for _, lineage := range slices.Sorted(maps.Keys(orphans)) {
		diags = append(diags, refuseOrphans(c, lineage, orphans[lineage]))
	}
	for _, label := range slices.Sorted(maps.Keys(elsewhere)) {
		diags = append(diags, refuseElsewhere(c, label, elsewhere[label]))
	}
	return diags
}

// CheckForgotten refuses to destroy a cluster that the state does not record but whose hosts carry
// its marks: the destroy would leave it running and report success.
func CheckForgotten(c *topology.Cluster) diag.Diagnostics {
	if !c.Fleet.Destroy || c.Fleet.Remembers(c.Label) {
		return nil
	}
	var lines []string
	for _, n := range c.Nodes {
		if NodeForgotten(n) {
			lines = append(lines, fmt.Sprintf("  %s (%s)", n.Target, n.Address))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.Errorf("Hosts are not in the state", "Hosts of this configuration belong to cluster %q, which the state does not record, "+
		"so a destroy would leave it running:\n\n%s\n\nTo destroy it, run %s first, which records it again. "+
		"To keep it, remove its blocks from the configuration.", c.Label, strings.Join(lines, "\n"), remedy.Apply).At(c.Source).For(c.Target)}
}

// WarnForgotten warns of nodes that the next apply records again, or that a destroy does not touch.
func WarnForgotten(v *topology.Fleet) diag.Diagnostics {
	var names []string
	for _, t := range Unremembered(v) {
		names = append(names, t.String())
	}
	if len(names) == 0 {
		return nil
	}
	then := remedy.Text("An apply records them again and changes only what this plan shows. Until then, removing a block leaves its node running.")
	if v.Destroy {
		then = remedy.Textf("They are left as they are. To destroy them as well, run %s first, which records them again.", remedy.Apply)
	}
	return diag.Diagnostics{diag.Warningf("Node is not in the state", "Hosts that carry the mark of this state are not recorded in it: %s. %s", strings.Join(names, ", "), then)}
}

// Unremembered returns the nodes whose hosts are marked as this state's, but that it does not
// record: they were removed from the state.
func Unremembered(v *topology.Fleet) []state.Target {
	var out []state.Target
	for _, c := range v.Clusters {
		for _, n := range c.Nodes {
			if NodeForgotten(n) {
				out = append(out, n.Target)
			}
		}
	}
	return out
}

// NodeForgotten reports whether the host is marked as this state's, but the state does not record
// the node.
func NodeForgotten(n *topology.Node) bool {
	v := n.Cluster.Fleet
	if n.Report == nil || n.Report.Marks == nil || v.Recorded == nil {
		return false
	}
	m := n.Report.Marks
	return m.Lineage == v.Recorded.Lineage && !v.RecordedNode(n.Target) && !v.RecordedNode(m.Node)
}

// refuseOrphans refuses hosts that belong to a state which is missing here: one finding for all of
// them, as they have one cause.
func refuseOrphans(c *topology.Cluster, lineage string, nodes []*topology.Node) *diag.Diagnostic {
	var lines []string
	for _, n := range nodes {
		m := n.Report.Marks
		lines = append(lines, fmt.Sprintf("  %s (%s): %s of cluster %q", n.Target, n.Address, m.Node, m.Cluster))
	}
	return diag.Errorf("State file is missing", "Hosts of this configuration belong to a state with lineage %s, but there is no state file here. "+
		"No cluster is bootstrapped over them:\n\n%s\n\nRestore the state file from a copy or from a backup beside it, or name it with %s. "+
		"If it is lost, rebuild it from what the hosts hold:\n\n  %s",
		lineage, strings.Join(lines, "\n"), remedy.State, remedy.Recover).At(c.Source)
}

func RefuseForeign(n *topology.Node) *diag.Diagnostic {
	var found []string
	for _, p := range topology.TracesOfCluster {
		if n.Report.Files[p].Exists {
			found = append(found, p)
		}
	}
	if n.Cluster.Fleet.RecordedNode(n.Target) {
		return refuseUnknown(n, found)
	}
	return diag.Errorf(strayHost, "%s (%s) holds files of a Kubernetes cluster that kubewright did not create: %s. "+
		"Use another host, or clean this one (kubeadm reset) if that cluster is not needed. "+
		"If this configuration describes that cluster, adopt it. This writes blocks for it, and says how to go on:\n\n  %s",
		n.Target, n.Address, strings.Join(found, ", "), remedy.Import.On("ssh://"+strings.TrimSuffix(net.JoinHostPort(n.Address, ""), ":"))).At(n.Source).For(n.Target)
}

// refuseUnknown refuses a recorded node whose host has files of a cluster but no longer
// kubewright's marker.
func refuseUnknown(n *topology.Node, found []string) *diag.Diagnostic {
	return diag.Errorf(strayHost, "%s (%s) is recorded as a node of cluster %q and its host holds files of a Kubernetes cluster (%s), but not %s, "+
		"by which kubewright identifies its hosts: the folder was deleted, or another host has this address. "+
		"If it is the host that joined, restore that folder from a backup, or remove the node and join it again:\n\n  %s\n\n"+
		"If it is another host, correct the address, or clean it (kubeadm reset) if its data is not needed.",
		n.Target, n.Address, n.Node.Cluster, strings.Join(found, ", "), host.OwnFolder, remedy.Apply.With(remedy.Replace.Of(n.Target))).At(n.Source).For(n.Target)
}

func nodeRefuseLineage(n *topology.Node, m *state.Marks) *diag.Diagnostic {
	return diag.Errorf(foreignHost,
		"%s (%s) is %s of cluster %q in the state with lineage %s; the state here has lineage %s. Use the folder and state that created it, or use another host.", n.Target, n.Address, m.Node, m.Cluster, m.Lineage, n.Cluster.Fleet.Recorded.Lineage).At(n.Source).For(n.Target)
}

// recordedElsewhere returns the other cluster in which the state records a node. Removing the node
// from there would affect the very host that the configuration keeps.
func recordedElsewhere(n *topology.Node) string {
	v := n.Cluster.Fleet
	if !v.RecordedNode(n.Target) || v.Recorded.Nodes[n.Target].Cluster == n.Node.Cluster {
		return ""
	}
	label := v.Recorded.Nodes[n.Target].Cluster
	if v.Destroy && (n.Report.Marks == nil || n.Report.Marks.Cluster != label) {
		return "" // a destroy removes it under either name
	}
	return label
}

// refuseElsewhere refuses nodes that the state records in another cluster: one finding for all of
// them, as they have one cause.
func refuseElsewhere(c *topology.Cluster, label string, nodes []*topology.Node) *diag.Diagnostic {
	var lines []string
	for _, n := range nodes {
		lines = append(lines, fmt.Sprintf("  %s (%s)", n.Target, n.Address))
	}
	way := fromElsewhere(c, label, "remove these nodes from the configuration, apply, and add them back.")
	return diag.Errorf("Host belongs to another cluster",
		"The state records these nodes in cluster %q, but the configuration has them in %q:\n\n%s\n\n%s",
		label, c.Label, strings.Join(lines, "\n"), way).At(c.Source).For(c.Target)
}

// fromElsewhere returns how to move hosts from another cluster into this one; leaving says how they
// leave the other one.
func fromElsewhere(c *topology.Cluster, label, leaving string) string {
	if c.Fleet.Config.Cluster(label) == nil && c.Fleet.Recorded.Clusters[c.Label] == nil {
		return fmt.Sprintf("If that cluster was renamed, declare it:\n\n  moved {\n    from = cluster.%s\n    to   = cluster.%s\n  }\n\n"+
			"If the nodes belong to a new cluster, destroy the existing one first, while its block is still in the configuration.", label, c.Label)
	}
	return "A host changes its cluster by leaving one and joining the other: " + leaving
}

// leavingAt returns the recorded nodes that would be removed from a host, by address.
func leavingAt(v *topology.Fleet) map[string]state.Target {
	if v.Destroy {
		return nil
	}
	out := map[string]state.Target{}
	for _, l := range v.Departures() {
		if !l.Replaced && l.Report != nil {
			out[l.Address] = l.Target
		}
	}
	return out
}

// refuseDeparture refuses a host that the state records as another, departing node: its reset would
// remove this node's files.
func refuseDeparture(n *topology.Node, departing state.Target) *diag.Diagnostic {
	remedy := fmt.Sprintf("If the node was renamed to %s, declare it:\n\n  moved {\n    from = %s\n    to   = %s\n  }\n\n"+
		"If it is another node, apply without it first, so that the old one is removed.", n.Target, departing, n.Target)
	if label := n.Cluster.Fleet.Recorded.Nodes[departing].Cluster; label != n.Node.Cluster {
		remedy = fmt.Sprintf("%s is a node of cluster %q, and %s is one of %q. ", departing, label, n.Target, n.Node.Cluster) +
			fromElsewhere(n.Cluster, label, "apply without this node first, so that the old one is removed, and add it back.")
	}
	return diag.Errorf(otherNode, "%s is the host of %s in the state, which is no longer in the configuration and would be removed from this host. %s", n.Address, departing, remedy).At(n.Source).For(n.Target)
}

func refuseCluster(n *topology.Node, m *state.Marks) *diag.Diagnostic {
	return diag.Errorf(strayHost, "%s (%s) is a node of cluster %q. Destroy it there before it joins %q.", n.Target, n.Address, m.Cluster, n.Node.Cluster).At(n.Source).For(n.Target)
}

// The findings for hosts and control planes that did not answer.
const (
	HostNotObserved         = "Host could not be observed"
	ControlPlaneNotObserved = "Control plane could not be observed"
)
