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

// kubelet renders the files of one node's kubelet, and what all kubelets of a cluster share.
type kubelet struct{ *settings }

// InstanceConfig renders instance-config.yaml, which holds the settings of this host only: the
// runtime's endpoint. It is empty if the gate NodeLocalCRISocket is off (1.34, 1.35): the endpoint
// is then a flag.
func InstanceConfig(in Input) []byte {
	k := kubelet{in.settings()}
	if !k.localSocket() {
		return nil
	}
	return fmt.Appendf(nil, "containerRuntimeEndpoint: %q\n", k.criSocket())
}

func (k kubelet) localSocket() bool {
	return !k.release.localSocketGate || k.gate("NodeLocalCRISocket", true)
}

// KubeletConfig renders the kubelet's config.yaml: the cluster's configuration with kubeadm's
// defaults, then that of this node (the resolver, the node's own configuration, patches), and
// finally the runtime's endpoint.
func KubeletConfig(in Input) ([]byte, error) {
	k := kubelet{in.settings()}
	c, err := k.config()
	if err != nil {
		return nil, err
	}
	k.setResolver(c)
	k.setServing(c)
	content, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("internal error: cannot write the kubelet's configuration: %w", err)
	}
	patches := k.patches(kubeletTarget)
	if !isEmpty(k.node.Kubelet.Config) {
		own, err := json.Marshal(k.node.Kubelet.Config)
		if err != nil {
			return nil, fmt.Errorf("internal error: cannot write the kubelet's configuration of the node: %w", err)
		}
		patches = append([]config.Patch{{Target: kubeletTarget, Content: string(own)}}, patches...)
	}
	if instance := InstanceConfig(in); instance != nil {
		patches = append(patches, config.Patch{Target: kubeletTarget, Content: string(instance)})
	}
	// kubeadm does not check the result, and a kubelet does not start with a configuration that it
	// cannot read.
	patched, _, err := readPatched(content, patches, "KubeletConfiguration", func(b []byte, c *kubeletconfig.KubeletConfiguration) error {
		unknown, err := strictjson.UnmarshalStrict(b, c)
		return errors.Join(append(unknown, err)...)
	})
	if err != nil {
		return nil, err
	}
	return asYAML(patched)
}

// config returns the configuration that all kubelets of the cluster share.
func (k kubelet) config() (*kubeletconfig.KubeletConfiguration, error) {
	c := &kubeletconfig.KubeletConfiguration{}
	if err := decodeStrict(k.Kubelet.Config, c); err != nil {
		return nil, fmt.Errorf("cannot read the KubeletConfiguration: %w", err)
	}
	for _, field := range k.release.unknownKubelet {
		if !k.Kubelet.Config.Get(field).IsNull() {
			return nil, fmt.Errorf("cannot use %s of KubeletConfiguration: the kubelet of Kubernetes 1.%d does not support it", field, k.release.minor)
		}
	}
	k.setDefaults(c)
	return c, nil
}

