package kube

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubewright/kubewright/state"
)

// observePods fills in what a drain of the nodes would evict, and what speaks of it.
func observePods(ctx context.Context, s *session, report *state.ClusterReport, pods *corev1.PodList, nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	budgets, err := s.typed.PolicyV1().PodDisruptionBudgets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	volumes, err := s.typed.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	local := localClaims(volumes)
	report.Budgets = map[string]state.BudgetReport{}
	for i := range pods.Items {
		p := &pods.Items[i]
		if !slices.Contains(nodes, p.Spec.NodeName) || stays(p) {
			continue
		}
		r := podReport(p, local)
		for _, b := range asked(budgets, p) {
			name := b.Namespace + "/" + b.Name
			r.Budgets = append(r.Budgets, name)
			report.Budgets[name] = budgetReport(b)
		}
		slices.Sort(r.Budgets)
		report.Pods = append(report.Pods, r)
	}
	slices.SortFunc(report.Pods, func(a, b state.PodReport) int { return strings.Compare(a.String(), b.String()) })
	return nil
}

// stays tells that a drain leaves a pod where it is: a mirror pod, or one of a
// DaemonSet that has not run to its end.
func stays(p *corev1.Pod) bool {
	if _, mirror := p.Annotations[mirrorAnnotation]; mirror {
		return true
	}
	// Kinds of the same name that others have made are evicted as any.
	owner := metav1.GetControllerOf(p)
	return owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String() && !finished(p)
}

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// asked are the budgets that the eviction of a pod has to ask. What disrupts
// nothing any more asks none: a pod that has ended, has not begun or terminates,
// and an unhealthy one where its budget lets such go.
func asked(budgets *policyv1.PodDisruptionBudgetList, p *corev1.Pod) []*policyv1.PodDisruptionBudget {
	if finished(p) || p.Status.Phase == corev1.PodPending || !p.DeletionTimestamp.IsZero() {
		return nil
	}
	var out []*policyv1.PodDisruptionBudget
	for i := range budgets.Items {
		if b := &budgets.Items[i]; selected(b, p) {
			out = append(out, b)
		}
	}
	if len(out) == 1 && !ready(p) && letsUnhealthyGo(out[0]) {
		return nil
	}
	return out
}

// letsUnhealthyGo tells that a budget stands in the way of ready pods alone, by
// its policy or because enough of them are healthy.
func letsUnhealthyGo(b *policyv1.PodDisruptionBudget) bool {
	if policy := b.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.DesiredHealthy > 0 && b.Status.CurrentHealthy >= b.Status.DesiredHealthy
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func labelsOf(p *corev1.Pod) labels.Set { return p.Labels }

// podReport is a pod without its budgets.
func podReport(p *corev1.Pod, local map[string]bool) state.PodReport {
	r := state.PodReport{Namespace: p.Namespace, Name: p.Name, Node: p.Spec.NodeName, Labels: p.Labels, Finished: finished(p)}
	if at := p.DeletionTimestamp; at != nil {
		r.GoneBy = at.UTC()
	}
	if owner := metav1.GetControllerOf(p); owner != nil {
		r.Controller = owner.Kind
	}
	for _, v := range p.Spec.Volumes {
		if v.EmptyDir != nil {
			r.EmptyDir = true
		}
		if c := v.PersistentVolumeClaim; c != nil && local[p.Namespace+"/"+c.ClaimName] {
			r.LocalClaims = append(r.LocalClaims, c.ClaimName)
		}
	}
	slices.Sort(r.LocalClaims)
	return r
}

// localClaims are the claims, as NAMESPACE/NAME, whose volume is on the disk of
// one host.
func localClaims(volumes *corev1.PersistentVolumeList) map[string]bool {
	out := map[string]bool{}
	for i := range volumes.Items {
		v := &volumes.Items[i].Spec
		if v.ClaimRef != nil && (v.Local != nil || v.HostPath != nil) {
			out[v.ClaimRef.Namespace+"/"+v.ClaimRef.Name] = true
		}
	}
	return out
}
