package kube

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
		for j := range budgets.Items {
			if b := &budgets.Items[j]; selected(b, p) {
				name := b.Namespace + "/" + b.Name
				r.Budgets = append(r.Budgets, name)
				report.Budgets[name] = budgetReport(b)
			}
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
	owner := metav1.GetControllerOf(p)
	return owner != nil && owner.Kind == "DaemonSet" && !finished(p)
}

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func labelsOf(p *corev1.Pod) labels.Set { return p.Labels }

// podReport is a pod without its budgets.
func podReport(p *corev1.Pod, local map[string]bool) state.PodReport {
	r := state.PodReport{Namespace: p.Namespace, Name: p.Name, Node: p.Spec.NodeName, Labels: p.Labels, Finished: finished(p)}
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
