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
// changed ConfigMap: its sync period plus the lifetime of its cache, a minute each.
const configSync = 2 * time.Minute

// dataWritten returns the time at which the data of a ConfigMap was last written; zero if
// unknown. The API server records the time per field manager.
func dataWritten(fields []metav1.ManagedFieldsEntry) time.Time {
	var last time.Time
	for _, f := range fields {
		if f.Time != nil && f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.GetRawBytes(), []byte(`"f:data"`)) && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// proxyPod is a pod of kube-proxy's DaemonSet on a node.
type proxyPod struct {
	node string
	// created is its creation time; started is since when all its containers run, zero
	// while not all of them run.
	created, started time.Time
}

// proxyPodOf returns the relevant parts of a pod, and whether it is one of kube-proxy's
// that is not being deleted.
func proxyPodOf(p *corev1.Pod) (proxyPod, bool) {
	owner := metav1.GetControllerOf(p)
	if p.Namespace != metav1.NamespaceSystem || p.Labels[proxyLabel] != proxyName || owner == nil || owner.Kind != "DaemonSet" ||
		p.DeletionTimestamp != nil || p.Spec.NodeName == "" {
		return proxyPod{}, false
	}
	out := proxyPod{node: p.Spec.NodeName, created: p.CreationTimestamp.Time}
	for i, c := range p.Status.ContainerStatuses {
		switch {
		case c.State.Running == nil:
			return proxyPod{node: out.node, created: out.created}, true
		case i == 0 || c.State.Running.StartedAt.Time.Before(out.started):
			out.started = c.State.Running.StartedAt.Time
		}
	}
	return out, true
}

// staleProxies returns the nodes whose kube-proxy pod was created before its configuration
// was written. Times are those of API servers, in seconds. A container that was restarted
// since then, as after a reboot of its host, has read the current configuration.
func staleProxies(pods []proxyPod, written time.Time) []string {
	var out []string
	for _, p := range pods {
		if p.created.Before(written) && p.started.Before(written.Add(configSync)) {
			out = append(out, p.node)
		}
	}
	slices.Sort(out)
	return out
}
