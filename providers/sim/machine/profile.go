package machine

import (
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/providers/sim/file"
)

// Profile is the hardware and software of a new machine. It is comparable; the zero Profile
// is a machine with nothing installed.
type Profile struct {
	// KubeletVersion and RuntimeVersion are without the leading v; empty if not installed.
	KubeletVersion string `json:"kubelet_version,omitempty"`
	RuntimeVersion string `json:"runtime_version,omitempty"`
	// Images reports whether the images of KubeletVersion are preloaded.
	Images bool `json:"images,omitempty"`
	// CNI reports whether plugins and a bridge configuration are installed, so that nodes
	// become ready without an addon.
	CNI         bool   `json:"cni,omitempty"`
	Arch        string `json:"arch,omitempty"`
	OS          string `json:"os,omitempty"`
	OSVersion   string `json:"os_version,omitempty"`
	Kernel      string `json:"kernel,omitempty"`
	CPUs        int    `json:"cpus,omitempty"`
	MemoryBytes int64  `json:"memory_bytes,omitempty"`
	// Swap reports whether fstab has a swap device, which is in use after a boot.
	Swap bool `json:"swap,omitempty"`
}

// DefaultProfile returns a prepared Debian machine.
func DefaultProfile() Profile {
	return Profile{
		KubeletVersion: "1.36.3", RuntimeVersion: "2.1.4", Images: true, CNI: true,
		Arch: "amd64", OS: "debian", OSVersion: "13", Kernel: "6.12.48+deb13-amd64",
		CPUs: 4, MemoryBytes: 8 << 30,
	}
}

// BareProfile returns a Debian machine as after its installation: without runtime, kubelet,
// images and pod networks.
func BareProfile() Profile {
	p := DefaultProfile()
	p.KubeletVersion, p.RuntimeVersion, p.Images, p.CNI = "", "", false, false
	return p
}

// Baseline is the part of a host that follows from its profile alone. Hosts store only
// their differences from it.
type Baseline struct {
	files   map[string]*file.File
	entries map[string][]string // the paths directly in a folder
	units   map[string]Unit
	images  map[string]bool
	Sysctls map[string]string
	Modules map[string]bool // true: built in or loaded at boot
}

// baselineOf returns the profile's baseline, made once.
func (fl *Fleet) baselineOf(p Profile) *Baseline {
	if b := fl.baselines[p]; b != nil {
		return b
	}
	b := &Baseline{
		files: map[string]*file.File{}, entries: map[string][]string{}, units: map[string]Unit{}, images: map[string]bool{},
		Sysctls: map[string]string{
			"net.ipv4.ip_forward": "0", "net.ipv6.conf.all.forwarding": "0", "net.ipv6.conf.default.forwarding": "0",
			"vm.overcommit_memory": "0", "vm.panic_on_oom": "0", "vm.swappiness": "60", "vm.max_map_count": "65530", "kernel.panic": "0", "kernel.panic_on_oops": "0", "kernel.keys.root_maxkeys": "1000000", "kernel.keys.root_maxbytes": "25000000", "kernel.ostype": "Linux",
			"fs.inotify.max_user_instances": "128", "fs.inotify.max_user_watches": "65536",
		},
		Modules: map[string]bool{"nf_tables": true, "nf_conntrack": true},
	}
	fl.system(b, p)
	if p.RuntimeVersion != "" {
		fl.runtime(b, p)
	}
	if p.KubeletVersion != "" {
		fl.kubeletPackage(b, p)
	}
	fl.baselines[p] = b
	return b
}

// put adds a file of the baseline with the folders above it.
func (b *Baseline) put(name string, f *file.File) {
	for p := name; p != "/" && b.files[p] == nil; p = file.Parent(p) {
		b.files[p] = &file.File{Type: file.Directory}
		b.entries[file.Parent(p)] = append(b.entries[file.Parent(p)], p)
	}
	b.files[name] = f
}

// managerFolders are the folders of package managers.
var managerFolders = map[string][]string{
	"debian": {"/etc/apt/keyrings", "/etc/apt/sources.list.d", "/etc/default"},
	"ubuntu": {"/etc/apt/keyrings", "/etc/apt/sources.list.d", "/etc/default"},
	"rocky":  {"/etc/yum.repos.d", "/etc/pki/rpm-gpg", "/etc/sysconfig"},
}

