package pipeline

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/reset"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// replace returns the fleet with the nodes to replace in the condition after their removal: all phases
// then plan a join.
func replace(v *topology.Fleet) (*topology.Fleet, diag.Diagnostics) {
	if v.Original != nil { // planned before: begin with the observed condition
		v = topology.WithReplacements(topology.WithRemoved(v, v.OriginalReports, v.Original), nil)
	}
	diags, replacements := ownership.ReplaceUnknown(v), map[state.Target]*topology.Replacement{}
	if v.Recorded == nil || v.Destroy {
		return topology.WithReplacements(v, replacements), diags
	}
	for _, n := range v.Config.Nodes {
		was, r := v.Recorded.Nodes[n.Target], v.Reports[n.Target]
		if was == nil || r == nil || was.Cluster != n.Cluster {
			continue
		}
		if d := cmp.Or(ownership.HostOfAnother(v, n, was, r), ownership.OldHostRuns(v, n, was, r), ownership.AnotherMachine(v, n, was, r)); d != nil {
			diags.Append(d)
			continue
		}
		if reason := ownership.ReplaceReason(v, n, was); reason != "" {
			if r.Marks == nil && topology.Blank(r) {
				r = nil
			}
			replacements[n.Target] = &topology.Replacement{Reason: reason, Report: r}
		}
	}
	v = topology.WithReplacements(v, replacements)
	return project(v), append(diags, ownership.ReplaceAll(v)...)
}

// project returns the fleet in the condition without the replaced nodes.
func project(v *topology.Fleet) *topology.Fleet {
	if len(v.Replacements) == 0 {
		return v
	}
	reports, clusters := maps.Clone(v.Reports), maps.Clone(v.ClusterReports)
	for _, t := range slices.SortedFunc(maps.Keys(v.Replacements), topology.CompareTargets) {
		was := v.Recorded.Nodes[t]
		if r := v.Replacements[t].Report; r != nil {
			left := departureLeft(v.DepartureOf(t))
			left.Marks.Lineage = cmp.Or(left.Marks.Lineage, v.Recorded.Lineage) // written with the mark
			reports[t] = left
		}
		if c := clusters[was.Cluster]; c != nil {
			clusters[was.Cluster] = withoutNode(c, was)
		}
	}
	return topology.WithRemoved(v, reports, clusters)
}

// withoutNode returns the cluster's report as it is after the node's removal.
func withoutNode(c *state.ClusterReport, n *state.RecordedNode) *state.ClusterReport {
	out := *c
	out.Nodes, out.StaticPods = maps.Clone(c.Nodes), maps.Clone(c.StaticPods)
	delete(out.Nodes, n.Name)
	maps.DeleteFunc(out.StaticPods, func(name string, _ state.StaticPodReport) bool { return strings.HasSuffix(name, "-"+n.Name) })
	out.Members = quorum.Act{PeerURL: kubeadm.PeerURL(n.Address)}.After(c.Members)
	return &out
}

// departureLeft returns a host's report after the removal of its replaced node: paths that a reset
// removes are gone, everything else is as it was.
func departureLeft(l topology.Departure) *state.Report {
	r := *l.Report
	gone, before := reset.RemovedPaths(l), map[string]string{}
	if r.Marks != nil {
		before = r.Marks.Before
	}
	r.Files = map[string]state.FileReport{}
	for p, f := range l.Report.Files {
		if slices.ContainsFunc(gone, func(g string) bool {
			return strings.HasPrefix(p, g+"/") || p == g && before["folder:"+p] == ""
		}) {
			f = state.FileReport{} // observed as absent
		}
		r.Files[p] = f
	}
	r.Marks = l.KeptMarks()
	r.Units = maps.Clone(r.Units)
	u := r.Units[topology.KubeletUnit]
	u.Active = "inactive"
	r.Units[topology.KubeletUnit] = u
	r.Secrets = nil
	return &r
}

// endpointLeaves refuses to remove a control plane whose own address is the endpoint of a cluster that
// has others.
func endpointLeaves(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, l := range v.Departures() {
		if l.Cluster == nil || l.Whole || l.Role != string(config.ControlPlane) {
			continue
		}
		if host, _, err := net.SplitHostPort(l.Cluster.ControlPlaneEndpoint); err != nil || !l.IsHost(host) {
			continue
		}
		diags.Append(diag.Errorf("Host of the endpoint would be removed", "%s is the host of control_plane_endpoint = %q: without it the other control planes cannot be reached. "+
			"Move the endpoint first, to a load balancer or a name that you can move, and apply that.", l.Target, l.Cluster.ControlPlaneEndpoint).At(pki.Place(l.Cluster, "control_plane_endpoint")).For(l.Target))
	}
	return diags
}
