package kubeadm

import (
	"time"

	"github.com/kubewright/kubewright/state"
)

// DefaultTokenGroup is the group of the tokens that let nodes join.
const DefaultTokenGroup = "system:bootstrappers:kubeadm:default-node-token"

// Certificate is what a certificate is to be.
type Certificate struct {
	// Name is the phase's name in kubeadm: ca, apiserver, etcd-server …
	Name string
	// Base is the path of the pair without .crt and .key.
	Base string
	// CA is the base path of the signing CA, CAName its name; a CA's are its own.
	CA, CAName    string
	CommonName    string
	Organizations []string
	DNSNames      []string
	IPAddresses   []string
	// Usages are in the words of state.CertificateInfo: key usages, then extended ones.
	Usages    []string
	Algorithm string
	Validity  time.Duration
}

// Kubeconfig is what a kubeconfig is to be.
type Kubeconfig struct {
	Path, Server, Cluster, User, Context string
	// CommonName and Organizations are those of the client certificate; none for a token.
	CommonName    string
	Organizations []string
}

// Object is an API object that kubeadm makes.
type Object struct {
	// Phase is upload-config, bootstrap-token, addon or upload-certs.
	Phase      string
	Ref        state.ObjectRef
	Object     state.Value
	CreateOnly bool
	Initial    []string
}

// Marks are what kubeadm sets on a control plane's Node.
type Marks struct {
	Labels map[string]string
	Taints []state.Taint
}

// Images lists the images of a node in kubeadm's order.
func Images(in Input) []string { return nil }

// CAs lists the certificate authorities.
func CAs(in Input) []Certificate { return nil }

// Leaves lists the certificates of a control plane.
func Leaves(in Input) []Certificate { return nil }

// Kubeconfigs lists the kubeconfigs of a control plane.
func Kubeconfigs(in Input, founder bool) []Kubeconfig { return nil }

// BootstrapKubeconfig is that of a joining node.
func BootstrapKubeconfig(in Input) Kubeconfig { return Kubeconfig{} }

// KubeletServer is the URL at which the node's kubelet finds the API.
func KubeletServer(in Input) string { return "" }

// StaticPod renders kube-apiserver, kube-controller-manager or kube-scheduler.
func StaticPod(in Input, component string) ([]byte, error) { return nil, nil }

// EtcdPod renders etcd's static pod.
func EtcdPod(in Input, initialCluster string, existing bool) ([]byte, error) { return nil, nil }

// InstanceConfig renders instance-config.yaml.
func InstanceConfig(in Input) []byte { return nil }

// KubeletConfig renders the kubelet's config.yaml.
func KubeletConfig(in Input) ([]byte, error) { return nil, nil }

// KubeletFlags renders kubeadm-flags.env.
func KubeletFlags(in Input) []byte { return nil }

// KubeletHealthz is where the kubelet answers its health check.
func KubeletHealthz(in Input) (address string, port int) { return "", 0 }

// Healthz is the URL of a component's health check; insecure tells not to verify its certificate.
func Healthz(in Input, component string) (url string, insecure bool) { return "", false }

// Objects lists the API objects of a cluster in the order of their making.
func Objects(in Input) []Object { return nil }

// NodeMarks are the labels and taints of a control plane.
func NodeMarks(in Input) Marks { return Marks{} }

// Check reports everything that cannot be rendered.
func Check(in Input) error { return nil }

// StaticPodAttributes parses a static pod's manifest.
func StaticPodAttributes(manifest []byte) (state.Value, error) { return state.Map(nil), nil }

// YAMLAttributes parses any YAML map.
func YAMLAttributes(content []byte) (state.Value, error) { return state.Map(nil), nil }

// KubeletFlagsAttributes parses kubeadm-flags.env.
func KubeletFlagsAttributes(content []byte) (state.Value, error) { return state.Map(nil), nil }

// ManifestHash is the kubelet's hash of a static pod's file.
func ManifestHash(manifest []byte, nodeName string) string { return "" }
