package kube

import (
	"bytes"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// proxyLabel and proxyName are the label of kube-proxy's pods in kubeadm's manifest.
const proxyLabel, proxyName = "k8s-app", "kube-proxy"

// configSync is how long a kubelet may take until the volume of a running pod shows a
// ConfigMap's change: its sync period and the lifetime of its cache, each a minute.
const configSync = 2 * time.Minute

// dataWritten returns when the data of a ConfigMap was last written, zero if unknown.
// The API server keeps the time for each manager of fields.
func dataWritten(fields []metav1.ManagedFieldsEntry) time.Time {
	var last time.Time
	for _, f := range fields {
		if f.Time != nil && f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.Raw, []byte(`"f:data"`)) && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// staleProxies returns the nodes whose pod of kube-proxy was made before its
// configuration was written. Times are those of API servers, in seconds. A container
// that was restarted since, as after a reboot of its host, has read what is there now.
func staleProxies(pods *corev1.PodList, written time.Time) []string {
	var out []string
	for i := range pods.Items {
		p := &pods.Items[i]
		owner := metav1.GetControllerOf(p)
		switch {
		case p.Namespace != metav1.NamespaceSystem || p.Labels[proxyLabel] != proxyName || owner == nil || owner.Kind != "DaemonSet":
		case p.DeletionTimestamp != nil || p.Spec.NodeName == "":
		case !p.CreationTimestamp.Time.Before(written), startedAfter(p, written.Add(configSync)):
		default:
			out = append(out, p.Spec.NodeName)
		}
	}
	slices.Sort(out)
	return out
}

// startedAfter reports whether all containers of a pod run since a time.
func startedAfter(p *corev1.Pod, t time.Time) bool {
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Running == nil || c.State.Running.StartedAt.Time.Before(t) {
			return false
		}
	}
	return len(p.Status.ContainerStatuses) > 0
}
