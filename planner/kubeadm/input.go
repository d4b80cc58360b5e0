package kubeadm

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// Input is one node of one cluster, as input of a phase.
type Input struct {
	Cluster *config.Cluster
	Node    *config.Node
	// NodeName is the Kubernetes node name; if empty, the node's configured name, or else the
	// host's.
	NodeName string
	// Facts provides CADirs, SystemdResolved, CRISocket, Hostname and Arch of the host.
	Facts *state.Facts
	// RunningKubelet is the version of the kubelet that runs on the node; if empty, the installed
	// one's.
	RunningKubelet string
	// ExternalCA reports whether the cluster has no CA key.
	ExternalCA bool
	// SigningCert and SigningKey are the files with which the controller manager signs; if empty,
	// the cluster's CA.
	SigningCert, SigningKey string
	// SharedAddress is the address of the control plane that represents the cluster if no
	// control_plane_endpoint is configured: workers join through it. If empty, this node's own.
	SharedAddress string
	// VerifiesKubelets reports whether API servers verify the certificates of kubelets.
	VerifiesKubelets bool
	// Kept are arguments of static pods that keep their value on the host; nil if there are none.
	Kept *Kept
}

// Kept are arguments of static pods that keep the value on the host, whatever the configuration and
// its patches say: the values by component and name.
type Kept map[string]map[string][]string

// Paths and ports that kubeadm fixes.
const (
	kubernetesDir  = "/etc/kubernetes"
	manifestsDir   = kubernetesDir + "/manifests"
	etcdClientPort = 2379
	etcdPeerPort   = 2380
	metricsPort    = 2381
)

// Names that several objects share.
const (
	// ControlPlaneRole is the label of nodes that are control planes.
	ControlPlaneRole = "node-role.kubernetes.io/control-plane"
	systemNamespace  = "kube-system"
)

// VerifyKubelets is the argument of API servers that names the CA of the kubelets' certificates.
const VerifyKubelets = "kubelet-certificate-authority"

// DefaultTokenGroup is the group of the tokens that let nodes join.
const DefaultTokenGroup = "system:bootstrappers:kubeadm:default-node-token"

// settings is an input with defaults filled in and values derived from it.
type settings struct {
	config.Cluster // a shallow copy; the values it points to must not be changed

	node       *config.Node
	facts      state.Facts
	release    release
	externalCA bool
	// signingCert and signingKey are the files of the controller manager.
	signingCert, signingKey string
	kept                    Kept
	// name is the Kubernetes node name.
	name string
	// advertise is the canonical form of the address that this node advertises.
	advertise string
	// shared is the address that represents the cluster if it has no endpoint.
	shared string
}

// settings resolves an input. It accepts an incomplete configuration, which has not been checked
// yet.
func (in Input) settings() *settings {
	s := &settings{Cluster: *in.Cluster, node: in.Node, externalCA: in.ExternalCA, signingCert: in.SigningCert, signingKey: in.SigningKey}
	s.name, s.facts = in.nodeName(), in.hostFacts()
	if s.node == nil {
		s.node = &config.Node{Role: config.ControlPlane}
	}
	if in.Kept != nil {
		s.kept = *in.Kept
	}
	fillDefaults(&s.Cluster)
	if in.VerifiesKubelets {
		// As an argument of the user's, it is also in the configuration that kubeadm reads.
		s.APIServer.Args = append(slices.Clone(s.APIServer.Args), config.Arg{Name: VerifyKubelets, Value: s.pki("ca.crt")})
	}
	s.release = releaseOf(s.KubernetesVersion)
	s.advertise = s.node.AdvertiseAddress()
	s.shared = state.CanonicalIP(firstOf(in.SharedAddress, s.advertise))
	return s
}

// nodeName returns the Kubernetes node name.
func (in Input) nodeName() string {
	node := ""
	if in.Node != nil {
		node = in.Node.Name
	}
	return firstOf(in.NodeName, node, in.hostFacts().Hostname)
}

// hostFacts returns the facts about the host; empty before it was observed.
func (in Input) hostFacts() state.Facts {
	if in.Facts == nil {
		return state.Facts{}
	}
	return *in.Facts
}

