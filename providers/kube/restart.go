package kube

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

// Restart implements providers.API. The mark is an annotation of the pod
// template that is set by a patch, so that applying the DaemonSet leaves it.
func (a *API) Restart(ctx context.Context, op planner.RestartDaemonSet) error {
	what := "restart " + op.Namespace + "/" + op.Name
	return a.as(what, func(s *session) error {
		sets := s.typed.AppsV1().DaemonSets(op.Namespace)
		d, err := sets.Get(ctx, op.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Spec.Template.Annotations[planner.RestartAnnotation] != op.Mark {
			patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
				"annotations": map[string]string{planner.RestartAnnotation: op.Mark},
			}}}})
			if err != nil {
				return err
			}
			if d, err = sets.Patch(ctx, op.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
				return err
			}
		}
		if running, wanted := rolledOut(d); running < wanted {
			return &providers.Error{Kind: providers.ErrUnavailable, Do: what, Cause: fmt.Errorf("%d of %d pods have started anew", running, wanted)}
		}
		return nil
	})
}

// rolledOut counts the pods that run as the DaemonSet is now, and those there are to be.
func rolledOut(d *appsv1.DaemonSet) (running, wanted int32) {
	s := d.Status
	if s.ObservedGeneration < d.Generation {
		return 0, max(1, s.DesiredNumberScheduled)
	}
	return min(s.UpdatedNumberScheduled, s.NumberAvailable), s.DesiredNumberScheduled
}
