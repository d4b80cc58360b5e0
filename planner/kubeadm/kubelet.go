package kubeadm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	strictjson "sigs.k8s.io/json"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

const (
	// EnvFileVariable is the variable that kubeadm-flags.env sets.
	EnvFileVariable = "KUBELET_KUBEADM_ARGS"

	resolvedConf = "/run/systemd/resolve/resolv.conf"
	// Targets of patches besides the static pods.
	kubeletTarget   = "kubeletconfiguration"
	dnsTarget       = "corednsdeployment"
	proxyTarget     = "kubeproxydaemonset"
	kubeletPort     = 10248
	kubeletLoopback = "127.0.0.1"
)

// InstanceConfig renders instance-config.yaml, which keeps what is this host's
// alone: the runtime's endpoint. It is empty where the gate NodeLocalCRISocket
// is off (1.34, 1.35): the endpoint is then a flag.
func InstanceConfig(in Input) []byte {
	v := in.view()
	if !v.localSocket() {
		return nil
	}
	return fmt.Appendf(nil, "containerRuntimeEndpoint: %q\n", v.criSocket())
}

func (v *view) localSocket() bool {
	return !v.release.localSocketGate || v.gate("NodeLocalCRISocket", true)
}

// KubeletConfig renders the kubelet's config.yaml: the cluster's configuration
// with kubeadm's defaults, then what is this node's (the resolver, the node's
// own configuration, patches), and the runtime's endpoint over everything.
func KubeletConfig(in Input) ([]byte, error) {
	v := in.view()
	c, err := v.kubeletConfig()
	if err != nil {
		return nil, err
	}
	v.setResolver(c)
	content, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("internal error: cannot write the kubelet's configuration: %w", err)
	}
	patches := v.patches(kubeletTarget)
	if !isEmpty(v.node.Kubelet.Config) {
		own, err := json.Marshal(v.node.Kubelet.Config)
		if err != nil {
			return nil, fmt.Errorf("internal error: cannot write the kubelet's configuration of the node: %w", err)
		}
		patches = append([]config.Patch{{Target: kubeletTarget, Content: string(own)}}, patches...)
	}
	if instance := InstanceConfig(in); instance != nil {
		patches = append(patches, config.Patch{Target: kubeletTarget, Content: string(instance)})
	}
	// kubeadm does not look at what comes out, and the kubelet does not start with what
	// it cannot read.
	patched, _, err := readPatched(content, patches, "KubeletConfiguration", func(b []byte, c *kubeletconfig.KubeletConfiguration) error {
		unknown, err := strictjson.UnmarshalStrict(b, c)
		return errors.Join(append(unknown, err)...)
	})
	if err != nil {
		return nil, err
	}
	return asYAML(patched)
}

// kubeletConfig returns the configuration that all kubelets of the cluster share.
func (v *view) kubeletConfig() (*kubeletconfig.KubeletConfiguration, error) {
	c := &kubeletconfig.KubeletConfiguration{}
	if err := decodeStrict(v.Kubelet.Config, c); err != nil {
		return nil, fmt.Errorf("cannot read the KubeletConfiguration: %w", err)
	}
	for _, field := range v.release.unknownKubelet {
		if !v.Kubelet.Config.Get(field).IsNull() {
			return nil, fmt.Errorf("cannot use %s of KubeletConfiguration: the kubelet of Kubernetes 1.%d does not support it", field, v.release.minor)
		}
	}
	v.defaultKubelet(c)
	return c, nil
}

// defaultKubelet sets what kubeadm sets where the user says nothing;
// rotateCertificates it always sets, since false and unset look the same.
func (v *view) defaultKubelet(c *kubeletconfig.KubeletConfiguration) {
	c.APIVersion, c.Kind = kubeletconfig.SchemeGroupVersion.String(), "KubeletConfiguration"
	if c.FeatureGates == nil {
		c.FeatureGates = map[string]bool{}
	}
	if c.ClusterDNS == nil {
		c.ClusterDNS = []string{v.dnsIP()}
	}
	setDefault(&c.StaticPodPath, manifestsDir)
	setDefault(&c.ClusterDomain, v.Network.DNSDomain)
	setDefault(&c.Authentication.X509.ClientCAFile, v.pki("ca.crt"))
	setDefault(&c.Authorization.Mode, kubeletconfig.KubeletAuthorizationModeWebhook)
	setDefault(&c.HealthzBindAddress, kubeletLoopback)
	setDefault(&c.CgroupDriver, "systemd")
	if c.Authentication.Anonymous.Enabled == nil {
		c.Authentication.Anonymous.Enabled = new(false)
	}
	if c.Authentication.Webhook.Enabled == nil {
		c.Authentication.Webhook.Enabled = new(true)
	}
	if c.HealthzPort == nil {
		c.HealthzPort = new(int32(kubeletPort))
	}
	c.RotateCertificates = true
}

func setDefault[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}

// setResolver points the kubelet past systemd-resolved's stub.
func (v *view) setResolver(c *kubeletconfig.KubeletConfiguration) {
	if v.facts.SystemdResolved && c.ResolverConfig == nil {
		c.ResolverConfig = new(resolvedConf)
	}
}

