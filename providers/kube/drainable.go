package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubewright/kubewright/planner"
)

// drainable returns the pods that a drain evicts. It fails if one of the node's pods may not be
// evicted: then none is.
func drainable(ctx context.Context, client *clients, op planner.Drain) ([]corev1.Pod, error) {
	all, err := podsOf(ctx, client, op)
	if err != nil {
		return nil, err
	}
	var out []corev1.Pod
	refused := map[string][]string{}
	for i := range all {
		p := &all[i]
		if mirrored(p) || terminatingFor(p, op.SkipWait) {
			continue
		}
		leaves, reason, err := leaves(ctx, client, p, op)
		switch {
		case err != nil:
			return nil, err
		case reason != "":
			refused[reason] = append(refused[reason], p.Namespace+"/"+p.Name)
		case leaves:
			out = append(out, *p)
		}
	}
	var reasons []error
	for _, reason := range []string{lostData, uncontrolled, orphaned} {
		if pods := refused[reason]; len(pods) > 0 {
			reasons = append(reasons, fmt.Errorf("%s: %s", reason, strings.Join(pods, ", ")))
		}
	}
	return out, errors.Join(reasons...)
}

// Reasons for which a pod may not be evicted.
const (
	lostData     = "cannot evict pods whose emptyDir volumes would be lost (delete_emptydir_data)"
	uncontrolled = "cannot evict pods that no controller recreates (force)"
	orphaned     = "cannot evict pods whose DaemonSet does not exist (force)"
)

// leaves reports whether a pod has to leave its node, or the reason why it may not.
func leaves(ctx context.Context, client *clients, p *corev1.Pod, op planner.Drain) (leaves bool, reason string, err error) {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return true, "", nil
	}
	controller := metav1.GetControllerOf(p)
	if controller != nil && controller.Kind == "DaemonSet" && controller.APIVersion == "apps/v1" {
		_, err := client.AppsV1().DaemonSets(p.Namespace).Get(ctx, controller.Name, metav1.GetOptions{})
		switch {
		case err == nil: // it tolerates the cordon, and would be created again at once
			return false, "", nil
		case !apierrors.IsNotFound(err):
			return false, "", err
		case !op.Force:
			return false, orphaned, nil
		}
	}
	switch {
	case !op.DeleteEmptyDirData && hasEmptyDir(p):
		return false, lostData, nil
	case controller == nil && !op.Force:
		return false, uncontrolled, nil
	}
	return true, "", nil
}

// podsOf lists the pods on a node that the drain's selector selects. It does not follow a server
// that makes no progress for ever.
func podsOf(ctx context.Context, client *clients, op planner.Drain) ([]corev1.Pod, error) {
	selector, err := labels.Parse(op.PodSelector)
	if err != nil {
		return nil, err
	}
	var out []corev1.Pod
	err = pages[*corev1.PodList]{
		what: "pods on one node", most: mostDrained,
		options: metav1.ListOptions{LabelSelector: selector.String(), FieldSelector: fields.OneTermEqualSelector("spec.nodeName", op.Node).String()},
		list:    client.CoreV1().Pods(metav1.NamespaceAll).List,
		begin:   func() { out = nil },
		take: func(page *corev1.PodList) error {
			out = append(out, page.Items...)
			return nil
		},
	}.each(ctx)
	return out, err
}

func mirrored(p *corev1.Pod) bool {
	_, is := p.Annotations[corev1.MirrorPodAnnotationKey]
	return is
}

func hasEmptyDir(p *corev1.Pod) bool {
	for i := range p.Spec.Volumes {
		if p.Spec.Volumes[i].EmptyDir != nil {
			return true
		}
	}
	return false
}

// terminatingFor reports whether a pod has been terminating for so long that a drain does not wait
// for it. 0 stands for no limit.
func terminatingFor(p *corev1.Pod, limit time.Duration) bool {
	return limit > 0 && !p.DeletionTimestamp.IsZero() && time.Since(p.DeletionTimestamp.Time) > limit
}