// fillDefaults sets kubeadm's defaults (v1beta4 SetDefaults and the dynamic
// ones of init) in the fields that are empty.
func fillDefaults(c *config.Cluster) {
	c.Name = firstOf(c.Name, "kubernetes")
	c.ImageRepository = firstOf(c.ImageRepository, "registry.k8s.io")
	c.Network.ServiceSubnet = firstOf(c.Network.ServiceSubnet, "10.96.0.0/12")
	c.Network.DNSDomain = firstOf(c.Network.DNSDomain, "cluster.local")
	c.Certificates.Dir = firstOf(c.Certificates.Dir, kubernetesDir+"/pki")
	c.Certificates.Algorithm = firstOf(c.Certificates.Algorithm, "RSA-2048")
	c.Etcd.DataDir = firstOf(c.Etcd.DataDir, "/var/lib/etcd")
	if c.BindPort == 0 {
		c.BindPort = 6443
	}
	if c.Certificates.Validity == 0 {
		c.Certificates.Validity = 8760 * time.Hour
	}
	if c.Certificates.CAValidity == 0 {
		c.Certificates.CAValidity = 87600 * time.Hour
	}
	if c.Timeouts.ControlPlaneComponentHealthCheck == 0 {
		c.Timeouts.ControlPlaneComponentHealthCheck = 4 * time.Minute
	}
	c.ControlPlaneEndpoint = withPort(c.ControlPlaneEndpoint, c.BindPort)
	c.APIServer.CertSANs = lower(c.APIServer.CertSANs)
	// init stores a skipped addon as a disabled one.
	c.DNS.Disabled = c.DNS.Disabled || c.Skips("addon/coredns")
	c.KubeProxy.Disabled = c.KubeProxy.Disabled || c.Skips("addon/kube-proxy")
}

// controlPlane reports whether the node is a control plane.
func (s *settings) controlPlane() bool { return s.node.Role == config.ControlPlane }

// gate reports whether a feature gate of kubeadm is on.
func (s *settings) gate(name string, byDefault bool) bool {
	if on, ok := s.FeatureGates[name]; ok {
		return on
	}
	return byDefault
}

// algorithm returns the algorithm of keys. Until 1.36 the deprecated gate takes precedence if it is
// set, even to false.
func (s *settings) algorithm() string {
	on, written := s.FeatureGates["PublicKeysECDSA"]
	switch {
	case !s.release.ecdsaGate || !written:
		return s.Certificates.Algorithm
	case on:
		return "ECDSA-P256"
	}
	return "RSA-2048"
}

// pki joins a name to the certificates folder.
func (s *settings) pki(name string) string { return s.Certificates.Dir + "/" + name }

// localURL returns the URL of this node's own API server.
func (s *settings) localURL() string { return httpsURL(s.advertise, s.BindPort) }

// sharedURL returns the URL at which any API server of the cluster answers.
func (s *settings) sharedURL() string {
	if s.ControlPlaneEndpoint == "" {
		return httpsURL(s.shared, s.BindPort)
	}
	return "https://" + s.ControlPlaneEndpoint
}

func httpsURL(host string, port int) string {
	return "https://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// withPort completes HOST to HOST:PORT.
func withPort(endpoint string, port int) string {
	if endpoint == "" {
		return ""
	}
	host, p, err := net.SplitHostPort(endpoint)
	if err != nil {
		host = endpoint
	}
	if p == "" {
		p = strconv.Itoa(port)
	}
	return net.JoinHostPort(host, p)
}

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Unmap().Is6()
}

// indexedIP returns the n-th address of the first of the subnets.
func indexedIP(subnets string, n uint64) string {
	first, _, _ := strings.Cut(subnets, ",")
	p, err := netip.ParsePrefix(strings.TrimSpace(first))
	if err != nil {
		return ""
	}
	a := p.Masked().Addr()
	for range n {
		a = a.Next()
	}
	return a.String()
}

func firstOf(values ...string) string {
	for _, s := range values {
		if s != "" {
			return s
		}
	}
	return ""
}

func lower(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = strings.ToLower(out[i])
	}
	return out
}
