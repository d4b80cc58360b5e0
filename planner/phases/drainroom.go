package phases

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// noRoom warns of drains that budgets stop since no other node takes the pods: what is
// evicted first does not start elsewhere, and the rest may not go without it.
func (v *View) noRoom(p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		if c.report == nil || c.Upgrade.Drain.DisableEviction {
			continue
		}
		if d := c.noRoom(p); d != nil {
			diags = append(diags, d)
		}
	}
	return diags
}

func (c *cluster) noRoom(p *planner.Plan) *diag.Diagnostic {
	var nodes, budgets []string
	pods, takers := map[string]int{}, c.takers(p)
	for _, node := range c.drained(p) {
		if c.hasRoom(node, takers) {
			continue
		}
		nodes = append(nodes, node)
		for _, pod := range c.evicted(node) {
			for _, b := range pod.Budgets {
				pods[b]++
			}
		}
	}
	for _, b := range slices.Sorted(maps.Keys(pods)) {
		if r := c.seen.Budgets[b]; pods[b] > r.Allowed && !r.Never() { // one that never allows any is refused
			budgets = append(budgets, fmt.Sprintf("  PodDisruptionBudget %s allows %d, and selects %d of the pods there", b, r.Allowed, pods[b]))
		}
	}
	if len(budgets) == 0 {
		return nil
	}
	ends := "waits for ever"
	if t := c.Upgrade.Drain.Timeout; t > 0 {
		ends = "ends at its timeout (" + brief(t) + ") and the plan stops there"
	}
	return diag.Warningf("Pods have nowhere to go", "Cluster %q: this plan empties %s, and no other node is left for the pods: there is none, or it is cordoned or tainted. "+
		"What is evicted does not start elsewhere, so that budgets let no more pods go than they do now:\n\n%s\n\n"+
		"Unless the pods tolerate the taints of the nodes that are left, the drain %s. "+
		"To do: have another worker join first, or take the taint off a control plane (taints = []); or scale down what the budgets protect; "+
		"or set upgrade { drain { disable_eviction = true } } to delete the pods past every budget.",
		c.Label, strings.Join(nodes, ", "), strings.Join(budgets, "\n"), ends).At(c.place("upgrade.drain")).For(c.target)
}

// drained are the nodes of the cluster that a plan empties, in order.
func (c *cluster) drained(p *planner.Plan) []string {
	var out []string
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			if d, drains := op.(planner.Drain); drains && c.view.concerns(c, s.Target) {
				out = append(out, d.Node)
			}
		}
	}
	slices.Sort(out)
	return out
}

// takers are the nodes that take pods while a plan is carried out and after it, by
// name with the taints that they have then: those that are there and do not leave for
// good, and those that join.
func (c *cluster) takers(p *planner.Plan) map[string][]state.Taint {
	planned := map[state.Target]bool{}
	for _, s := range p.Steps {
		planned[s.Target] = true
	}
	out := map[string][]state.Taint{}
	for name, n := range c.report.Nodes {
		if !n.Silent && !n.Unschedulable {
			out[name] = n.Taints
		}
	}
	for _, l := range c.view.leavers() {
		if l.cluster == c && planned[l.target] {
			delete(out, l.Name)
		}
	}
	for _, n := range c.nodes {
		seen, there := c.report.Nodes[n.name]
		closed := seen.Silent || seen.Unschedulable && !n.cordoned() && !n.wasLeaving()
		if there && !closed || !there && planned[n.target] {
			out[n.name] = n.taintsAfter()
		}
	}
	return out
}

// hasRoom tells that another node takes the pods of one that is emptied: one without
// taints that it has not itself.
func (c *cluster) hasRoom(node string, takers map[string][]state.Taint) bool {
	own := c.seen.Nodes[node].Taints
	for name, taints := range takers {
		if name != node && !slices.ContainsFunc(taints, func(t state.Taint) bool { return keepsOut(t) && !slices.Contains(own, t) }) {
			return true
		}
	}
	return false
}

func keepsOut(t state.Taint) bool { return t.Effect == "NoSchedule" || t.Effect == "NoExecute" }

// taintsAfter are a node's taints when the plan is done: those of the configuration, and
// those that others have set. What Kubernetes sets itself passes.
func (n *node) taintsAfter() []state.Taint {
	phase, out := markWorkerPhase, slices.Clone(n.wantedTaints())
	if n.isControlPlane() {
		phase = markPlanePhase
	}
	ours := map[string]state.Value{}
	if was := n.cluster.view.recorded.Find(item(n.target, phase, "node", n.name)); was != nil {
		ours = was.Attributes.Get("taints").AsMap()
	}
	for _, t := range n.cluster.report.Nodes[n.name].Taints {
		if _, set := ours[t.Key+":"+t.Effect]; !set && !strings.HasPrefix(t.Key, "node.kubernetes.io/") && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}
