package config

import (
	"strconv"
	"time"

	"github.com/kubewright/kubewright/state"
)

// Config is a configuration folder with its variables applied.
type Config struct {
	// Dir is the folder; relative paths in the configuration start there.
	Dir      string
	Clusters []*Cluster
	Nodes    []*Node
	// Connection is the block at the top, from which nodes take what they do not say
	// themselves; zero without one.
	Connection Connection `json:"-"`
	Outputs    []*Output
	// Moves and Removals say what became of addresses that the state still has.
	Moves    []Move    `json:",omitempty"`
	Removals []Removal `json:",omitempty"`
	// Imports are clusters that somebody else made and that become ours.
	Imports []Import `json:",omitempty"`
	// Policies say what a plan may not do.
	Policies []Policy `json:",omitempty"`
	// Encryption says who can read what is kept of the clusters; nil for everybody.
	Encryption *Encryption `json:",omitempty"`
	// Backend keeps the state; nil stands for a file beside the configuration.
	Backend *Backend `json:",omitempty"`
	// Digest is the hex SHA-256 of all files and variable values. It says
	// something about short secrets and is not to be kept or shown as it is.
	Digest string
	// Secrets takes the configuration's secrets out of texts of others.
	Secrets *state.Redactor `json:"-"`
	// Named makes the outputs once more, with the names that nodes took from their
	// hosts: what is made of those is pending in Outputs. It is nil where nothing is,
	// and returns nil when they cannot be made.
	Named func(names map[state.Target]string) []*Output `json:"-"`
	// Incomplete reports whether mistakes kept nodes from being made, so that it
	// says nothing when there are too few.
	Incomplete bool
}

// Origins says where values of a block were written, by path as in the
// language: api_server.arg["audit-log-maxage"], network.pod_subnet. What is not
// in it is a default. The keys are described in package hclconfig.
type Origins map[string]state.Source

// Of returns the place of a value, or the nearest that encloses it; zero for a default.
func (o Origins) Of(path string) state.Source {
	for path != "" {
		if s, ok := o[path]; ok {
			return s
		}
		path = enclosing(path)
	}
	return state.Source{}
}

// enclosing cuts the last key off a path: .key, ["key"] or [0].
func enclosing(path string) string {
	last := 0
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '.':
			last = i
		case '[':
			last = i
			if quoted, err := strconv.QuotedPrefix(path[i+1:]); err == nil {
				i += len(quoted)
			}
		}
	}
	return path[:last]
}

// Output is an output block. Its value may be pending until an apply.
type Output struct {
	Name        string
	Description string
	Sensitive   bool
	Value       state.Value
	Source      state.Source
}

// Arg is one argument of a component. Order and repetition are kept.
type Arg struct {
	Name   string
	Value  string
	Source state.Source
}

// EnvVar is an environment variable of a component. ValueFrom is corev1's
// EnvVarSource as a tree, null when Value holds.
type EnvVar struct {
	Name      string
	Value     string
	ValueFrom state.Value
	Source    state.Source
}

// Volume is kubeadm's HostPathMount.
type Volume struct {
	Name      string
	HostPath  string
	MountPath string
	ReadOnly  bool
	// PathType is "", DirectoryOrCreate, Directory, FileOrCreate, File, Socket, CharDevice or BlockDevice.
	PathType string
	Source   state.Source
}

// Component is what can be said of each control plane component.
type Component struct {
	Args    []Arg
	Volumes []Volume
	Envs    []EnvVar
}

// APIServer configures kube-apiserver.
type APIServer struct {
	Component
	CertSANs []string
}

// Etcd is stacked unless External is set.
type Etcd struct {
	// ImageRepository and ImageTag override the version table; a tag is then the user's to manage.
	ImageRepository string
	ImageTag        string
	DataDir         string
	Args            []Arg
	Envs            []EnvVar
	ServerCertSANs  []string
	PeerCertSANs    []string
	External        *ExternalEtcd
}

// ExternalEtcd is an etcd that kubewright uses and never changes.
type ExternalEtcd struct {
	Endpoints []string
	// HTTPEndpoints are for health and version (1.35 and later); default Endpoints.
	HTTPEndpoints []string
	// CAFile, CertFile and KeyFile are paths on the control planes.
	CAFile   string
	CertFile string
	KeyFile  string
	// CAContent, CertContent and KeyContent are files of the operator's that
	// are brought there; empty when they are there already.
	CAContent   string
	CertContent string
	// KeyContent is secret.
	KeyContent state.Secret
}

// Network is kubeadm's networking. A subnet is one CIDR, or two of different
// families separated by a comma.
type Network struct {
	PodSubnet     string
	ServiceSubnet string
	DNSDomain     string
}