// setDefaults sets kubeadm's defaults for unset fields, and rotateCertificates always, since false
// and unset look the same.
func (k kubelet) setDefaults(c *kubeletconfig.KubeletConfiguration) {
	c.APIVersion, c.Kind = kubeletconfig.SchemeGroupVersion.String(), "KubeletConfiguration"
	if c.FeatureGates == nil {
		c.FeatureGates = map[string]bool{}
	}
	if c.ClusterDNS == nil {
		c.ClusterDNS = []string{k.dnsIP()}
	}
	setDefault(&c.StaticPodPath, manifestsDir)
	setDefault(&c.ClusterDomain, k.Network.DNSDomain)
	setDefault(&c.Authentication.X509.ClientCAFile, k.pki("ca.crt"))
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

// setResolver makes the kubelet bypass the stub of systemd-resolved.
func (k kubelet) setResolver(c *kubeletconfig.KubeletConfiguration) {
	if k.facts.SystemdResolved && c.ResolverConfig == nil {
		c.ResolverConfig = new(resolvedConf)
	}
}

// DNSAddress returns the address of the cluster's DNS service.
func DNSAddress(in Input) string { return in.settings().dnsIP() }

// dnsIP returns the address of the cluster's DNS service: the tenth of the service subnet.
func (s *settings) dnsIP() string { return indexedIP(s.Network.ServiceSubnet, 10) }

// args returns the configured arguments, the cluster's before the node's; an argument that the node
// sets too is taken from the node only. A dual-stack node gets both its addresses, as kubeadm's
// dual-stack guide does by hand: without them a kubelet detects only one.
func (k kubelet) args() []config.Arg {
	extra := slices.DeleteFunc(slices.Clone(k.Kubelet.Args), func(a config.Arg) bool {
		_, named := lastArg(k.node.Kubelet.Args, a.Name)
		return named
	})
	extra = append(extra, k.node.Kubelet.Args...)
	if _, named := lastArg(extra, "node-ip"); named || len(k.node.AdvertiseAddresses) < 2 {
		return extra
	}
	var addresses []string
	for _, a := range k.node.AdvertiseAddresses {
		addresses = append(addresses, state.CanonicalIP(a))
	}
	return append([]config.Arg{{Name: "node-ip", Value: strings.Join(addresses, ",")}}, extra...)
}

// KubeletFlags renders kubeadm-flags.env.
func KubeletFlags(in Input) []byte {
	k := kubelet{in.settings()}
	extra := k.args()
	var base []state.Arg
	if !k.localSocket() {
		base = append(base, state.Arg{Name: "container-runtime-endpoint", Value: k.criSocket()})
	}
	if k.release.podInfraImage {
		base = append(base, state.Arg{Name: "pod-infra-container-image", Value: k.pauseImage()})
	}
	// A control plane's taints are set through the API, as are its labels.
	if !k.controlPlane() && len(k.node.Taints) > 0 {
		base = append(base, state.Arg{Name: "register-with-taints", Value: joinTaints(k.node.Taints)})
	}
	if name := k.hostnameOverride(extra); name != "" {
		base = append(base, state.Arg{Name: "hostname-override", Value: name})
	}
	return fmt.Appendf(nil, "%s=%q\n", EnvFileVariable, strings.Join(flags(k.arguments(base, extra)), " "))
}

// hostnameOverride returns the node's name if it differs from the host's.
func (k kubelet) hostnameOverride(extra []config.Arg) string {
	name := k.name
	if override, ok := lastArg(extra, "hostname-override"); ok {
		name = override
	}
	if name == k.facts.Hostname || k.facts.Hostname == "" {
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

// sans returns the names and addresses by which API servers call the kubelet: the node's name, the
// host's, and the addresses that the node is reached at or announces.
func (k kubelet) sans() (dns, ips []string) {
	names := append([]string{k.name, k.facts.Hostname, k.advertise, k.node.Address}, k.node.AdvertiseAddresses...)
	if announced, ok := lastArg(k.args(), "node-ip"); ok {
		names = append(names, strings.Split(announced, ",")...)
	}
	return splitSANs(lower(names))
}

// setServing makes the kubelet serve with the certificate that the cluster's CA has signed. Kubelets
// that others join do not have it, so it is not in the configuration that all share.
func (k kubelet) setServing(c *kubeletconfig.KubeletConfiguration) {
	if k.Certificates.KubeletServing {
		c.TLSCertFile, c.TLSPrivateKeyFile = k.pki(KubeletServing+".crt"), k.pki(KubeletServing+".key")
	}
}

// KubeletHealthz returns the health check URL of a kubelet with that configuration; none for port
// 0.
func KubeletHealthz(attributes state.Value) (address string, port int) {
	port, err := strconv.Atoi(attributes.Get("healthzPort").AsString())
	if err != nil {
		port = kubeletPort
	}
	return firstOf(attributes.Get("healthzBindAddress").AsString(), kubeletLoopback), port
}

// Healthz returns the health check of a component in wait-control-plane; insecure reports whether
// its certificate is self-signed. Like in kubeadm, address and port come from the flags that the
// component runs with: attributes are those of its manifest. For etcd, which kubeadm checks in
// another way, it is the check of the pod's readiness probe.
func Healthz(in Input, component string, attributes state.Value) (url string, insecure bool) {
	s := in.settings()
	args := attributes.Get("args")
	value := func(name, byDefault string) string { return firstOf(args.Get(name).AsString(), byDefault) }
	switch component {
	case "kube-apiserver":
		return "https://" + hostPortText(value("advertise-address", s.advertise), value("secure-port", portString(s.BindPort))) + "/livez", false
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

// decodeStrict decodes a tree into a Go type with Kubernetes' own decoder, which is case-sensitive;
// a field that the type does not have is an error.
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

// isEmpty reports whether a tree has no content.
func isEmpty(v state.Value) bool {
	return v.IsNull() || v.Kind() == state.KindMap && len(v.AsMap()) == 0
}

// configMap returns the ConfigMap with the configuration that all kubelets share. Until 1.36
// kubeadm also stores the resolver of the host on which it runs in it.
func (k kubelet) configMap() (Object, error) {
	c, err := k.config()
	if err != nil {
		return Object{}, err
	}
	if k.release.sharedResolver {
		k.setResolver(c)
	}
	content, err := marshalYAML(c)
	if err != nil {
		return Object{}, fmt.Errorf("internal error: cannot write the kubelet's configuration: %w", err)
	}
	data := map[string]string{"kubelet": string(content)}
	var metadata object
	if isEmpty(k.Kubelet.Config) {
		metadata = hashAnnotation(data)
	}
	return configMap(uploadConfig, systemNamespace, "kubelet-config", data, metadata), nil
}

func (k kubelet) inlinedKubeconfig() Kubeconfig {
	return k.kubeconfig("kubelet", k.server(), "system:node:"+k.name, "system:nodes")
}

func (k kubelet) server() string {
	if k.controlPlane() && !(k.release.localModeGate && !k.gate("ControlPlaneKubeletLocalMode", true)) {
		return k.localURL()
	}
	return k.sharedURL()
}

// criSocket returns the runtime's endpoint, with the scheme completed like in kubeadm.
func (k kubelet) criSocket() string {
	s := firstOf(k.node.CRISocket, k.facts.CRISocket, "unix:///var/run/containerd/containerd.sock")
	if !strings.Contains(s, "://") {
		s = "unix://" + s
	}
	return s
}
