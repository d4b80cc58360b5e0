package kubelet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// noExecute is the effect of a taint that not only keeps pods off: pods that run on the node and do not
// tolerate it are deleted at once.
const noExecute = "NoExecute"

// NoExecuteTaints returns the desired NoExecute taints of a cluster's nodes, by name of the Node.
func NoExecuteTaints(cfg *config.Config, recorded *state.State, label string) map[string][]state.Taint {
	out := map[string][]state.Taint{}
	for _, n := range cfg.NodesOf(label, "") {
		name := n.Name
		if recorded != nil && recorded.Nodes[n.Target] != nil {
			name = cmp.Or(name, recorded.Nodes[n.Target].Name)
		}
		for _, t := range n.Taints {
			if t.Effect == noExecute {
				out[name] = append(out[name], t)
			}
		}
	}
	return out
}

// drains reports whether this plan drains the node before its kubelet is replaced.
func drains(n *topology.Node) bool {
	return len(DrainStep(n).Operations) > 0 && !slices.Contains(n.Cluster.Fleet.Skipped, topology.DrainPhase)
}

// exposed returns the pods that are on the node when a taint is set. Pods that a drain evicts before
// are not among them: the drain reports these.
func exposed(n *topology.Node) []state.PodReport {
	pods := drain.PodsOf(n.Cluster, n.NodeName)
	if !drains(n) {
		return pods
	}
	return slices.DeleteFunc(pods, func(p state.PodReport) bool { return drain.LeftByOption(n.Cluster, p) == "" })
}

// taintImpact names the pods that are evicted when these changes set taints on a node; empty for none.
func taintImpact(n *topology.Node, w topology.PhaseWork) string {
	c := n.Cluster
	if c.Report == nil || n.Report == nil || n.Joins() {
		return ""
	}
	var set []state.Taint
	for _, t := range drain.WantedTaints(n) {
		if t.Effect == noExecute && !slices.Contains(c.Report.Nodes[n.NodeName].Taints, t) && sets(w, state.JoinPath("taints", taintKey(t))) {
			set = append(set, t)
		}
	}
	pods := slices.DeleteFunc(exposed(n), func(p state.PodReport) bool {
		return !slices.ContainsFunc(set, func(t state.Taint) bool {
			return !slices.ContainsFunc(p.Tolerations, func(o state.Toleration) bool { return o.Tolerates(t) })
		})
	})
	if len(pods) == 0 {
		return ""
	}
	text := "evicts 1 pod that does not tolerate the taint"
	if len(pods) > 1 {
		text = fmt.Sprintf("evicts %d pods that do not tolerate the taint", len(pods))
	}
	if len(set) > 1 {
		text += "s"
	}
	text += ": " + drain.ListPods(c, pods, func(p state.PodReport) string { return p.String() + " (" + drain.PodNote(p, c.Fleet.ObservedAt) + ")" })
	if slices.ContainsFunc(pods, func(p state.PodReport) bool { return len(p.Budgets) > 0 }) {
		text += "; PodDisruptionBudgets are not checked"
	}
	return text
}

// sets reports whether a change gives an attribute a value.
func sets(w topology.PhaseWork, path string) bool {
	return slices.ContainsFunc(w.Changes, func(c planner.Change) bool {
		return slices.ContainsFunc(c.Attributes, func(a planner.AttributeChange) bool { return a.Path == path && !a.After.IsNull() })
	})
}