// Certificates says how keys and certificates are made.
type Certificates struct {
	// Dir is kubeadm's certificatesDir.
	Dir         string
	Algorithm   string
	Validity    time.Duration
	CAValidity  time.Duration
	RenewBefore time.Duration
	// CA, FrontProxyCA and EtcdCA are given CAs; zero for one that kubewright makes.
	CA           GivenCA
	FrontProxyCA GivenCA
	EtcdCA       GivenCA
	// Supplied is a folder of the operator's with certificates and kubeconfigs
	// per node, for an external CA without key: DIR/NODE/pki/…, DIR/NODE/admin.conf …
	Supplied string
	// SuppliedFiles are the files of that folder, by their path below it.
	SuppliedFiles map[string]state.Secret `json:",omitempty"`
}

// GivenCA is a CA of the operator's. With OnHosts the key is copied to the
// control planes as kubeadm would have it; without, the operator keeps it and
// kubewright signs everything (external CA). Without Key nothing can be signed.
type GivenCA struct {
	// Certificate is PEM.
	Certificate string
	// Key is PEM.
	Key     state.Secret
	OnHosts bool
}

// IsZero reports that kubewright makes the CA itself.
func (g GivenCA) IsZero() bool { return g.Certificate == "" && g.Key.IsZero() }

// DNS configures the CoreDNS addon.
type DNS struct {
	ImageRepository string
	ImageTag        string
	Disabled        bool
}

// KubeProxy configures the kube-proxy addon; Config is a KubeProxyConfiguration as a tree.
type KubeProxy struct {
	Disabled bool
	Config   state.Value
}

// Kubelet configures all kubelets of a cluster, or one node's; Config is a
// KubeletConfiguration as a tree.
type Kubelet struct {
	Config state.Value
	Args   []Arg
}

// DrainOptions are those of kubectl drain.
type DrainOptions struct {
	Timeout            time.Duration
	GracePeriod        int // seconds; -1 is the pod's own
	Force              bool
	DeleteEmptyDirData bool
	DisableEviction    bool
	PodSelector        string
	// SkipWait, when not 0, is for how long a pod may have been terminating to be
	// waited for.
	SkipWait time.Duration
	// StayCordoned leaves a node unschedulable whose drain did not succeed.
	StayCordoned bool
}

// Pace is how workers take their turns in an upgrade.
type Pace struct {
	// MaxUnavailable is a number or percentage of workers that are down at once.
	MaxUnavailable string
	// Canary is how many workers go first, by themselves.
	Canary int
	// Pause is waited after the canaries and after each batch; without it the
	// next worker goes as soon as one is back.
	Pause time.Duration
}

// Upgrade says how nodes are taken down.
type Upgrade struct {
	// Pace is that of workers that no pool selects; they come last.
	Pace
	// Pools take their turns one after the other. A worker is in the first that
	// selects it.
	Pools []Pool
	Drain DrainOptions
	// AllowDowntime accepts that one of two members of etcd restarts, while
	// nothing is served.
	AllowDowntime bool
}

// Pool is workers that take their turns together, at a pace of their own.
type Pool struct {
	Name string
	// Selector is a label selector of nodes.
	Selector string
	Pace
	Source state.Source
}

// Install says where software comes from. Without Artifacts and Packages it is
// found preinstalled.
type Install struct {
	// Artifacts is a folder of the operator's, Catalog what it holds: nil until
	// the folder has been read.
	Artifacts string
	Catalog   *Catalog `json:"-"`
	// Packages are those of a package repository; nil without them.
	Packages *Packages
	// Keep names what stays when a node is reset: runtime, kubelet, cni, images.
	Keep []string
}

// Addon is a manifest that is applied as the user's.
type Addon struct {
	Name string
	// Objects are the manifest's documents.
	Objects []AddonObject
	Source  state.Source
}

// AddonObject is one document of an addon's manifest.
type AddonObject struct {
	Value state.Value
	// Omits are the paths of empty values that the API leaves out when it shows the
	// object.
	Omits []string
	// Sensitive reports whether its text is made of something sensitive.
	Sensitive bool
}

// Timeouts are kubeadm's.
type Timeouts struct {
	ControlPlaneComponentHealthCheck time.Duration
	KubeletHealthCheck               time.Duration
	KubernetesAPICall                time.Duration
	EtcdAPICall                      time.Duration
	TLSBootstrap                     time.Duration
	Discovery                        time.Duration
	UpgradeManifests                 time.Duration
}

// BootstrapToken is a token that the user wants kept, besides those made just
// in time. Token is secret; empty generates one.
type BootstrapToken struct {
	Token       state.Secret
	Description string
	// TTL of 0 never expires; Expires is RFC 3339 and excludes TTL.
	TTL     time.Duration
	Expires string
	Usages  []string
	Groups  []string
	Source  state.Source
}

// Reset is kubeadm's ResetConfiguration as far as it is the user's to say.
type Reset struct {
	CleanupTmpDir bool
	UnmountFlags  []string
}

