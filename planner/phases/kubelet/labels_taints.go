package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// MarkControlPlane labels and taints a control plane, and adds the node's own labels, annotations and
// taints.
var MarkControlPlane = topology.Phase{
	Name: topology.MarkControlPlanePhase,
	NodeItems: func(n *topology.Node) []state.Item {
		if !n.IsControlPlane() {
			return nil
		}
		return []state.Item{NodeItem(n, topology.MarkControlPlanePhase)}
	},
	NodeStep: markStep,
	NodeNeeds: func(n *topology.Node) []state.Address {
		if n.IsFounder() {
			return []state.Address{topology.StepAddress(n.Target, topology.WaitControlPlanePhase)}
		}
		return []state.Address{topology.StepAddress(n.Target, topology.WaitBootstrapPhase)}
	},
}

// MarkWorker does for a worker what kubeadm leaves to kubectl label and kubectl taint.
var MarkWorker = topology.Phase{
	Name: topology.MarkWorkerPhase,
	NodeItems: func(n *topology.Node) []state.Item {
		if n.IsControlPlane() {
			return nil
		}
		it := NodeItem(n, topology.MarkWorkerPhase)
		// A worker of which nothing is configured has nothing to compare, unless it was recorded: that
		// is removed.
		if len(n.Labels)+len(n.Annotations)+len(n.Taints) == 0 && n.Schedulable == nil && n.Cluster.Fleet.RecordedItems.Find(it.Address) == nil {
			return nil
		}
		return []state.Item{it}
	},
	NodeStep: markStep,
	NodeNeeds: func(n *topology.Node) []state.Address {
		return []state.Address{topology.StepAddress(n.Target, topology.WaitBootstrapPhase)}
	},
}

func NodeItem(n *topology.Node, phase string) state.Item {
	labels := maps.Clone(n.Labels)
	if n.IsControlPlane() {
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, kubeadm.NodeMarks(n.Input()).Labels)
	}
	it := state.Item{
		Address: topology.ItemAddress(n.Target, phase, "node", n.NodeName), Kind: state.KindNodeObject, Partial: true,
		Attributes: NodeAttributes(labels, n.Annotations, drain.WantedTaints(n)), Origin: map[string]state.Source{"": provenance.Usual(n.Cluster)},
	}
	if n.Schedulable != nil {
		it.Attributes = topology.WithAttribute(it.Attributes, schedulable, *n.Schedulable)
		it.Origin[schedulable] = provenance.NodeOrigin(n, schedulable, schedulable)
	}
	for key := range n.Labels {
		it.Origin[state.JoinPath("labels", key)] = provenance.NodeOrigin(n, state.JoinPath("labels", key), "labels")
	}
	for key := range n.Annotations {
		it.Origin[state.JoinPath("annotations", key)] = provenance.NodeOrigin(n, state.JoinPath("annotations", key), "annotations")
	}
	for _, t := range n.Taints {
		// With several blocks of the same key the position of each is unknown.
		if !slices.ContainsFunc(n.Taints, func(o state.Taint) bool { return o.Key == t.Key && o.Effect != t.Effect }) {
			it.Origin[state.JoinPath("taints", taintKey(t))] = provenance.NodeOrigin(n, "taints", fmt.Sprintf("taint[%q]", t.Key))
		}
	}
	return it
}

// NodeAttributes returns a node's attributes for the comparison: one per label, annotation and taint.
func NodeAttributes(labels, annotations map[string]string, taints []state.Taint) state.Value {
	m := map[string]state.Value{"labels": state.FromGo(labels), "annotations": state.FromGo(annotations)}
	byKey := map[string]string{}
	for _, t := range taints {
		byKey[taintKey(t)] = t.Value
	}
	m["taints"] = state.FromGo(byKey)
	return state.Map(m)
}

// schedulable is the attribute of a node that says whether new pods may come.
const schedulable = "schedulable"

// ObservedNode returns the attributes of a Node in the API. A node that is cordoned for an upgrade or a
// removal counts as schedulable: the same work uncordons it, if the node stays. That a node is
// schedulable is an attribute only where it is configured; elsewhere it is the default.
func ObservedNode(n *topology.Node, seen state.NodeReport) state.Value {
	out := NodeAttributes(seen.Labels, seen.Annotations, seen.Taints)
	closed := seen.Unschedulable && !slices.Contains([]string{drain.ForUpgrade, drain.ForLeaving}, seen.Annotations[planner.CordonAnnotation])
	if !closed && (n == nil || n.Schedulable == nil) {
		return out
	}
	return topology.WithAttribute(out, schedulable, !closed)
}

// taintKey identifies a taint among those of a node.
func taintKey(t state.Taint) string { return t.Key + ":" + t.Effect }

func markStep(n *topology.Node, w topology.PhaseWork) planner.Step {
	if w.Empty() {
		return planner.Step{}
	}
	op := planner.PatchNode{Node: n.NodeName, Labels: map[string]string{}, Annotations: map[string]string{}, Timeout: n.Cluster.Timeouts.KubernetesAPICall}
	for _, c := range w.Changes {
		for _, a := range c.Attributes {
			addToPatch(&op, a)
		}
	}
	return planner.Step{Via: n.Cluster.Primary, Impact: joinImpacts(schedulingImpact(op), taintImpact(n, w)), Operations: []planner.Operation{op}}
}

// schedulingImpact says what becomes of new pods; empty where nothing changes for them.
func schedulingImpact(op planner.PatchNode) string {
	switch {
	case op.Schedulable == nil:
		return ""
	case *op.Schedulable:
		return drain.UncordonImpact
	}
	return drain.CordonImpact
}

func joinImpacts(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "; ")
}

// addToPatch adds one changed attribute of a node to the patch.
func addToPatch(op *planner.PatchNode, a planner.AttributeChange) {
	keys := state.SplitPath(a.Path)
	switch {
	case a.Path == schedulable && !a.After.IsNull():
		op.Schedulable = new(a.After.AsBool())
	case a.Path == schedulable && !a.Before.AsBool(): // the configuration kept it cordoned until now
		op.Schedulable = new(true)
	}
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
