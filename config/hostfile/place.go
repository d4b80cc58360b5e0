package hostfile

import (
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// place is a path, with everything below it, that a file of the user may not have.
type place struct {
	path string
	// why completes a sentence that begins with the refused path.
	why string
	// except are paths below it that are allowed.
	except []string
}

const (
	ofKernel   = "is the kernel's, and gone with the next boot"
	ofBoot     = "is emptied at each boot"
	ofPackages = "belongs to the package manager, whose next upgrade overwrites what is there"
	ofLogins   = "decides who may log in to the host, and a mistake there locks out kubewright and you"
	ofSystemd  = "is where systemd has its units: a unit block writes them, and drop-ins"
	ofOurs     = "is written by kubewright itself"
	ofKubelet  = "belongs to the kubelet, whose files kubewright and the kubelet write themselves"
	ofRuntime  = "belongs to the container runtime, which writes there itself"
	ofEtcd     = "holds the data of etcd"
	ofProgram  = "is where kubewright installs software"
)

// places are refused on every host.
var places = []place{
	{path: "/proc", why: ofKernel},
	{path: "/sys", why: ofKernel},
	{path: "/dev", why: ofKernel},
	{path: "/run", why: ofBoot},
	{path: "/var/run", why: ofBoot},
	{path: "/tmp", why: ofBoot},
	{path: "/var/tmp", why: "is cleaned up by the host"},
	{path: "/usr", why: ofPackages, except: []string{"/usr/local"}},
	{path: "/bin", why: ofPackages},
	{path: "/sbin", why: ofPackages},
	{path: "/lib", why: ofPackages},
	{path: "/lib32", why: ofPackages},
	{path: "/lib64", why: ofPackages},
	{path: "/libx32", why: ofPackages},
	{path: "/boot", why: ofPackages},
	{path: "/var/lib/dpkg", why: ofPackages},
	{path: "/var/lib/apt", why: ofPackages},
	{path: "/var/lib/rpm", why: ofPackages},
	{path: "/var/lib/dnf", why: ofPackages},
	{path: "/var/cache", why: ofPackages},
	{path: "/usr/local/bin/kubelet", why: ofProgram},
	{path: "/usr/local/bin/kubeadm", why: ofProgram},
	{path: "/usr/local/bin/kubectl", why: ofProgram},
	{path: "/usr/local/bin/containerd", why: ofProgram},
	{path: "/usr/local/bin/containerd-shim-runc-v2", why: ofProgram},
	{path: "/usr/local/bin/ctr", why: ofProgram},
	{path: "/usr/local/bin/crictl", why: ofProgram},
	{path: "/usr/local/sbin/runc", why: ofProgram},
	{path: "/opt/cni/bin", why: ofProgram},
	{path: "/etc/passwd", why: ofLogins},
	{path: "/etc/group", why: ofLogins},
	{path: "/etc/shadow", why: ofLogins},
	{path: "/etc/gshadow", why: ofLogins},
	{path: "/etc/subuid", why: ofLogins},
	{path: "/etc/subgid", why: ofLogins},
	{path: "/etc/sudoers", why: ofLogins},
	{path: "/etc/sudoers.d", why: ofLogins},
	{path: "/etc/sudo.conf", why: ofLogins},
	{path: "/etc/ssh", why: ofLogins},
	{path: "/etc/pam.d", why: ofLogins},
	{path: "/etc/security", why: ofLogins},
	{path: "/etc/nsswitch.conf", why: ofLogins},
	{path: "/etc/ld.so.preload", why: "is loaded into every program of the host"},
	{path: "/etc/ld.so.conf", why: ofPackages},
	{path: "/etc/ld.so.conf.d", why: ofPackages},
	{path: "/etc/ld.so.cache", why: ofPackages},
	{path: "/etc/fstab", why: "decides what the host mounts when it boots, and kubewright reads it for swap"},
	{path: "/etc/machine-id", why: "identifies the host"},
	{path: "/etc/hostname", why: "identifies the host"},
	{path: "/etc/systemd/system", why: ofSystemd},
	{path: "/etc/systemd/user", why: ofSystemd},
	{path: "/etc/kubernetes/manifests", why: "is where the kubelet takes static pods from, which kubewright writes itself"},
	{path: "/etc/kubernetes/pki", why: "holds the certificates and keys of the cluster, which kubewright writes itself"},
	{path: "/etc/kubernetes/tmp", why: "is kubeadm's folder for backups"},
	{path: "/etc/kubernetes/admin.conf", why: ofOurs},
	{path: "/etc/kubernetes/super-admin.conf", why: ofOurs},
	{path: "/etc/kubernetes/kubelet.conf", why: ofOurs},
	{path: "/etc/kubernetes/bootstrap-kubelet.conf", why: ofOurs},
	{path: "/etc/kubernetes/controller-manager.conf", why: ofOurs},
	{path: "/etc/kubernetes/scheduler.conf", why: ofOurs},
	{path: "/var/lib/kubelet", why: ofKubelet, except: []string{"/var/lib/kubelet/config.json"}},
	{path: "/var/lib/kubewright", why: "holds what kubewright itself keeps on the host"},
	{path: "/var/lib/etcd", why: ofEtcd},
	{path: "/var/lib/containerd", why: ofRuntime},
	{path: "/var/lib/containers", why: ofRuntime},
	{path: "/var/lib/cni", why: ofRuntime},
	{path: "/var/lib/kube-proxy", why: "is kube-proxy's"},
	{path: "/var/log/pods", why: ofKubelet},
	{path: "/var/log/containers", why: ofKubelet},
	{path: "/etc/sysctl.d/99-kubewright.conf", why: ofOurs},
	{path: "/etc/modules-load.d/kubewright.conf", why: ofOurs},
	{path: "/etc/systemd/logind.conf.d/99-kubelet.conf", why: ofKubelet},
}

// installed are refused where kubewright installs the software of the host.
var installed = []place{
	{path: "/etc/containerd/config.toml", why: ofOurs + ": put settings of yours into a file in /etc/containerd/conf.d"},
	{path: "/etc/crictl.yaml", why: ofOurs},
	{path: "/etc/apt/keyrings/kubernetes-apt-keyring.asc", why: ofOurs},
	{path: "/etc/pki/rpm-gpg/RPM-GPG-KEY-kubernetes", why: ofOurs},
	{path: "/etc/apt/sources.list.d/kubernetes.list", why: ofOurs},
	{path: "/etc/yum.repos.d/kubernetes.repo", why: ofOurs},
}

// Host describes what of a host's paths the configuration of its cluster takes.
type Host struct {
	// Certificates and Etcd are the folders of the cluster's certificates and of etcd's data.
	Certificates, Etcd string
	// Installs reports whether kubewright installs the software.
	Installs bool
}

// Refused says why a file or folder of the user may not be at a clean absolute path; it completes a
// sentence that begins with the path. Empty means that it may.
func (h Host) Refused(p string) string {
	if state.WholeMachine(p) || state.AtRoot(p) {
		return "belongs to the whole machine"
	}
	if p == "/etc/kubernetes" {
		return "holds the files of Kubernetes, and kubewright itself sets who may write there"
	}
	all := append([]place{{path: h.Certificates, why: "holds the certificates and keys of the cluster, which kubewright writes itself"}, {path: h.Etcd, why: ofEtcd}}, places...)
	if h.Installs {
		all = append(all, installed...)
	}
	for _, r := range all {
		if r.path != "" && Below(p, r.path) && !slices.ContainsFunc(r.except, func(e string) bool { return Below(p, e) }) {
			if p == r.path {
				return r.why
			}
			return "lies in " + r.path + ", which " + r.why
		}
	}
	if slices.Contains(strings.Split(p, "/"), ".ssh") {
		return "is configuration of SSH, which " + ofLogins
	}
	return ""
}

// Below reports whether a clean path is another one or lies below it.
func Below(p, dir string) bool {
	dir = path.Clean(dir)
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