// Cluster is a cluster block: kubeadm's ClusterConfiguration and what all
// nodes of the cluster share. Defaults are filled in.
type Cluster struct {
	// Label is the block's label and the address cluster.LABEL.
	Label string
	// Name is kubeadm's clusterName.
	Name              string
	KubernetesVersion string // 1.36.3, without v
	// ControlPlaneEndpoint is HOST:PORT, or empty.
	ControlPlaneEndpoint string
	// BindPort is the API servers' port.
	BindPort          int
	ImageRepository   string
	FeatureGates      map[string]bool
	Network           Network
	APIServer         APIServer
	ControllerManager Component
	Scheduler         Component
	Etcd              Etcd
	DNS               DNS
	KubeProxy         KubeProxy
	Kubelet           Kubelet
	Certificates      Certificates
	Upgrade           Upgrade
	Install           Install
	Timeouts          Timeouts
	BootstrapTokens   []BootstrapToken
	Reset             Reset
	Addons            []*Addon
	// UploadCerts asks for the kubeadm-certs Secret, encrypted with
	// CertificateKey: 64 hex digits, secret; empty generates one.
	UploadCerts    bool
	CertificateKey state.Secret
	// ProxyEnv is the environment of HTTP proxies for the components, which
	// kubeadm takes from its own process: HTTP_PROXY, HTTPS_PROXY, NO_PROXY.
	ProxyEnv              map[string]string
	IgnorePreflightErrors []string
	SkipPhases            []string
	// KernelModules are loaded on every node, now and at each boot.
	KernelModules   []string
	ImagePullPolicy string
	ImagePullSerial bool
	Patches         []Patch
	Lifecycle       Lifecycle `json:",omitzero"`
	Origins         Origins
	// Sensitive are the values that must not be shown, by keys as in Origins.
	Sensitive map[string]bool
	Source    state.Source
}

// Patch is one file of kubeadm's patches folder.
type Patch struct {
	// Target is etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
	// kubeletconfiguration, corednsdeployment or kubeproxydaemonset.
	Target string
	// Type is strategic, merge or json.
	Type string
	// Content is YAML or JSON.
	Content string
	Source  state.Source
}

// Role is what a node does.
type Role string

// The roles.
const (
	ControlPlane Role = "control-plane"
	Worker       Role = "worker"
)

// Node is one node: a node block, or one instance of it by for_each.
type Node struct {
	Target  state.Target
	Cluster string // label
	Role    Role
	// Name is the Kubernetes node name; empty until known: the host's name.
	Name string
	// Address is how others reach the host: a name or IP.
	Address string
	// AdvertiseAddresses are IPs, one per family; default Address when that is an IP.
	AdvertiseAddresses []string
	Labels             map[string]string
	Annotations        map[string]string
	// Taints is nil for the default of the role, empty for none.
	Taints                []state.Taint
	Kubelet               Kubelet
	CRISocket             string // empty: detected
	Connection            Connection
	Patches               []Patch
	IgnorePreflightErrors []string
	SkipPhases            []string
	// ImagePullPolicy and ImagePullSerial are the cluster's when empty.
	ImagePullPolicy string
	ImagePullSerial *bool
	Lifecycle       Lifecycle `json:",omitzero"`
	Origins         Origins
	// Sensitive are the values that must not be shown, by keys as in Origins.
	Sensitive map[string]bool
	Source    state.Source
}

// Connection says how to reach a host.
type Connection struct {
	// Type is ssh, local or sim.
	Type             string
	Host             string
	Port             int
	User             string
	PrivateKeys      []string
	Certificate      string
	Agent            bool
	HostKeys         []string
	KnownHosts       []string
	AcceptNewHostKey bool
	SSHConfig        string
	Bastions         []Connection
	// SudoPassword is secret; zero uses sudo -n.
	SudoPassword state.Secret
	// Timeout is 0 for what the OpenSSH configuration says, else the default.
	Timeout time.Duration
}

// Cluster returns the cluster with the label, or nil.
func (c *Config) Cluster(label string) *Cluster {
	for _, cl := range c.Clusters {
		if cl.Label == label {
			return cl
		}
	}
	return nil
}

// NodesOf returns the cluster's nodes of a role in the order of their addresses; "" is any role.
func (c *Config) NodesOf(label string, role Role) []*Node {
	var out []*Node
	for _, n := range c.Nodes {
		if n.Cluster == label && (role == "" || n.Role == role) {
			out = append(out, n)
		}
	}
	return out
}

// AdvertiseAddress returns the first address that the node's components advertise, in the
// one way of writing it by which it is known.
func (n *Node) AdvertiseAddress() string {
	if len(n.AdvertiseAddresses) > 0 {
		return state.CanonicalIP(n.AdvertiseAddresses[0])
	}
	return state.CanonicalIP(n.Address)
}
