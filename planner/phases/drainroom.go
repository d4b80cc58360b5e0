package phases

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

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
		stranded := false
		for _, pod := range c.evicted(node) {
			if hasRoom(pod, takers) {
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
		if r := c.seen.Budgets[b]; pods[b] > r.Allowed && !r.Never() { // one that never allows any is refused
			budgets = append(budgets, fmt.Sprintf("  PodDisruptionBudget %s allows %d, and selects %d of these pods", b, r.Allowed, pods[b]))
		}
	}
	if len(budgets) == 0 {
		return nil
	}
	ends := "waits for ever"
	if t := c.Upgrade.Drain.Timeout; t > 0 {
		ends = "ends at its timeout (" + brief(t) + ") and the plan stops there"
	}
	return diag.Warningf("Pods have nowhere to go", "Cluster %q: this plan empties %s, and no other node is left for pods there: there is none, or each is cordoned, has a taint that they do not tolerate, or lacks a label that they want. "+
		"What is evicted does not start elsewhere, so that budgets let no more pods go than they do now:\n\n%s\n\n"+
		"The drain %s. To do: have another worker join first, or let a node that is left take them: uncordon it, give it the label, or take the taint off it (off a control plane with taints = []); or scale down what the budgets protect; "+
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

// taker is a node that takes pods, with the taints that it has then.
type taker struct {
	name   string
	taints []state.Taint
	// labels are nil of one that is to join: what others will put there nobody knows.
	labels map[string]string
}

// takers are the nodes that take pods while a plan is carried out and after it: those
// that are there and do not leave for good, and those that join.
func (c *cluster) takers(p *planner.Plan) []taker {
	planned := map[state.Target]bool{}
	for _, s := range p.Steps {
		planned[s.Target] = true
	}
	out := map[string]taker{}
	for name, n := range c.report.Nodes {
		if !n.Silent && !n.Unschedulable {
			out[name] = taker{name, n.Taints, n.Labels}
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
		switch {
		case there && !closed:
			has := map[string]string{}
			maps.Copy(has, seen.Labels)
			maps.Copy(has, n.Labels)
			out[n.name] = taker{n.name, n.taintsAfter(), has}
		case !there && planned[n.target]:
			out[n.name] = taker{name: n.name, taints: n.taintsAfter()}
		}
	}
	return slices.Collect(maps.Values(out))
}

// hasRoom tells that another node than its own may take a pod. Whether it has space, and
// what other pods have to say to it, is not known here.
func hasRoom(pod state.PodReport, takers []taker) bool {
	return slices.ContainsFunc(takers, func(t taker) bool {
		return t.name != pod.Node && t.wantedBy(pod.NodeSelectors) && !slices.ContainsFunc(t.taints, func(x state.Taint) bool {
			return keepsOut(x) && !slices.ContainsFunc(pod.Tolerations, func(o state.Toleration) bool { return o.Tolerates(x) })
		})
	})
}

// wantedBy tells that the node is one that selectors want, of which one is enough.
func (t taker) wantedBy(selectors []string) bool {
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

// taintsAfter are a node's taints when the plan is done: those of the configuration, and
// those that others have set. What Kubernetes sets itself passes.
func (n *node) taintsAfter() []state.Taint {
	out, ours := slices.Clone(n.wantedTaints()), map[string]state.Value{}
	if was := n.cluster.view.recorded.Find(item(n.target, n.markPhase(), "node", n.name)); was != nil {
		ours = was.Attributes.Get("taints").AsMap()
	}
	for _, t := range n.cluster.report.Nodes[n.name].Taints {
		if _, set := ours[t.Key+":"+t.Effect]; !set && !strings.HasPrefix(t.Key, "node.kubernetes.io/") && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}
