package kube

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestKubeProxyConfigWriteTime(t *testing.T) {
	at := func(s int) *metav1.Time { return &metav1.Time{Time: time.Unix(int64(s), 0)} }
	fields := func(raw string) *metav1.FieldsV1 { return metav1.NewFieldsV1(raw) }
	got := dataWritten([]metav1.ManagedFieldsEntry{
		{Manager: "kubeadm", Time: at(10), FieldsV1: fields(`{"f:data":{".":{},"f:config.conf":{}}}`)},
		{Manager: "kubectl-edit", Time: at(30), FieldsV1: fields(`{"f:data":{"f:config.conf":{}}}`)},
		{Manager: "labels", Time: at(50), FieldsV1: fields(`{"f:metadata":{"f:labels":{"f:x":{}}}}`)},
		{Manager: "odd"},
	})
	if got.Unix() != 30 {
		t.Errorf("data was written at %d, want 30", got.Unix())
	}
	if !dataWritten(nil).IsZero() {
		t.Error("no time is known without managed fields")
	}
}

func TestStaleKubeProxyPods(t *testing.T) {
	written := time.Unix(1000, 0)
	pod := func(node string, created, started int64, change func(*corev1.Pod)) corev1.Pod {
		controller := true
		p := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "kube-system", Labels: map[string]string{"k8s-app": "kube-proxy"},
				CreationTimestamp: metav1.Unix(created, 0),
				OwnerReferences:   []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "kube-proxy", Controller: &controller}},
			},
			Spec: corev1.PodSpec{NodeName: node},
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(started, 0)},
		}}}
		if change != nil {
			change(&p)
		}
		return p
	}
	var list []proxyPod
	for _, p := range []corev1.Pod{
		pod("older", 900, 901, nil),
		pod("same-second", 1000, 1001, nil),
		pod("newer", 1001, 1002, nil),
		pod("rebooted", 900, 1200, nil),
		pod("restarted-too-early", 900, 1030, nil),
		pod("waiting", 900, 901, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Running = nil }),
		pod("going", 900, 901, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: written} }),
		pod("another-app", 900, 901, func(p *corev1.Pod) { p.Labels = nil }),
		pod("by-hand", 900, 901, func(p *corev1.Pod) { p.OwnerReferences = nil }),
		pod("elsewhere", 900, 901, func(p *corev1.Pod) { p.Namespace = "shop" }),
		pod("", 900, 901, nil),
	} {
		if proxy, ok := proxyPodOf(&p); ok {
			list = append(list, proxy)
		}
	}
	if got, want := staleProxies(list, written), []string{"older", "restarted-too-early", "waiting"}; !slices.Equal(got, want) {
		t.Errorf("stale on %v, want %v", got, want)
	}
	if got := staleProxies(list, time.Time{}); len(got) > 0 {
		t.Errorf("stale on %v although it is unknown when the configuration was written", got)
	}
}