// dnsIP returns the cluster's DNS service: the tenth address of the services.
func (v *view) dnsIP() string { return indexedIP(v.Network.ServiceSubnet, 10) }

// kubeletArgs returns the arguments of the configuration, the cluster's before the
// node's; one that the node names too is the node's alone. A node of both
// families is told both its addresses, as kubeadm's guide to dual stack does by
// hand: a kubelet that is told nothing finds one.
func (v *view) kubeletArgs() []config.Arg {
	extra := slices.DeleteFunc(slices.Clone(v.Kubelet.Args), func(a config.Arg) bool {
		_, named := lastArg(v.node.Kubelet.Args, a.Name)
		return named
	})
	extra = append(extra, v.node.Kubelet.Args...)
	if _, named := lastArg(extra, "node-ip"); named || len(v.node.AdvertiseAddresses) < 2 {
		return extra
	}
	var addresses []string
	for _, a := range v.node.AdvertiseAddresses {
		addresses = append(addresses, state.CanonicalIP(a))
	}
	return append([]config.Arg{{Name: "node-ip", Value: strings.Join(addresses, ",")}}, extra...)
}

// KubeletFlags renders kubeadm-flags.env.
func KubeletFlags(in Input) []byte {
	v := in.view()
	extra := v.kubeletArgs()
	var base []state.Arg
	if !v.localSocket() {
		base = append(base, state.Arg{Name: "container-runtime-endpoint", Value: v.criSocket()})
	}
	if v.release.podInfraImage {
		base = append(base, state.Arg{Name: "pod-infra-container-image", Value: v.pauseImage()})
	}
	// A control plane's taints are set through the API, as are its labels.
	if !v.controlPlane() && len(v.node.Taints) > 0 {
		base = append(base, state.Arg{Name: "register-with-taints", Value: joinTaints(v.node.Taints)})
	}
	if name := v.nodeNameFlag(extra); name != "" {
		base = append(base, state.Arg{Name: "hostname-override", Value: name})
	}
	return fmt.Appendf(nil, "%s=%q\n", EnvFileVariable, strings.Join(flags(v.arguments(base, extra)), " "))
}

// nodeNameFlag returns the node's name where it is not the host's.
func (v *view) nodeNameFlag(extra []config.Arg) string {
	name := v.name
	if override, ok := lastArg(extra, "hostname-override"); ok {
		name = override
	}
	if name == v.facts.Hostname || v.facts.Hostname == "" {
		return ""
	}
	return name
}

func joinTaints(taints []state.Taint) string {
	words := make([]string, len(taints))
	for i, t := range taints {
		words[i] = t.String()
	}
	return strings.Join(words, ",")
}

// KubeletHealthz returns where a kubelet with that configuration answers its health
// check; port 0 is nowhere.
func KubeletHealthz(attributes state.Value) (address string, port int) {
	port, err := strconv.Atoi(attributes.Get("healthzPort").AsString())
	if err != nil {
		port = kubeletPort
	}
	return firstOf(attributes.Get("healthzBindAddress").AsString(), kubeletLoopback), port
}

// Healthz returns the health check that wait-control-plane makes of a component;
// insecure reports whether its certificate is self-signed. As kubeadm does, the
// address and port are read back from the flags that the component runs with:
// attributes are those of its manifest. Of etcd, which kubeadm asks otherwise, it
// is that of the pod's readiness probe.
func Healthz(in Input, component string, attributes state.Value) (url string, insecure bool) {
	v := in.view()
	args := attributes.Get("args")
	value := func(name, byDefault string) string { return firstOf(args.Get(name).AsString(), byDefault) }
	switch component {
	case "kube-apiserver":
		return "https://" + hostPortText(value("advertise-address", v.advertise), value("secure-port", portString(v.BindPort))) + "/livez", false
	case "etcd":
		first, _, _ := strings.Cut(value("listen-metrics-urls", "http://127.0.0.1:"+strconv.Itoa(metricsPort)), ",")
		return first + "/readyz", true
	case "kube-controller-manager":
		return "https://" + hostPortText(value("bind-address", "127.0.0.1"), value("secure-port", "10257")) + "/healthz", true
	}
	return "https://" + hostPortText(value("bind-address", "127.0.0.1"), value("secure-port", "10259")) + "/livez", true
}

func hostPortText(host, port string) string {
	n, _ := strconv.Atoi(port)
	return hostPort(host, n)
}

// decodeStrict reads a tree into a Go type with Kubernetes' own decoder, to
// which the case of names matters; a field that the type does not have is an error.
func decodeStrict(tree state.Value, into any) error {
	if isEmpty(tree) {
		return nil
	}
	content, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	unknown, err := strictjson.UnmarshalStrict(content, into)
	return errors.Join(append(unknown, err)...)
}

// isEmpty reports whether a tree says nothing.
func isEmpty(v state.Value) bool {
	return v.IsNull() || v.Kind() == state.KindMap && len(v.AsMap()) == 0
}
