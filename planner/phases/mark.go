package phases

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// markControlPlane labels and taints a control plane, with what the
// configuration says of the node besides.
var markControlPlane = phase{
	name: markPlanePhase,
	nodeItems: func(n *node) []state.Item {
		if !n.isControlPlane() {
			return nil
		}
		return []state.Item{n.nodeItem(markPlanePhase)}
	},
	nodeStep: markStep,
	nodeNeeds: func(n *node) []state.Address {
		if n.isFounder() {
			return []state.Address{step(n.target, waitPlanePhase)}
		}
		return []state.Address{step(n.target, waitBootstrapPhase)}
	},
}

// markWorker does for a worker what kubeadm leaves to kubectl label and taint.
var markWorker = phase{
	name: markWorkerPhase,
	nodeItems: func(n *node) []state.Item {
		if n.isControlPlane() {
			return nil
		}
		it := n.nodeItem(markWorkerPhase)
		// Of a worker nobody says anything about there is nothing to compare, but
		// what was said once is to go.
		if len(n.Labels)+len(n.Annotations)+len(n.Taints) == 0 && n.cluster.view.recorded.Find(it.Address) == nil {
			return nil
		}
		return []state.Item{it}
	},
	nodeStep:  markStep,
	nodeNeeds: func(n *node) []state.Address { return []state.Address{step(n.target, waitBootstrapPhase)} },
}

func (n *node) nodeItem(phase string) state.Item {
	labels := maps.Clone(n.Labels)
	if n.isControlPlane() {
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, kubeadm.NodeMarks(n.input()).Labels)
	}
	it := state.Item{
		Address: item(n.target, phase, "node", n.name), Kind: state.KindNodeObject, Partial: true,
		Attributes: nodeAttributes(labels, n.Annotations, n.wantedTaints()), Origin: map[string]state.Source{"": n.cluster.usual()},
	}
	for key := range n.Labels {
		it.Origin[state.JoinPath("labels", key)] = n.origin(state.JoinPath("labels", key), "labels")
	}
	for key := range n.Annotations {
		it.Origin[state.JoinPath("annotations", key)] = n.origin(state.JoinPath("annotations", key), "annotations")
	}
	for _, t := range n.Taints {
		// Of several blocks of one name it is not known which is where.
		if !slices.ContainsFunc(n.Taints, func(o state.Taint) bool { return o.Key == t.Key && o.Effect != t.Effect }) {
			it.Origin[state.JoinPath("taints", taintKey(t))] = n.origin("taints", fmt.Sprintf("taint[%q]", t.Key))
		}
	}
	return it
}

// wantedTaints are those that kubewright sets.
func (n *node) wantedTaints() []state.Taint {
	if n.isControlPlane() {
		return kubeadm.NodeMarks(n.input()).Taints
	}
	return n.Taints
}

// nodeAttributes is a node as it is compared: each label, annotation and taint by itself.
func nodeAttributes(labels, annotations map[string]string, taints []state.Taint) state.Value {
	m := map[string]state.Value{"labels": state.FromGo(labels), "annotations": state.FromGo(annotations)}
	byKey := map[string]string{}
	for _, t := range taints {
		byKey[taintKey(t)] = t.Value
	}
	m["taints"] = state.FromGo(byKey)
	return state.Map(m)
}

// taintKey tells a taint from the others of a node.
func taintKey(t state.Taint) string { return t.Key + ":" + t.Effect }

func markStep(n *node, w work) planner.Step {
	if w.empty() {
		return planner.Step{}
	}
	op := planner.PatchNode{Node: n.name, Labels: map[string]string{}, Annotations: map[string]string{}, Timeout: n.cluster.Timeouts.KubernetesAPICall}
	for _, c := range w.changes {
		for _, a := range c.Attributes {
			addToPatch(&op, a)
		}
	}
	return planner.Step{Via: n.cluster.seat, Impact: n.taintImpact(w), Operations: []planner.Operation{op}}
}

// addToPatch turns one changed attribute of a node into a part of the patch.
func addToPatch(op *planner.PatchNode, a planner.AttributeChange) {
	keys := state.SplitPath(a.Path)
	if len(keys) != 2 {
		return
	}
	remove, value := a.After.IsNull(), a.After.AsString()
	if a.After.Kind() == state.KindSensitive {
		if op.Sealed == nil {
			op.Sealed = map[string]state.Sensitive{}
		}
		op.Sealed[a.Path] = a.After.AsSensitive()
		return
	}
	switch keys[0] {
	case "labels":
		if remove {
			op.RemoveLabels = append(op.RemoveLabels, keys[1])
		} else {
			op.Labels[keys[1]] = value
		}
	case "annotations":
		if remove {
			op.RemoveAnnotations = append(op.RemoveAnnotations, keys[1])
		} else {
			op.Annotations[keys[1]] = value
		}
	case "taints":
		key, effect, _ := strings.Cut(keys[1], ":")
		t := state.Taint{Key: key, Effect: effect}
		if remove {
			op.RemoveTaints = append(op.RemoveTaints, t)
		} else {
			t.Value = value
			op.Taints = append(op.Taints, t)
		}
	}
}