func (fl *Fleet) system(b *Baseline, p Profile) {
	text := func(name, content string) { b.put(name, fl.NewFile([]byte(content), "", "")) }
	text("/etc/os-release", fmt.Sprintf("ID=%s\nVERSION_ID=%q\n", p.OS, p.OSVersion))
	text("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n")
	text("/etc/resolv.conf", "nameserver 10.0.0.53\n")
	text("/etc/ssl/certs/ca-certificates.crt", "simulated bundle of public CAs\n")
	fstab := "/dev/vda1 / ext4 defaults 0 1\n"
	if p.Swap {
		fstab += "/dev/vda2 none swap sw 0 0\n"
	}
	text("/etc/fstab", fstab)
	for _, dir := range []string{
		"/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
		"/etc/modules-load.d", "/etc/sysctl.d", "/etc/systemd/system", "/usr/local/bin", "/usr/local/sbin", "/var/lib", "/var/log", "/opt", "/run", "/root", "/usr/libexec",
	} {
		b.put(dir, &file.File{Type: file.Directory})
	}
	for _, dir := range managerFolders[p.OS] {
		b.put(dir, &file.File{Type: file.Directory})
	}
	b.put("/tmp", (&file.File{Type: file.Directory, Mode: "1777"}))
	for _, tool := range []string{"mount", "umount", "losetup", "cp", "ip", "iptables", "nft", "modprobe", "sysctl", "swapoff", "tar", "gzip", "conntrack", "sudo", "curl", "age"} {
		b.put("/usr/bin/"+tool, file.Opaque("debian "+p.OSVersion+" "+tool, "0755"))
	}
	b.units["ssh"] = Unit{Active: true, Enabled: true}
	b.put("/usr/lib/systemd/system/ssh.service", file.Opaque("ssh.service", ""))
	b.units["chrony"] = Unit{Active: true, Enabled: true}
	b.put("/usr/lib/systemd/system/chrony.service", file.Opaque("chrony.service", ""))
}

func (fl *Fleet) runtime(b *Baseline, p Profile) {
	for _, bin := range []string{"containerd", "ctr", "containerd-shim-runc-v2", "runc", "crictl"} {
		b.put("/usr/bin/"+bin, file.Opaque("containerd "+p.RuntimeVersion+" "+bin, "0755"))
	}
	b.put("/etc/containerd/config.toml", fl.NewFile([]byte("version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\nSystemdCgroup = true\n"), "", ""))
	b.put("/usr/lib/systemd/system/containerd.service", file.Opaque("containerd.service", ""))
	b.units["containerd"] = Unit{Active: true, Enabled: true}
	for _, dir := range storeFolders {
		b.put(dir, &file.File{Type: file.Directory})
	}
	if !p.CNI {
		return
	}
	for _, plugin := range []string{"bandwidth", "bridge", "firewall", "host-local", "loopback", "portmap", "ptp", "tuning"} {
		b.put("/opt/cni/bin/"+plugin, file.Opaque("cni plugin "+plugin, "0755"))
	}
	b.put("/etc/cni/net.d/90-bridge.conflist", fl.NewFile(
		[]byte(`{"cniVersion":"1.0.0","name":"bridge","plugins":[{"type":"bridge","bridge":"cni0","isGateway":true}]}`+"\n"), "", ""))
}

func (fl *Fleet) kubeletPackage(b *Baseline, p Profile) {
	for _, bin := range []string{"kubelet", "kubectl", "kubeadm"} {
		b.put("/usr/bin/"+bin, file.Opaque(Versioned(bin, p.KubeletVersion), "0755"))
	}
	b.put("/usr/lib/systemd/system/kubelet.service", file.Opaque("kubelet.service", ""))
	b.put("/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf", file.Opaque("10-kubeadm.conf", ""))
	b.units["kubelet"] = Unit{Enabled: true}
	if p.Images {
		for _, image := range imagesOf(p.KubeletVersion) {
			b.images[image] = true
		}
	}
}

// Versioned returns the text from which the digest of a program is derived.
func Versioned(name, version string) string { return name + "-v" + version }

// imagesOf lists the images that kubeadm of the version needs.
func imagesOf(version string) []string {
	etcd, coredns, pause := "3.7.0-0", "v1.14.6", "3.10.2"
	switch {
	case strings.HasPrefix(version, "1.34."):
		etcd, coredns, pause = "3.6.5-0", "v1.12.1", "3.10.1"
	case strings.HasPrefix(version, "1.35."):
		etcd, coredns, pause = "3.6.6-0", "v1.13.1", "3.10.1"
	case strings.HasPrefix(version, "1.36."):
		etcd, coredns, pause = "3.6.8-0", "v1.14.2", "3.10.2"
	}
	const registry = "registry.k8s.io/"
	images := []string{registry + "coredns/coredns:" + coredns, registry + "etcd:" + etcd, registry + "pause:" + pause}
	for _, c := range []string{"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler"} {
		images = append(images, registry+c+":v"+version)
	}
	return images
}
