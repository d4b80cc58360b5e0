package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubewright/kubewright/state"
)

// lose counts a pod that ends with the cluster: none that has finished, and no static pod.
func (s *podsSeen) lose(p *corev1.Pod) error {
	if mirrored(p) || finished(p) {
		return nil
	}
	if s.lost.Pods[p.Namespace] == 0 {
		if err := s.room.add(len(p.Namespace)); err != nil {
			return err
		}
	}
	s.lost.Add(state.LostPod{Namespace: p.Namespace, Name: p.Name, Controlled: metav1.GetControllerOf(p) != nil, EmptyDir: hasEmptyDir(p)})
	return nil
}

// observeLosses fills in what ends with the cluster: the pods, which were counted as they were read, and
// the volumes that only one host has. Without a count of pods it was not asked for.
func observeLosses(ctx context.Context, s *session, report *state.ClusterReport, pods *state.Losses) error {
	if pods == nil {
		return nil
	}
	local, err := allLocalVolumes(ctx, s, report.Nodes)
	if err != nil {
		return err
	}
	for _, v := range local {
		if v.bound {
			pods.AddVolume(v.ClaimReport)
		}
	}
	report.Losses = pods
	return nil
}
