package config

import (
	"time"

	"github.com/kubewright/kubewright/state"
)

// Defaults; kubeadm's if kubeadm has one.
const (
	DefaultClusterName     = "kubernetes"
	DefaultBindPort        = 6443
	DefaultImageRepository = "registry.k8s.io"
	DefaultImagePullPolicy = "IfNotPresent"
	DefaultOnUnreachable   = Refuse
	DefaultServiceSubnet   = "10.96.0.0/12"
	DefaultDNSDomain       = "cluster.local"
	DefaultEtcdDataDir     = "/var/lib/etcd"
	DefaultCertificatesDir = "/etc/kubernetes/pki"
	DefaultAlgorithm       = "RSA-2048"
	DefaultValidity        = 365 * 24 * time.Hour
	DefaultCAValidity      = 10 * DefaultValidity
	DefaultRenewBefore     = 30 * 24 * time.Hour
	DefaultMaxUnavailable  = "1"
	DefaultCanary          = 1
	DefaultDrainTimeout    = 10 * time.Minute
	DefaultTokenTTL        = 24 * time.Hour
	DefaultPatchType       = "strategic"
	DefaultConnectionType  = "ssh"
)

// DefaultTokenUsages returns the default usages of a bootstrap token.
func DefaultTokenUsages() []string { return []string{"signing", "authentication"} }

// DefaultTokenGroups returns the default groups of a bootstrap token.
func DefaultTokenGroups() []string {
	return []string{"system:bootstrappers:kubeadm:default-node-token"}
}

// RenewBefore returns the default for certificates with this validity: 30 days, or a third of
// the validity if that is less.
func RenewBefore(validity time.Duration) time.Duration { return min(DefaultRenewBefore, validity/3) }

// NewCluster returns a cluster with only its version written.
func NewCluster(label, version string) *Cluster {
	return &Cluster{
		Label: label, Name: DefaultClusterName, KubernetesVersion: version,
		BindPort: DefaultBindPort, ImageRepository: DefaultImageRepository,
		ImagePullPolicy: DefaultImagePullPolicy, ImagePullSerial: true, OnUnreachable: DefaultOnUnreachable,
		Network: Network{ServiceSubnet: DefaultServiceSubnet, DNSDomain: DefaultDNSDomain},
		Etcd:    Etcd{DataDir: DefaultEtcdDataDir},
		Certificates: Certificates{
			Dir: DefaultCertificatesDir, Algorithm: DefaultAlgorithm,
			Validity: DefaultValidity, CAValidity: DefaultCAValidity, RenewBefore: DefaultRenewBefore,
		},
		Upgrade: Upgrade{Pace: Pace{MaxUnavailable: DefaultMaxUnavailable, Canary: DefaultCanary}, Drain: DrainOptions{Timeout: DefaultDrainTimeout, GracePeriod: -1, StayCordoned: true}},
		Timeouts: Timeouts{
			ControlPlaneComponentHealthCheck: 4 * time.Minute, KubeletHealthCheck: 4 * time.Minute,
			KubernetesAPICall: time.Minute, EtcdAPICall: 2 * time.Minute,
			TLSBootstrap: 5 * time.Minute, Discovery: 5 * time.Minute, UpgradeManifests: 5 * time.Minute,
		},
		Origins: Origins{},
	}
}

// NewNode returns a node with only these values written. It is reached by ssh at its address.
func NewNode(target state.Target, cluster string, role Role, address string) *Node {
	return &Node{
		Target: target, Cluster: cluster, Role: role, Address: address, AdvertiseAddresses: []string{address},
		Connection: Connection{Type: DefaultConnectionType, Host: address, Agent: true},
		Origins:    Origins{},
	}
}
