package kubeadmtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// Run is one case asked of kubeadm of one version.
type Run struct {
	Version string
	Case    Case
}

// Runs lists everything that kubeadm is asked. The run on which the goldens of
// the others rest comes first.
func Runs() []Run {
	var out []Run
	for _, version := range []string{baseVersion, "1.34.9", "1.35.8", "1.37.1"} {
		for _, c := range Cases() {
			if c, ok := c.At(version); ok {
				out = append(out, Run{version, c})
			}
		}
	}
	// These come right before a change within their minor.
	for _, version := range []string{"1.34.1", "1.35.0", "1.36.0"} {
		for _, c := range Cases() {
			if slices.Contains([]string{baseCase, "args-order", "kubelet-args", "everything-control-plane"}, c.Name) {
				c, _ := c.At(version)
				out = append(out, Run{version, c})
			}
		}
	}
	return out
}

// Case is one configuration of a cluster, founded on one host and joined by
// at most one other.
type Case struct {
	Name string
	// From and To bound the minors of Kubernetes that are asked, as only those that know
	// what the case uses; 0 is no bound.
	From, To int
	Cluster  *config.Cluster
	Founder  Host
	// Joiner is nil where nobody joins.
	Joiner *Host
	// ExternalCA takes the CA's key away before anything but certificates is made.
	ExternalCA bool
	// Init and Join are fields of InitConfiguration and JoinConfiguration, as
	// YAML, that do not concern what is rendered.
	Init, Join string
}

// Host is a node and the facts of its host.
type Host struct {
	Node  *config.Node
	Facts state.Facts
}

// Name returns the node's name: configured, or the host's.
func (h Host) Name() string {
	if a := argOf(h.Node.Kubelet.Args, "hostname-override"); a != "" {
		return a
	}
	if h.Node.Name != "" {
		return h.Node.Name
	}
	return h.Facts.Hostname
}

// At returns the case for a version of Kubernetes; false when that is not asked.
func (c Case) At(version string) (Case, bool) {
	minor := Minor(version)
	if c.From > minor || c.To != 0 && c.To < minor {
		return Case{}, false
	}
	cluster := *c.Cluster
	cluster.KubernetesVersion = version
	c.Cluster = &cluster
	return c, true
}

// Minor returns the second number of a version.
func Minor(version string) int {
	n, err := strconv.Atoi(strings.Split(version, ".")[1])
	if err != nil {
		panic(fmt.Sprintf("%q is no version", version))
	}
	return n
}

func argOf(args []config.Arg, name string) string {
	for _, a := range slices.Backward(args) {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// Token is the bootstrap token with which hosts join; it opens nothing.
const Token = "abcdef.0123456789abcdef"

// edit changes a case while it is being made.
type edit func(*Case)

// newCase returns a cluster with the defaults of the language, quick keys, one
// control plane, and what the edits make of it.
func newCase(name string, edits ...edit) Case {
	c := Case{
		Name: name,
		Cluster: &config.Cluster{
			Label: "prod", Name: "kubernetes", BindPort: 6443, ImageRepository: "registry.k8s.io",
			Network: config.Network{ServiceSubnet: "10.96.0.0/12", DNSDomain: "cluster.local"},
			Etcd:    config.Etcd{DataDir: "/var/lib/etcd"},
			Certificates: config.Certificates{
				Dir: "/etc/kubernetes/pki", Algorithm: "ECDSA-P256",
				Validity: 8760 * time.Hour, CAValidity: 87600 * time.Hour,
			},
			Timeouts: config.Timeouts{
				ControlPlaneComponentHealthCheck: 4 * time.Minute, KubeletHealthCheck: 4 * time.Minute,
				KubernetesAPICall: time.Minute, EtcdAPICall: 2 * time.Minute, TLSBootstrap: 5 * time.Minute,
				Discovery: 5 * time.Minute, UpgradeManifests: 5 * time.Minute,
			},
			ImagePullPolicy: "IfNotPresent", ImagePullSerial: true,
		},
		Founder: newHost("cp1", config.ControlPlane, "10.77.0.11"),
	}
	for _, e := range edits {
		e(&c)
	}
	return c
}

func newHost(name string, role config.Role, addresses ...string) Host {
	return Host{
		Node: &config.Node{
			Target: state.NodeTarget(name), Cluster: "prod", Role: role, Address: addresses[0],
			AdvertiseAddresses: addresses, ImagePullPolicy: "IfNotPresent",
		},
		Facts: state.Facts{Hostname: name, Arch: "amd64", CRISocket: "unix:///var/run/containerd/containerd.sock"},
	}
}

// joinedBy adds a joining host: a copy, so that what is edited is this case's alone.
func joinedBy(h Host, edits ...func(*Host)) edit {
	return func(c *Case) {
		own := *h.Node
		h.Node = &own
		for _, e := range edits {
			e(&h)
		}
		c.Joiner = &h
	}
}

// args makes arguments of alternating names and values.
func args(pairs ...string) []config.Arg {
	var out []config.Arg
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, config.Arg{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}
