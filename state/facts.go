package state

import "time"

// Facts are the properties of a host that the desired state depends on. They are inputs of the
// phases and never part of a diff.
type Facts struct {
	// Hostname is in lower case, the form in which kubeadm derives the node name from it.
	Hostname  string `json:"hostname"`
	MachineID string `json:"machine_id"`
	BootID    string `json:"boot_id,omitempty"`
	// Arch is a GOARCH value: amd64, arm64.
	Arch string `json:"arch"`
	// OS is the ID of os-release, OSVersion its VERSION_ID.
	OS        string `json:"os,omitempty"`
	OSVersion string `json:"os_version,omitempty"`
	// Kernel is uname -r.
	Kernel string `json:"kernel,omitempty"`
	CPUs   int    `json:"cpus,omitempty"`
	// MemoryBytes is MemTotal.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// CADirs are the distribution's CA folders that exist (kubeadm mounts each into the API
	// server).
	CADirs []string `json:"ca_dirs,omitempty"`
	// CRISocket is the runtime endpoint that answered, such as
	// unix:///var/run/containerd/containerd.sock.
	CRISocket string `json:"cri_socket,omitempty"`
	// CRISockets are all sockets found; more than one needs cri_socket in the configuration.
	CRISockets []string `json:"cri_sockets,omitempty"`
	// SystemdResolved reports whether systemd-resolved is active: kubeadm then sets resolvConf.
	SystemdResolved bool `json:"systemd_resolved,omitempty"`
	// Systemd reports whether PID 1 is systemd.
	Systemd bool `json:"systemd"`
	// CgroupV2 reports whether the host has a pure unified hierarchy.
	CgroupV2 bool `json:"cgroup_v2,omitempty"`
	// Swap reports whether a swap device is in use.
	Swap bool `json:"swap,omitempty"`
	// SwapAtBoot reports whether the next boot turns swap on.
	SwapAtBoot bool `json:"swap_at_boot,omitempty"`
	// KubeletVersion and RuntimeVersion are the printed versions without the leading v; empty
	// when not installed.
	KubeletVersion string `json:"kubelet_version,omitempty"`
	RuntimeVersion string `json:"runtime_version,omitempty"`
	// ProxyModes are the modes of kube-proxy that have left something on the host. iptables is
	// only checked together with ipvs.
	ProxyModes []string `json:"proxy_modes,omitempty"`
	// Addresses are the host's own IP addresses.
	Addresses []string `json:"addresses,omitempty"`
	// ClockOffset is host clock minus operator clock, measured around the observing round trip.
	ClockOffset time.Duration `json:"-"`
}
