package topology

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
)

// FoldersBefore are folders for which the marker records whether they existed, so that a reset
// knows which to remove.
var FoldersBefore = []string{
	"/etc/kubernetes", "/etc/kubernetes/manifests", "/etc/kubernetes/pki", "/etc/kubernetes/tmp",
	"/var/lib/kubelet", "/var/lib/etcd", CNIConfigs, "/var/lib/cni", "/var/log/pods", "/var/log/containers",
	"/usr/libexec/kubernetes", "/var/lib/kube-proxy", "/opt/cni/bin", LogindFolder, FlannelState,
}

// FoldersOfKubernetes are those that only Kubernetes uses.
var FoldersOfKubernetes = []string{
	"/etc/kubernetes", "/etc/kubernetes/manifests", "/etc/kubernetes/pki", "/etc/kubernetes/tmp",
	"/var/lib/kubelet", "/var/lib/etcd", "/usr/libexec/kubernetes", "/var/lib/kube-proxy", FlannelState,
}

// LogindFolder is where the kubelet configures logind to wait for its graceful shutdown, which it
// never reverts (pkg/kubelet/nodeshutdown/systemd).
const LogindFolder = "/etc/systemd/logind.conf.d"

// KubeadmPKI is kubeadm's default folder for certificates.
const KubeadmPKI = config.DefaultCertificatesDir

const Root = "root:root"

// EnsureFolder returns the operation that creates a folder owned by root.
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

// CNIConfigs is where the container runtime reads the network configuration of pods. A network
// addon writes its own configuration there, and nothing removes it with the addon: after a reset
// the host would keep using a network that no longer exists.
const CNIConfigs = "/etc/cni/net.d"

// FlannelState is the folder that flannel leaves in memory until the next boot.
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
