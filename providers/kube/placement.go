package kube

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kubewright/kubewright/state"
)

// Placement is observed as far as it depends on nodes. A pod with more tolerations, or more
// terms of a node affinity, than this counts as one that may run anywhere.
const (
	mostTolerations = 64
	mostTerms       = 16
)

// tolerations returns the tolerations of taints that users set. It skips those for node
// conditions (node.kubernetes.io/not-ready), which every pod has: such taints disappear
// with the condition.
func tolerations(p *corev1.Pod) []state.Toleration {
	if len(p.Spec.Tolerations) > mostTolerations {
		return []state.Toleration{{Any: true}}
	}
	var out []state.Toleration
	for _, t := range p.Spec.Tolerations {
		if strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			continue
		}
		equal := cmp.Or(t.Operator, corev1.TolerationOpEqual) == corev1.TolerationOpEqual
		r := state.Toleration{Key: t.Key, Effect: string(t.Effect), Any: !equal}
		if equal {
			r.Value = t.Value
		}
		out = append(out, r)
	}
	return out
}

// nodeSelectors returns the label selectors that a node has to match for a pod: its
// nodeSelector combined with each term of its required node affinity.
func nodeSelectors(p *corev1.Pod) []string {
	wanted := labels.NewSelector()
	for _, key := range slices.Sorted(maps.Keys(p.Spec.NodeSelector)) {
		if r, err := labels.NewRequirement(key, selection.Equals, []string{p.Spec.NodeSelector[key]}); err == nil {
			wanted = wanted.Add(*r)
		}
	}
	terms := requiredTerms(p)
	if terms == nil || len(terms) > mostTerms {
		if wanted.Empty() {
			return nil
		}
		return []string{wanted.String()}
	}
	var out []string
	for _, term := range terms {
		if more, ok := requirements(term); ok {
			out = append(out, wanted.Add(more...).String())
		}
	}
	if out == nil {
		return []string{"!" + nameField} // terms that no node can match
	}
	return out
}

// requiredTerms returns the terms of which a node has to match one; nil for any node.
func requiredTerms(p *corev1.Pod) []corev1.NodeSelectorTerm {
	a := p.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

// nameField is the only node field that a term may refer to.
const nameField = "metadata.name"

var selectionOf = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

// requirements returns those of a term. An empty or invalid term matches no node.
func requirements(term corev1.NodeSelectorTerm) ([]labels.Requirement, bool) {
	var out []labels.Requirement
	for _, e := range slices.Concat(term.MatchExpressions, term.MatchFields) {
		r, err := labels.NewRequirement(e.Key, selectionOf[e.Operator], e.Values)
		if err != nil {
			return nil, false
		}
		out = append(out, *r)
	}
	return out, len(out) > 0
}
