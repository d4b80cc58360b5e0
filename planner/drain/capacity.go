package drain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
	"k8s.io/apimachinery/pkg/labels"
)

// WarnDrainCapacity warns of drains that budgets block because no other node takes the pods:
// evicted pods do not start elsewhere, and the budgets then allow no further evictions.
func WarnDrainCapacity(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if c.Report == nil || c.Upgrade.Drain.DisableEviction {
			continue
		}
		if d := noRoom(c, p); d != nil {
			diags = append(diags, d)
		}
	}
	return diags
}

func noRoom(c *topology.Cluster, p *planner.Plan) *diag.Diagnostic {
	var nodes, budgets []string
	pods, takers := map[string]int{}, clusterTakers(c, p)
	for _, node := range drained(c, p) {
		stranded := false
		for _, pod := range Evicted(c, node) {
			if hasCapacity(pod, takers) {
				continue
			}
			for _, b := range pod.Budgets {
				pods[b]++
				stranded = true
			}
		}
		if stranded {
			nodes = append(nodes, node)
		}
	}
	for _, b := range slices.Sorted(maps.Keys(pods)) {
		if r := c.Seen.Budgets[b]; pods[b] > r.Allowed && !r.Never() { // a budget that never allows an eviction is refused
			budgets = append(budgets, fmt.Sprintf("  PodDisruptionBudget %s allows %d, and selects %d of these pods", b, r.Allowed, pods[b]))
		}
	}
	if len(budgets) == 0 {
		return nil
	}
	ends := "waits forever"
	if t := c.Upgrade.Drain.Timeout; t > 0 {
		ends = "ends at its timeout (" + topology.Brief(t) + ") and the plan stops there"
	}
	return diag.Warningf("Pods cannot be rescheduled", "Cluster %q: this plan drains %s, and no other node can take pods from there: there is none, "+
		"or each is cordoned, has a taint that they do not tolerate, or lacks a label that they require. "+
		"Evicted pods do not start elsewhere, so that budgets allow no more evictions than they do now:\n\n%s\n\nThe drain %s. "+
		"To do: have another worker join first, or let a remaining node take them: uncordon it, add the label, "+
		"or remove the taint (from a control plane with taints = []); or scale down what the budgets protect; "+
		"or set upgrade { drain { disable_eviction = true } } to delete the pods regardless of budgets.",
		c.Label, strings.Join(nodes, ", "), strings.Join(budgets, "\n"), ends).At(pki.Place(c, "upgrade.drain")).For(c.Target)
}

// drained returns the nodes of the cluster that a plan drains, sorted.
func drained(c *topology.Cluster, p *planner.Plan) []string {
	var out []string
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			if d, drains := op.(planner.Drain); drains && TargetOfCluster(c.Fleet, c, s.Target) {
				out = append(out, d.Node)
			}
		}
	}
	slices.Sort(out)
	return out
}

// drainTarget is a node that takes pods, with the taints that it has by then.
type drainTarget struct {
	name   string
	taints []state.Taint
	// labels are nil for a node that has yet to join: other components will add labels.
	labels map[string]string
}

// clusterTakers returns the nodes that take pods during the plan and after it: existing nodes that
// are not removed for good, and joining ones.
func clusterTakers(c *topology.Cluster, p *planner.Plan) []drainTarget {
	planned := map[state.Target]bool{}
	for _, s := range p.Steps {
		planned[s.Target] = true
	}
	out := map[string]drainTarget{}
	for name, n := range c.Report.Nodes {
		if !n.Silent && !n.Unschedulable {
			out[name] = drainTarget{name, n.Taints, n.Labels}
		}
	}
	for _, l := range c.Fleet.Departures() {
		if l.Cluster == c && planned[l.Target] {
			delete(out, l.Name)
		}
	}
	for _, n := range c.Nodes {
		seen, there := c.Report.Nodes[n.NodeName]
		closed := seen.Silent || seen.Unschedulable && !Cordoned(n) && !WasLeaving(n)
		if n.Schedulable != nil {
			closed = seen.Silent || !*n.Schedulable
		}
		switch {
		case there && !closed:
			has := map[string]string{}
			maps.Copy(has, seen.Labels)
			maps.Copy(has, n.Labels)
			out[n.NodeName] = drainTarget{n.NodeName, taintsAfter(n), has}
		case closed:
			delete(out, n.NodeName)
		case !there && planned[n.Target]:
			out[n.NodeName] = drainTarget{name: n.NodeName, taints: taintsAfter(n)}
		}
	}
	return slices.Collect(maps.Values(out))
}

// hasCapacity reports whether a node other than its own may take a pod. It does not know free
// resources, nor constraints from other pods.
func hasCapacity(pod state.PodReport, takers []drainTarget) bool {
	return slices.ContainsFunc(takers, func(t drainTarget) bool {
		return t.name != pod.Node && t.wantedBy(pod.NodeSelectors) && !slices.ContainsFunc(t.taints, func(x state.Taint) bool {
			return keepsOut(x) && !slices.ContainsFunc(pod.Tolerations, func(o state.Toleration) bool { return o.Tolerates(x) })
		})
	})
}

// wantedBy reports whether any of the selectors matches the node.
func (t drainTarget) wantedBy(selectors []string) bool {
	if len(selectors) == 0 || t.labels == nil {
		return true
	}
	set := labels.Set{"metadata.name": t.name}
	maps.Copy(set, t.labels)
	return slices.ContainsFunc(selectors, func(text string) bool {
		s, err := labels.Parse(text)
		return err != nil || s.Matches(set)
	})
}

func keepsOut(t state.Taint) bool { return t.Effect == "NoSchedule" || t.Effect == "NoExecute" }

// taintsAfter returns a node's taints after the plan: those of the configuration, and those that
// others have set, without the temporary ones of Kubernetes.
func taintsAfter(n *topology.Node) []state.Taint {
	out, ours := slices.Clone(WantedTaints(n)), map[string]state.Value{}
	if was := n.Cluster.Fleet.RecordedItems.Find(topology.ItemAddress(n.Target, MarkPhase(n), "node", n.NodeName)); was != nil {
		ours = was.Attributes.Get("taints").AsMap()
	}
	for _, t := range n.Cluster.Report.Nodes[n.NodeName].Taints {
		if _, set := ours[t.Key+":"+t.Effect]; !set && !strings.HasPrefix(t.Key, "node.kubernetes.io/") && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}
