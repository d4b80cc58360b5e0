package topology

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
)

// FoldersBefore are folders of which the mark remembers whether they were
// there, so that a reset knows which to take away.
var FoldersBefore = []string{
	"/etc/kubernetes", "/etc/kubernetes/manifests", "/etc/kubernetes/pki", "/etc/kubernetes/tmp",
	"/var/lib/kubelet", "/var/lib/etcd", CNIConfigs, "/var/lib/cni", "/var/log/pods", "/var/log/containers",
	"/usr/libexec/kubernetes", "/var/lib/kube-proxy", "/opt/cni/bin", LogindFolder, FlannelState,
}

// FoldersOfKubernetes are those of them that nothing else uses.
var FoldersOfKubernetes = []string{
	"/etc/kubernetes", "/etc/kubernetes/manifests", "/etc/kubernetes/pki", "/etc/kubernetes/tmp",
	"/var/lib/kubelet", "/var/lib/etcd", "/usr/libexec/kubernetes", "/var/lib/kube-proxy", FlannelState,
}

// The kubelet has logind wait for its graceful shutdown, and never takes that
// back (pkg/kubelet/nodeshutdown/systemd).
const LogindFolder = "/etc/systemd/logind.conf.d"

// KubeadmPKI is where kubeadm keeps certificates unless told otherwise.
const KubeadmPKI = config.DefaultCertificatesDir

const Root = "root:root"

// EnsureFolder makes a folder of root's.
func EnsureFolder(path, mode string) planner.EnsureDirectory {
	return planner.EnsureDirectory{Path: path, Mode: mode, Owner: Root}
}

const (
	AdminConf         = "/etc/kubernetes/admin.conf"
	SuperAdminConf    = "/etc/kubernetes/super-admin.conf"
	KubeletConf       = "/etc/kubernetes/kubelet.conf"
	BootstrapConf     = "/etc/kubernetes/bootstrap-kubelet.conf"
	ControllerConf    = "/etc/kubernetes/controller-manager.conf"
	SchedulerConf     = "/etc/kubernetes/scheduler.conf"
	KubeletClientCert = "/var/lib/kubelet/pki/kubelet-client-current.pem"
)

// CNIConfigs is where the container runtime looks for the network of pods. A network
// addon puts its own configuration there, and nobody takes it away with the addon: a
// host that was given back would go on with a network that is not there.
const CNIConfigs = "/etc/cni/net.d"

// FlannelState is what flannel leaves in memory, until the next boot.
const FlannelState = "/run/flannel"

const (
	KubeletUnit   = "kubelet.service"
	KubeletConfig = "/var/lib/kubelet/config.yaml"
	KubeletFlags  = "/var/lib/kubelet/kubeadm-flags.env"
)

func NextBase(base string) string { return base + "-next" }

func OldFile(base string) string { return base + "-old.crt" }

func Manifest(component string) string { return "/etc/kubernetes/manifests/" + component + ".yaml" }

func ExpiredFile(base string) string { return base + "-ended.crt" }
