package phases

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// noExecute is the effect of a taint that does not only keep pods out: those that run
// on the node and do not tolerate it are deleted at once.
const noExecute = "NoExecute"

// evicting are the taints of that effect that the nodes of a cluster are to have.
func evicting(cfg *config.Config, recorded *state.State, label string) map[string][]state.Taint {
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

// markPhase is the phase that sets the node's taints.
func (n *node) markPhase() string {
	if n.isControlPlane() {
		return markPlanePhase
	}
	return markWorkerPhase
}

// drains tells that this plan takes the pods off the node before its kubelet is replaced.
func (n *node) drains() bool {
	return len(n.drainStep().Operations) > 0 && !slices.Contains(n.cluster.view.skipped, drainPhase)
}

// exposed are the pods that a taint finds on the node: what a drain before it takes off
// is the drain's to say.
func (n *node) exposed() []state.PodReport {
	pods := n.cluster.podsOf(n.name)
	if !n.drains() {
		return pods
	}
	return slices.DeleteFunc(pods, func(p state.PodReport) bool { return n.cluster.passedOver(p) == "" })
}

// taintImpact names the pods that go when the taints of a node are set as some
// changes have it; empty where none do.
func (n *node) taintImpact(w work) string {
	c := n.cluster
	if c.report == nil || n.report == nil || n.joins() {
		return ""
	}
	var set []state.Taint
	for _, t := range n.wantedTaints() {
		if t.Effect == noExecute && !slices.Contains(c.report.Nodes[n.name].Taints, t) && w.sets(state.JoinPath("taints", taintKey(t))) {
			set = append(set, t)
		}
	}
	pods := slices.DeleteFunc(n.exposed(), func(p state.PodReport) bool {
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
	text += ": " + c.named(pods, func(p state.PodReport) string { return p.String() + " (" + podNote(p, c.view.ObservedAt) + ")" })
	if slices.ContainsFunc(pods, func(p state.PodReport) bool { return len(p.Budgets) > 0 }) {
		text += "; no PodDisruptionBudget is asked"
	}
	return text
}

// sets tells that a change gives an attribute a value.
func (w work) sets(path string) bool {
	return slices.ContainsFunc(w.changes, func(c planner.Change) bool {
		return slices.ContainsFunc(c.Attributes, func(a planner.AttributeChange) bool { return a.Path == path && !a.After.IsNull() })
	})
}
