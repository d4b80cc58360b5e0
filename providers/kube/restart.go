package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

// Restart implements providers.API. The mark is an annotation of the pod template that is
// set by a patch, so that later applies of the object keep it. If the object's owner
// controls restarts himself (OnDelete, paused), it fails at once with instructions instead
// of waiting.
func (a *API) Restart(ctx context.Context, op planner.RestartPods) error {
	what := "restart " + op.Namespace + "/" + op.Name
	if op.Mark == "" {
		what = "confirm the rollout of " + op.Kind + " " + op.Namespace + "/" + op.Name
	}
	var waiting error
	err := a.as(what, func(s *session) error {
		r, err := restartable(s, op)
		if err != nil {
			return err
		}
		now, err := r.get(ctx)
		if notFound(err) {
			return nil
		}
		if err == nil && op.Mark != "" && now.mark != op.Mark {
			var patch []byte
			if patch, err = markPatch(op.Mark); err == nil {
				now, err = r.patch(ctx, patch)
				err = written(err)
			}
		}
		if err != nil {
			return err
		}
		if now.held != "" {
			return fmt.Errorf("%s, and the others do not by themselves: %s", now.progress(op), now.held)
		}
		if now.running < now.wanted {
			waiting = &providers.Error{Kind: providers.ErrUnavailable, Do: what, Cause: errors.New(now.progress(op))}
		}
		return nil
	})
	return cmp.Or(err, waiting)
}

func markPatch(mark string) ([]byte, error) {
	return json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{planner.RestartAnnotation: mark},
	}}}})
}

// rollout is the progress of an object's pods towards its current template.
type rollout struct {
	mark string
	// running are the pods of the current template that run, of those wanted.
	running, wanted int32
	// held says why the other pods do not restart without a user's action, and which
	// action; empty otherwise.
	held string
}

// progress says how many pods are as awaited. Without a mark nothing here restarts them: their template
// has changed, and the object's controller replaces them.
func (r rollout) progress(op planner.RestartPods) string {
	done := "have restarted"
	if op.Mark == "" {
		done = "run with its current template"
	}
	return fmt.Sprintf("%d of %d pods %s", r.running, r.wanted, done)
}

// restarter reads an object with pods, and patches it.
type restarter struct {
	get   func(ctx context.Context) (rollout, error)
	patch func(ctx context.Context, patch []byte) (rollout, error)
}

func restartable(s *session, op planner.RestartPods) (restarter, error) {
	options := metav1.PatchOptions{FieldManager: fieldManager}
	switch op.Kind {
	case "DaemonSet":
		sets := s.typed.AppsV1().DaemonSets(op.Namespace)
		return restarter{
			get: func(ctx context.Context) (rollout, error) {
				d, err := sets.Get(ctx, op.Name, metav1.GetOptions{})
				return ofDaemonSet(d), err
			},
			patch: func(ctx context.Context, patch []byte) (rollout, error) {
				d, err := sets.Patch(ctx, op.Name, types.StrategicMergePatchType, patch, options)
				return ofDaemonSet(d), err
			},
		}, nil
	case "Deployment":
		deployments := s.typed.AppsV1().Deployments(op.Namespace)
		return restarter{
			get: func(ctx context.Context) (rollout, error) {
				d, err := deployments.Get(ctx, op.Name, metav1.GetOptions{})
				return ofDeployment(d), err
			},
			patch: func(ctx context.Context, patch []byte) (rollout, error) {
				d, err := deployments.Patch(ctx, op.Name, types.StrategicMergePatchType, patch, options)
				return ofDeployment(d), err
			},
		}, nil
	}
	return restarter{}, fmt.Errorf("internal error: no way to restart the pods of a %s", op.Kind)
}

func ofDaemonSet(d *appsv1.DaemonSet) rollout {
	if d == nil {
		return rollout{}
	}
	s := d.Status
	out := rollout{mark: d.Spec.Template.Annotations[planner.RestartAnnotation], running: min(s.UpdatedNumberScheduled, s.NumberAvailable), wanted: s.DesiredNumberScheduled}
	switch {
	case s.ObservedGeneration < d.Generation:
		out.running, out.wanted = 0, max(1, out.wanted)
	case d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType && s.UpdatedNumberScheduled < s.DesiredNumberScheduled:
		out.held = fmt.Sprintf("the updateStrategy of DaemonSet %[1]s/%[2]s is OnDelete. Delete its pods, one after another, and apply again: "+
			"kubectl -n %[1]s get pods -l '%[3]s' shows them, kubectl -n %[1]s delete pod NAME deletes one", d.Namespace, d.Name, metav1.FormatLabelSelector(d.Spec.Selector))
	}
	return out
}

// ofDeployment counts pods of former templates as missing, since they still have to end.
func ofDeployment(d *appsv1.Deployment) rollout {
	if d == nil {
		return rollout{}
	}
	s, wanted := d.Status, int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	out := rollout{mark: d.Spec.Template.Annotations[planner.RestartAnnotation], running: min(s.UpdatedReplicas, s.AvailableReplicas) - (s.Replicas - s.UpdatedReplicas), wanted: wanted}
	out.running = max(0, out.running)
	switch {
	case s.ObservedGeneration < d.Generation:
		out.running, out.wanted = 0, max(1, out.wanted)
	case d.Spec.Paused && (s.UpdatedReplicas < wanted || s.UpdatedReplicas < s.Replicas):
		out.held = fmt.Sprintf("Deployment %[1]s/%[2]s is paused. Resume it, and apply again: kubectl -n %[1]s rollout resume deployment/%[2]s", d.Namespace, d.Name)
	}
	return out
}
