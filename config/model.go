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
	// Connection is the block at the top level, which nodes inherit from; zero without one.
	Connection Connection `json:"-"`
	Outputs    []*Output
	// Moves and Removals say what became of addresses that are still in the state.
	Moves    []Move    `json:",omitempty"`
	Removals []Removal `json:",omitempty"`
	// Imports are existing clusters that kubewright takes over.
	Imports []Import `json:",omitempty"`
	// Policies say what a plan may not do.
	Policies []Policy `json:",omitempty"`
	// Encryption says who can read the stored state; nil if it is not encrypted.
	Encryption *Encryption `json:",omitempty"`
	// Backend keeps the state; nil stands for a file beside the configuration.
	Backend *Backend `json:",omitempty"`
	// Digest is the hex SHA-256 of all files and variable values. It could confirm a guessed
	// short secret, and is not stored or shown as it is.
	Digest string
	// Secrets redacts the configuration's secrets in other texts.
	Secrets *state.Redactor `json:"-"`
	// Applied evaluates the outputs again, with what is known of the applied configuration: what
	// depends on that is pending in Outputs. It is nil if nothing does, and returns nil if
	// evaluation fails.
	Applied func(Known) []*Output `json:"-"`
	// Incomplete reports whether mistakes kept nodes from being made, so that too few nodes are
	// no further error.
	Incomplete bool
}

// Origins are the positions of a block's values, by path in the language:
// api_server.arg["audit-log-maxage"], network.pod_subnet. A value without an entry is a
// default. Package hclconfig describes the keys.
type Origins map[string]state.Source

// Of returns the position of a value, or of the nearest that encloses it; zero for a default.
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

// EnvVar is an environment variable of a component. ValueFrom is corev1's EnvVarSource as a
// tree, null if Value applies.
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
	// Derived reports whether no block asks for it: an argument names a path that a file or
	// directory block provides.
	Derived bool `json:",omitempty"`
}

// Component has the settings that every control plane component has.
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

// Etcd is stacked, unless External is set.
type Etcd struct {
	// ImageRepository and ImageTag override the version table; the user then manages the tag.
	ImageRepository string
	ImageTag        string
	DataDir         string
	Args            []Arg
	Envs            []EnvVar
	ServerCertSANs  []string
	PeerCertSANs    []string
	// Mounts are the derived volumes of the member's pod. kubeadm's configuration has no place for them.
	Mounts   []Volume `json:",omitempty"`
	External *ExternalEtcd
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
	// CAContent, CertContent and KeyContent are files of the operator that kubewright copies
	// there; empty if they are there already.
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
	// KubeletServing reports whether kubelets serve with certificates of the cluster's CA, which API
	// servers verify.
	KubeletServing bool
	// CA, FrontProxyCA and EtcdCA are the operator's CAs; zero for one that kubewright makes.
	CA           GivenCA
	FrontProxyCA GivenCA
	EtcdCA       GivenCA
	// Supplied is the operator's folder with certificates and kubeconfigs per node, for an
	// external CA without key: DIR/NODE/pki/…, DIR/NODE/admin.conf …
	Supplied string
	// SuppliedFiles are the files of that folder, by their path below it.
	SuppliedFiles map[string]state.Secret `json:",omitempty"`
}

// GivenCA is a CA of the operator. With OnHosts its key is copied to the control planes as with
// kubeadm; without, the operator keeps it and kubewright signs everything (external CA).
// Without Key nothing can be signed.
type GivenCA struct {
	// Certificate is PEM.
	Certificate string
	// Key is PEM.
	Key     state.Secret
	OnHosts bool
}

// IsZero reports whether kubewright makes the CA itself.
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

// Kubelet configures all kubelets of a cluster, or of one node; Config is a
// KubeletConfiguration as a tree.
type Kubelet struct {
	Config state.Value
	Args   []Arg
}

// DrainOptions are the options of kubectl drain.
type DrainOptions struct {
	Timeout            time.Duration
	GracePeriod        int // seconds; -1 is the pod's own
	Force              bool
	DeleteEmptyDirData bool
	DisableEviction    bool
	PodSelector        string
	// SkipWait, if not 0, is the time after which a drain no longer waits for a terminating
	// pod.
	SkipWait time.Duration
	// StayCordoned leaves a node unschedulable if its drain fails.
	StayCordoned bool
}

// Pace is how workers take turns in an upgrade.
type Pace struct {
	// MaxUnavailable is the number or percentage of workers that may be down at once.
	MaxUnavailable string
	// Canary is how many workers go first, before the others.
	Canary int
	// Pause is the wait after the canaries and after each batch; without it the next worker
	// begins as soon as one is back.
	Pause time.Duration
}

// Upgrade says how nodes are upgraded.
type Upgrade struct {
	// Pace is the pace of workers that no pool selects; they come last.
	Pace
	// Pools take turns one after the other. A worker belongs to the first pool that selects it.
	Pools []Pool
	Drain DrainOptions
	// AllowDowntime accepts that one of two etcd members restarts, while neither serves.
	AllowDowntime bool
}

// Pool is a group of workers that take turns together, at a pace of their own.
type Pool struct {
	Name string
	// Selector is a label selector of nodes.
	Selector string
	Pace
	Source state.Source
}

// Install says where software comes from. Without Artifacts and Packages it has to be
// preinstalled.
type Install struct {
	// Artifacts is a folder of the operator, Catalog its content: nil until the folder has been
	// read.
	Artifacts string
	Catalog   *Catalog `json:"-"`
	// Packages are the packages of a repository; nil without them.
	Packages *Packages
	// Keep names what a reset of a node keeps: runtime, kubelet, cni, images.
	Keep []string
}

