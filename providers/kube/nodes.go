package kube

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// PatchNode implements providers.API. Other clients write to the list of taints as well, so
// the patch has the version that was read, and a conflict is providers.ErrUnavailable.
func (a *API) PatchNode(ctx context.Context, op planner.PatchNode, expect func(state.NodeReport) error) error {
	var unfit error
	err := a.as("change node "+op.Node, func(s *session) error {
		nodes := s.typed.CoreV1().Nodes()
		n, err := nodes.Get(ctx, op.Node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if expect != nil {
			if unfit = expect(nodeReport(n)); unfit != nil {
				return unfit
			}
		}
		patch, err := nodePatch(n, op, expect != nil)
		if err != nil || patch == nil {
			return err
		}
		_, err = nodes.Patch(ctx, op.Node, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
		return written(err)
	})
	if unfit != nil {
		return unfit
	}
	return err
}

// nodePatch returns a merge patch, or nil if the node is as desired. A bound patch is
// refused if the node's version has changed since the read.
func nodePatch(n *corev1.Node, op planner.PatchNode, bound bool) ([]byte, error) {
	metadata := map[string]any{}
	if m := mapPatch(n.Labels, op.Labels, op.RemoveLabels); len(m) > 0 {
		metadata["labels"] = m
	}
	annotations, gone := withCordonMark(op)
	if m := mapPatch(n.Annotations, annotations, gone); len(m) > 0 {
		metadata["annotations"] = m
	}
	patch := map[string]any{"metadata": metadata}
	spec := map[string]any{}
	if op.Schedulable != nil && n.Spec.Unschedulable == *op.Schedulable {
		spec["unschedulable"] = map[bool]any{true: nil, false: true}[*op.Schedulable]
	}
	if taints := taintsAfter(n.Spec.Taints, op.Taints, op.RemoveTaints); !reflect.DeepEqual(taints, n.Spec.Taints) {
		spec["taints"], bound = taints, true
	}
	if len(spec) > 0 {
		patch["spec"] = spec
	}
	if len(metadata)+len(patch) == 1 {
		return nil, nil
	}
	if bound {
		metadata["resourceVersion"] = n.ResourceVersion
	}
	return json.Marshal(patch)
}

// withCordonMark returns the annotations that a patch sets and removes, with the purpose of the cordon.
func withCordonMark(op planner.PatchNode) (map[string]string, []string) {
	switch {
	case op.Schedulable == nil:
		return op.Annotations, op.RemoveAnnotations
	case *op.Schedulable:
		return op.Annotations, append(slices.Clone(op.RemoveAnnotations), planner.CordonAnnotation)
	}
	set := map[string]string{planner.CordonAnnotation: planner.CordonConfigured}
	maps.Copy(set, op.Annotations)
	return set, op.RemoveAnnotations
}

// mapPatch sets differing entries and removes (null) unwanted ones that exist.
func mapPatch(have, want map[string]string, remove []string) map[string]any {
	out := map[string]any{}
	for k, v := range want {
		if old, ok := have[k]; !ok || old != v {
			out[k] = v
		}
	}
	for _, k := range remove {
		if _, ok := have[k]; ok {
			out[k] = nil
		}
	}
	return out
}

// taintsAfter keeps the order of the existing taints. A taint is identified by key and
// effect.
func taintsAfter(have []corev1.Taint, want, remove []state.Taint) []corev1.Taint {
	out := slices.Clone(have)
	out = slices.DeleteFunc(out, func(t corev1.Taint) bool {
		return slices.ContainsFunc(remove, func(r state.Taint) bool { return sameTaint(t, r) })
	})
	for _, w := range want {
		i := slices.IndexFunc(out, func(t corev1.Taint) bool { return sameTaint(t, w) })
		if i < 0 {
			out = append(out, corev1.Taint{Key: w.Key, Value: w.Value, Effect: corev1.TaintEffect(w.Effect)})
			continue
		}
		out[i].Value = w.Value
	}
	return out
}

func sameTaint(t corev1.Taint, s state.Taint) bool {
	return t.Key == s.Key && string(t.Effect) == s.Effect
}

// Cordon implements providers.API.
func (a *API) Cordon(ctx context.Context, op planner.Cordon) error {
	return a.as(op.Summary(), func(s *session) error {
		nodes := s.typed.CoreV1().Nodes()
		n, err := nodes.Get(ctx, op.Node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if op.For == "" && !op.Undo {
			if n.Spec.Unschedulable {
				return nil
			}
			_, err := nodes.Patch(ctx, op.Node, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{FieldManager: fieldManager})
			return written(err)
		}
		patch, err := cordonPatch(n, op, time.Now())
		if err != nil || patch == nil {
			return err
		}
		_, err = nodes.Patch(ctx, op.Node, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
		return written(err)
	})
}

// cordonPatch sets or removes the cordon and its mark in one request; nil if the node is as
// desired, or if it was cordoned for another reason. An undo without a reason removes any
// mark. A node that was not cordoned for this only remembers when its pause begins.
func cordonPatch(n *corev1.Node, op planner.Cordon, now time.Time) ([]byte, error) {
	unschedulable, annotations := any(true), map[string]any{planner.CordonAnnotation: op.For}
	switch marked := op.For == "" || n.Annotations[planner.CordonAnnotation] == op.For; {
	case op.Undo && !marked && op.Remember != "":
		return json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": n.ResourceVersion, "annotations": map[string]any{planner.LetInAnnotation: planner.LetIn(now, op.Remember)},
		}})
	case op.Undo && !marked, !op.Undo && n.Spec.Unschedulable:
		return nil, nil
	case op.Undo:
		unschedulable, annotations[planner.CordonAnnotation] = nil, nil
		if op.Remember != "" {
			annotations[planner.LetInAnnotation] = planner.LetIn(now, op.Remember)
		}
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": n.ResourceVersion, "annotations": annotations},
		"spec":     map[string]any{"unschedulable": unschedulable},
	})
}
