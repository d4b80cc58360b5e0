package drain

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// CordonedOutside is the summary of the warning of WarnCordoned.
const CordonedOutside = "Node is cordoned"

// WarnCordoned warns of nodes that were cordoned outside of kubewright: no apply uncordons them.
// Nodes that the plan removes or uncordons are not named, nor those whose configuration says whether
// they are schedulable.
func WarnCordoned(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		for _, n := range c.Nodes {
			if !cordonedOutside(n) || p.Step(topology.StepAddress(n.Target, topology.UncordonPhase)) != nil || p.Step(topology.StepAddress(n.Target, topology.ResetPhase)) != nil {
				continue
			}
			diags.Append(diag.Warningf(CordonedOutside, "%s (node %s) was cordoned outside of kubewright: it gets no new pods, and stays so, because no apply uncordons it. When it may have pods again:\n\n  %s",
				n.Target, n.NodeName, remedy.Uncordon.On(n.Target.String())).At(n.Source).For(n.Target))
		}
	}
	return diags
}

// StaysCordoned reports whether the configuration keeps new pods off the node.
func StaysCordoned(n *topology.Node) bool { return n.Schedulable != nil && !*n.Schedulable }

// cordonedOutside reports whether a node is unschedulable, and not for a purpose of kubewright.
func cordonedOutside(n *topology.Node) bool {
	if n.Cluster.Report == nil || n.Cluster.Fleet.Destroy || n.Schedulable != nil && !n.Lifecycle.Ignores("schedulable") {
		return false
	}
	seen := n.Cluster.Report.Nodes[n.NodeName]
	return seen.Unschedulable && !slices.Contains([]string{ForUpgrade, ForLeaving, ForCommand}, seen.Annotations[planner.CordonAnnotation])
}

// Destinations says where the evicted pods of a node can go, as far as taints, labels and selectors
// decide that; the scheduler decides the rest. closed are nodes that get no more pods.
func Destinations(c *topology.Cluster, node string, closed []string) string {
	takers := slices.DeleteFunc(clusterTakers(c, &planner.Plan{}), func(t drainTarget) bool { return slices.Contains(closed, t.name) })
	slices.SortFunc(takers, func(a, b drainTarget) int { return strings.Compare(a.name, b.name) })
	groups, order := map[string][]state.PodReport{}, []string(nil)
	for _, pod := range Evicted(c, node) {
		if pod.Finished || pod.Controller == "" {
			continue // nothing creates it again
		}
		var to []string
		for _, t := range takers {
			if hasCapacity(pod, []drainTarget{t}) {
				to = append(to, t.name)
			}
		}
		key := strings.Join(to, " or ")
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], pod)
	}
	text := ""
	for _, to := range order {
		pods := ListPods(c, groups[to], state.PodReport.String)
		switch {
		case to == "":
			text += "; no other node takes " + pods
		case len(order) == 1:
			text += "; they can go to " + to
		default:
			text += "; " + pods + " can go to " + to
		}
	}
	return text
}