// Addon is a manifest of the user that kubewright applies.
type Addon struct {
	Name string
	// Objects are the manifest's documents.
	Objects []AddonObject
	Source  state.Source
}

// AddonObject is one document of an addon's manifest.
type AddonObject struct {
	Value state.Value
	// Omits are the paths of empty values that the API omits when it returns the object.
	Omits []string
	// Sensitive reports whether its text contains sensitive values.
	Sensitive bool
}

// Timeouts are kubeadm's timeouts.
type Timeouts struct {
	ControlPlaneComponentHealthCheck time.Duration
	KubeletHealthCheck               time.Duration
	KubernetesAPICall                time.Duration
	EtcdAPICall                      time.Duration
	TLSBootstrap                     time.Duration
	Discovery                        time.Duration
	UpgradeManifests                 time.Duration
}

// BootstrapToken is a token to keep in the cluster, besides those made just in time. Token is
// secret; empty generates one.
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

// Reset has the fields of kubeadm's ResetConfiguration that the user can set.
type Reset struct {
	CleanupTmpDir bool
	UnmountFlags  []string
}

// Cluster is a cluster block: kubeadm's ClusterConfiguration and the settings that all nodes of
// the cluster share. Defaults are filled in.
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
	// KernelModules are loaded on every node, immediately and at each boot; Sysctls are set there.
	KernelModules   []string
	Sysctls         map[string]string
	ImagePullPolicy string
	ImagePullSerial bool
	// OnUnreachable is Refuse or Withhold.
	OnUnreachable string
	Patches       []Patch
	Units         []Unit `json:",omitempty"`
	// Files and Directories are the user's, on the nodes that they select.
	Files       []File      `json:",omitempty"`
	Directories []Directory `json:",omitempty"`
	// AtRest is the encryption of objects in etcd; nil for none.
	AtRest *AtRest `json:",omitempty"`
	// Hardening is nil without a hardening block; what it stands for is in the other fields.
	Hardening *Hardening `json:",omitempty"`
	// Backup is nil without backups; its files and units are among the others.
	Backup *Backup `json:",omitempty"`
	// Restored is set while the cluster is brought back from a backup.
	Restored  *Restored `json:"-"`
	Lifecycle Lifecycle `json:",omitzero"`
	Origins   Origins
	// Sensitive are the values that must not be shown, by keys as in Origins.
	Sensitive map[string]bool
	Source    state.Source
}

// What a plan does about hosts of a cluster that do not answer.
const (
	// Refuse: the plan is shown, and applied only with a flag.
	Refuse = "refuse"
	// Withhold: the plan is applied without what waits for these hosts.
	Withhold = "withhold"
)

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
	// Name is the Kubernetes node name; empty until known: then it is the host name.
	Name string
	// Address is how others reach the host: a name or an IP address.
	Address string
	// AdvertiseAddresses are IP addresses, one per family; by default Address if that is one.
	AdvertiseAddresses  []string
	Labels, Annotations map[string]string
	// Taints is nil for the default of the role, empty for none.
	Taints                []state.Taint
	Schedulable           *bool `json:",omitempty"` // nil: cordons are left to others
	Kubelet               Kubelet
	CRISocket             string // empty: detected
	Connection            Connection
	Patches               []Patch
	IgnorePreflightErrors []string
	SkipPhases            []string
	// ImagePullPolicy and ImagePullSerial default to the cluster's if empty.
	ImagePullPolicy string
	ImagePullSerial *bool
	// KernelModules and Sysctls are added to the cluster's.
	KernelModules []string
	Sysctls       map[string]string
	Units         []Unit `json:",omitempty"`
	// Files and Directories are the user's, in place of the cluster's with the same path.
	Files       []File      `json:",omitempty"`
	Directories []Directory `json:",omitempty"`
	Lifecycle   Lifecycle   `json:",omitzero"`
	Origins     Origins
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
	// Timeout is 0 for the value in the OpenSSH configuration, or else the default.
	Timeout time.Duration
}

// Known is what no configuration says, and an apply finds out.
type Known struct {
	// Names are the names that nodes took from their hosts.
	Names map[state.Target]string
	// Clusters are how clients reach the clusters and trust them, by label.
	Clusters map[string]Access
}

// Access is what a client of a cluster needs besides its own credentials. What is not known is
// empty.
type Access struct {
	// Server is the URL of the API, as in the administrator's kubeconfig.
	Server string
	// CACertificate is the certificate of the cluster's CA, or all that are trusted while it is
	// rotated, as PEM.
	CACertificate string
}

// OutputsFor returns the outputs, with what is known of the applied configuration.
func (c *Config) OutputsFor(k Known) []*Output {
	if c.Applied != nil {
		if applied := c.Applied(k); applied != nil {
			return applied
		}
	}
	return c.Outputs
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

// NodesOf returns the cluster's nodes of a role in the order of their addresses; "" is any
// role.
func (c *Config) NodesOf(label string, role Role) []*Node {
	var out []*Node
	for _, n := range c.Nodes {
		if n.Cluster == label && (role == "" || n.Role == role) {
			out = append(out, n)
		}
	}
	return out
}

// AdvertiseAddress returns the first address that the node's components advertise, in its
// canonical form.
func (n *Node) AdvertiseAddress() string {
	if len(n.AdvertiseAddresses) > 0 {
		return state.CanonicalIP(n.AdvertiseAddresses[0])
	}
	return state.CanonicalIP(n.Address)
}
