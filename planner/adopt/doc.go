// Package adopt reads a cluster that kubeadm made back into a configuration: from hosts and API it
// derives a config.Config whose desired items are the observed ones.
//
// It starts with what kubeadm itself keeps in the cluster (ClusterConfiguration,
// KubeletConfiguration, KubeProxyConfiguration) and removes the values that kubeadm fills in. Then
// it compares each host: arguments and patches of static pods, flags and settings of kubelets,
// labels and taints of nodes. Rendering verifies the result: either package kubeadm renders what is
// observed, or the plan shows the difference.
//
// All of it is pure. Settings that the language cannot express are omitted, so the plan shows them.
package adopt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Seen is what was read from a running cluster.
type Seen struct {
	// Label is the label of the cluster block to write.
	Label string
	// Objects holds the objects that Objects lists, as far as they exist.
	Objects map[state.ObjectRef]state.Value
	// Hosts are the hosts of all nodes of the cluster.
	Hosts []Host
}

// Host is one node of the cluster, with what was read on its host.
type Host struct {
	// Target is the address that the node gets in the configuration.
	Target state.Target
	// Name is the name of the Node object.
	Name string
	// Addresses are the IPs by which other nodes reach it; the first is the one that its components
	// advertise.
	Addresses []string
	Facts     state.Facts
	// Files holds the files that Query lists.
	Files map[string]state.FileReport
	Node  state.NodeReport
}

// Role returns the role of the node: a control plane has an API server.
func (h *Host) Role() config.Role {
	if h.Files[manifest("kube-apiserver")].Exists {
		return config.ControlPlane
	}
	return config.Worker
}

// Found is the result of reading a running cluster.
type Found struct {
	Config *config.Config
	// ExternalCA reports whether no control plane has the key of the cluster's CA.
	ExternalCA bool
	// Keyless are the common names of all CAs whose key no control plane has.
	Keyless []string
	// Taints are the taints of workers that no flag of their kubelets sets, as NODE
	// (KEY=VALUE:EFFECT). The configuration omits them: it would change the flags.
	Taints []string
}

// Files that are read on every host.
const (
	kubeletConfig  = "/var/lib/kubelet/config.yaml"
	kubeletFlags   = "/var/lib/kubelet/kubeadm-flags.env"
	instanceConfig = "/var/lib/kubelet/instance-config.yaml"
)

var components = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"}

func manifest(component string) string { return "/etc/kubernetes/manifests/" + component + ".yaml" }

// AdminConf is the administrator's kubeconfig, with which the API is read.
const AdminConf = "/etc/kubernetes/admin.conf"

// Query returns what has to be read on a host to find out whether it belongs to a cluster, and how
// it differs from the others. It never reads the content of keys.
func Query() state.Query {
	q := state.Query{Secrets: []string{AdminConf}}
	for _, c := range components {
		q.Files = append(q.Files, state.FileQuery{Path: manifest(c), Read: state.ReadContent})
	}
	for _, path := range []string{kubeletConfig, kubeletFlags, instanceConfig} {
		q.Files = append(q.Files, state.FileQuery{Path: path, Read: state.ReadContent})
	}
	q.Files = append(q.Files,
		state.FileQuery{Path: AdminConf},
		state.FileQuery{Path: kubeletConf, Read: state.ReadKubeconfig})
	return q
}

func system(kind, name string) state.ObjectRef {
	return state.ObjectRef{APIVersion: "v1", Kind: kind, Namespace: "kube-system", Name: name}
}

var (
	clusterConfig = system("ConfigMap", "kubeadm-config")
	sharedKubelet = system("ConfigMap", "kubelet-config")
	proxyConfig   = system("ConfigMap", "kube-proxy")
)

// Objects returns what has to be read from the API.
func Objects() []state.ObjectRef {
	return []state.ObjectRef{clusterConfig, sharedKubelet, proxyConfig, dnsDeployment, proxyDaemons}
}

// reader builds a configuration.
type reader struct {
	seen       Seen
	cluster    *config.Cluster
	nodes      []*config.Node
	externalCA bool
	// stored is the Kubernetes version in kubeadm-config.
	stored string
}

