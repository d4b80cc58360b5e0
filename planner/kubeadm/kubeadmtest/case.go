package kubeadmtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Run is one case for kubeadm of one version.
type Run struct {
	Version string
	Case    Case
}

// Runs lists all runs of kubeadm. The run that the goldens of the others are based on comes first.
func Runs() []Run {
	var out []Run
	versions := slices.Sorted(maps.Values(kubeadm.KnownReleases()))
	versions = slices.DeleteFunc(versions, func(v string) bool { return v == baseVersion })
	for _, version := range append([]string{baseVersion}, versions...) {
		for _, c := range Cases() {
			if c, ok := c.At(version); ok {
				out = append(out, Run{version, c})
			}
		}
	}
	// These are the releases right before a change within their minor version.
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

// Case is one configuration of a cluster, bootstrapped on one host and joined by at most one other.
type Case struct {
	Name string
	// From and To bound the minor versions of Kubernetes, for a case that only some versions
	// support; 0 is no bound.
	From, To int
	Cluster  *config.Cluster
	Founder  Host
	// Joiner is nil if no host joins.
	Joiner *Host
	// ExternalCA removes the CA's key before anything but certificates is created.
	ExternalCA bool
	// Init and Join are fields of InitConfiguration and JoinConfiguration, as YAML, that do not
	// affect the rendered files.
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

// At returns the case for a version of Kubernetes; false if the case excludes that version.
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

// Token is the bootstrap token with which hosts join; it is valid nowhere else.
const Token = "abcdef.0123456789abcdef"

// edit modifies a case under construction.
type edit func(*Case)

// newCase returns a cluster with the defaults of the language, fast key algorithms and one control
// plane, modified by the edits.
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

// joinedBy adds a joining host: a copy, so that edits affect only this case.
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

// args returns arguments from alternating names and values.
func args(pairs ...string) []config.Arg {
	var out []config.Arg
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, config.Arg{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}
