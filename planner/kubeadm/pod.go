package kubeadm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// planeComponents are the static pods of every control plane, in kubeadm's order.
var planeComponents = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// probePort is the name of the container port that all probes use (since 1.34).
const probePort = "probe-port"

// errRootless refuses a gate that requires creating users on the host first.
var errRootless = errors.New("cannot render static pods with the feature gate RootlessControlPlane: it is not supported. Remove it from feature_gates")

// StaticPod renders the manifest of kube-apiserver, kube-controller-manager or kube-scheduler.
func StaticPod(in Input, component string) ([]byte, error) {
	s := in.settings()
	var pod corev1.Pod
	switch component {
	case "kube-apiserver":
		pod = apiServer{s}.pod()
	case "kube-controller-manager":
		pod = controllerManager{s}.pod()
	case "kube-scheduler":
		pod = scheduler{s}.pod()
	default:
		return nil, fmt.Errorf("internal error: %q is no component of the control plane", component)
	}
	return s.renderPod(pod)
}

// component holds the differences between the pods.
type component struct {
	name, image string
	args        []state.Arg
	requests    corev1.ResourceList
	annotations map[string]string
	mounts      mounts
	env         []corev1.EnvVar
	probe       probe
}

// staticPod returns the pod of a component.
func (s *settings) staticPod(c component) corev1.Pod {
	priority := int32(2000001000) // of the class system-node-critical
	container := corev1.Container{
		Name: c.name, Image: c.image, ImagePullPolicy: corev1.PullIfNotPresent,
		Command:      append([]string{c.name}, flags(c.args)...),
		VolumeMounts: c.mounts.mounts, Env: c.env,
		Resources: corev1.ResourceRequirements{Requests: c.requests},
		Ports:     []corev1.ContainerPort{{Name: probePort, ContainerPort: c.probe.port, Protocol: corev1.ProtocolTCP}},
	}
	c.probe.set(&container, s.Timeouts.ControlPlaneComponentHealthCheck)
	return corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: c.name, Namespace: systemNamespace, Annotations: c.annotations,
			Labels: map[string]string{"component": c.name, "tier": "control-plane"},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{container}, Volumes: c.mounts.volumes,
			HostNetwork: true, Priority: &priority, PriorityClassName: "system-node-critical",
			SecurityContext: &corev1.PodSecurityContext{
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
}

// probe is the address and the paths of a pod's probes.
type probe struct {
	host   string
	port   int32
	scheme corev1.URIScheme
	// liveness, readiness and startup are paths; readiness may be missing.
	liveness, readiness, startup string
}

func (p probe) set(c *corev1.Container, startupTime time.Duration) {
	c.LivenessProbe = p.get(p.liveness, 10, 8, 10)
	if p.readiness != "" {
		c.ReadinessProbe = p.get(p.readiness, 0, 3, 1)
	}
	tries := int32((startupTime + 10*time.Second - 1) / (10 * time.Second))
	c.StartupProbe = p.get(p.startup, 10, tries, 10)
}

func (p probe) get(path string, delay, failures, period int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Host: p.host, Path: path, Port: intstr.FromString(probePort), Scheme: p.scheme,
		}},
		InitialDelaySeconds: delay, TimeoutSeconds: 15, FailureThreshold: failures, PeriodSeconds: period,
	}
}

// probeHost returns the host for probes of a component that listens on address; empty means the
// pod's own address, which a wildcard needs (kubernetes issue 86504).
func probeHost(address string) string {
	if address == "0.0.0.0" || address == "::" {
		return ""
	}
	return address
}

// bindHost returns the probe host of a component that listens on the loopback address by default.
func bindHost(extra []config.Arg) string {
	if address, ok := lastArg(extra, "bind-address"); ok {
		return probeHost(address)
	}
	return "127.0.0.1"
}

func cpu(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
}

// env returns the proxy environment overlaid by the user's, sorted by name. kubeadm takes the
// former from its own process; here the configuration has it.
func (s *settings) env(extra []config.EnvVar) []corev1.EnvVar {
	byName := map[string]corev1.EnvVar{}
	for _, e := range s.proxyEnv() {
		byName[e.Name] = e
	}
	for _, e := range envVars(extra) {
		byName[e.Name] = e
	}
	var out []corev1.EnvVar
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[name])
	}
	return out
}

// proxyEnv returns the proxy variables, sorted by name.
func (s *settings) proxyEnv() []corev1.EnvVar {
	var out []corev1.EnvVar
	for _, name := range slices.Sorted(maps.Keys(s.ProxyEnv)) {
		if value := s.ProxyEnv[name]; value != "" && strings.HasSuffix(strings.ToLower(name), "_proxy") {
			out = append(out, corev1.EnvVar{Name: name, Value: value})
		}
	}
	return out
}

// envVars converts the user's variables, with the default that kubeadm sets in a field reference.
func envVars(vars []config.EnvVar) []corev1.EnvVar {
	var out []corev1.EnvVar
	for _, e := range vars {
		var from *corev1.EnvVarSource
		if !e.ValueFrom.IsNull() {
			from = &corev1.EnvVarSource{}
			if b, err := json.Marshal(e.ValueFrom); err == nil {
				_ = utiljson.Unmarshal(b, from)
			}
			if from.FieldRef != nil && from.FieldRef.APIVersion == "" {
				from.FieldRef.APIVersion = "v1"
			}
		}
		out = append(out, corev1.EnvVar{Name: e.Name, Value: e.Value, ValueFrom: from})
	}
	return out
}

// renderPod patches a pod and encodes it like kubeadm: with sorted keys.
func (s *settings) renderPod(pod corev1.Pod) ([]byte, error) {
	patched, err := s.patchPod(pod)
	if err != nil {
		return nil, err
	}
	return podYAML(&patched)
}

func (s *settings) patchPod(pod corev1.Pod) (corev1.Pod, error) {
	if s.gate("RootlessControlPlane", false) {
		return pod, errRootless
	}
	name := pod.Name
	if patches := s.patches(name); len(patches) > 0 {
		content, err := json.Marshal(pod)
		if err != nil {
			return pod, fmt.Errorf("internal error: cannot write the manifest of %s: %w", name, err)
		}
		// kubeadm decodes the result into a Pod again, which drops unknown fields.
		if _, pod, err = readPatched(content, patches, "manifest of "+name, func(b []byte, p *corev1.Pod) error { return utiljson.Unmarshal(b, p) }); err != nil {
			return pod, err
		}
	}
	if len(pod.Spec.Containers) > 0 {
		// This comes after the patches, which may refer to indices and values of the command.
		command := &pod.Spec.Containers[0].Command
		*command = keep(*command, s.kept[name])
	}
	return pod, nil
}

func portString(port int) string { return strconv.Itoa(port) }

func hostPort(host string, port int) string { return net.JoinHostPort(host, portString(port)) }