// Read builds a configuration from what was read. It returns an error when the language cannot
// describe the cluster.
func Read(s Seen) (*Found, error) {
	text := s.Objects[clusterConfig].Get("data.ClusterConfiguration").AsString()
	if text == "" {
		return nil, errors.New("the cluster has no ConfigMap kubeadm-config in kube-system with a ClusterConfiguration: it was not created by kubeadm")
	}
	c, err := kubeadm.ReadClusterConfiguration(s.Label, text)
	if err != nil {
		return nil, err
	}
	if c.FeatureGates[config.RootlessControlPlane] {
		return nil, fmt.Errorf("the cluster has kubeadm's feature gate %s: the pods of its control plane run as users of their own, "+
			"and kubewright would run them as root. It has to stay with kubeadm", config.RootlessControlPlane)
	}
	r := &reader{seen: s, cluster: c}
	slices.SortFunc(r.seen.Hosts, func(a, b Host) int { return strings.Compare(a.Target.String(), b.Target.String()) })
	for i := range r.seen.Hosts {
		h := &r.seen.Hosts[i]
		r.nodes = append(r.nodes, r.node(h))
	}
	if len(r.planes()) == 0 {
		return nil, fmt.Errorf("none of the %d hosts has a manifest of kube-apiserver", len(s.Hosts))
	}
	r.version()
	// Gates of earlier versions stay in kubeadm-config, where kubeadm ignores them.
	maps.DeleteFunc(c.FeatureGates, func(name string, on bool) bool { return !config.HasFeatureGate(c.KubernetesVersion, name, on) })
	keyless, err := r.authorities()
	if err != nil {
		return nil, err
	}
	r.shared()
	r.absent()
	r.images()
	for _, step := range []func() error{r.bindPort, r.dataDir, r.componentConfigs, r.addons, r.staticPods, r.kubelets} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	r.hoist()
	return &Found{Config: &config.Config{Clusters: []*config.Cluster{c}, Nodes: r.nodes}, ExternalCA: r.externalCA, Keyless: keyless, Taints: r.unsaidTaints()}, nil
}

// node returns a node with only the settings that its host implies.
func (r *reader) node(h *Host) *config.Node {
	n := config.NewNode(h.Target, r.seen.Label, h.Role(), h.Addresses[0])
	if h.Name != h.Facts.Hostname {
		n.Name = h.Name
	}
	n.Labels = ownLabels(h)
	if n.Role == config.ControlPlane {
		n.Taints = planeTaints(h.Node.Taints)
	}
	return n
}

// plane is a control plane together with its host.
type plane struct {
	node *config.Node
	host *Host
}

func (r *reader) planes() []plane {
	var out []plane
	for i, n := range r.nodes {
		if n.Role == config.ControlPlane {
			out = append(out, plane{n, &r.seen.Hosts[i]})
		}
	}
	return out
}

// input returns the input to render a node from what has been read so far.
func (r *reader) input(n *config.Node, h *Host) kubeadm.Input {
	return kubeadm.Input{
		Cluster: r.cluster, Node: n, NodeName: h.Name, Facts: &h.Facts, ExternalCA: r.externalCA,
		RunningKubelet: strings.TrimPrefix(h.Node.KubeletVersion, "v"),
		SharedAddress:  r.planes()[0].node.AdvertiseAddress(),
	}
}

// HostQuery extends Query once the cluster's configuration is known: its certificates folder shows
// who holds the keys of the CAs. It asks only whether those keys exist.
func HostQuery(objects map[state.ObjectRef]state.Value) state.Query {
	q := Query()
	q.Secrets = nil
	dir := kubeadm.ShortestPath(kubeadm.ReadDocument(objects[clusterConfig], "ClusterConfiguration").Get("certificatesDir").AsString())
	if dir == "" {
		dir = config.DefaultCertificatesDir
	}
	for _, base := range authorityBases {
		q.Files = append(q.Files, state.FileQuery{Path: dir + base + ".key"}, state.FileQuery{Path: dir + base + ".crt", Read: state.ReadContent})
	}
	return q
}
