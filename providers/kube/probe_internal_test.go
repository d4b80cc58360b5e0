package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestProbeURL checks what is asked to see whether a container lives: the kubelet's probe, with the port by
// its name as kubeadm writes it.
func TestProbeURL(t *testing.T) {
	t.Parallel()
	get := func(host string, port intstr.IntOrString, scheme corev1.URIScheme, path string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Host: host, Port: port, Scheme: scheme, Path: path}}}
	}
	named := []corev1.ContainerPort{{Name: "probe-port", ContainerPort: 2381}}
	for want, c := range map[string]corev1.Container{
		"http://[::1]:2381/readyz":        {Ports: named, LivenessProbe: get("::1", intstr.FromString("probe-port"), corev1.URISchemeHTTP, "/readyz")},
		"https://127.0.0.1:10257/healthz": {LivenessProbe: get("127.0.0.1", intstr.FromInt32(10257), corev1.URISchemeHTTPS, "/healthz")},
		"https://127.0.0.1:10259/livez": {
			ReadinessProbe: get("127.0.0.1", intstr.FromInt32(10259), corev1.URISchemeHTTPS, "/readyz"),
			LivenessProbe:  get("127.0.0.1", intstr.FromInt32(10259), corev1.URISchemeHTTPS, "/livez"),
		},
		"": {LivenessProbe: &corev1.Probe{}},
	} {
		if got := probeURL(&c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
