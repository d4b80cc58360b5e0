package preflight

import (
	"github.com/kubewright/kubewright/planner/topology"
)

// treatment says how kubewright handles a check.
type treatment string

// The treatments of checks.
const (
	// checked on the hosts, in preflight.
	checked treatment = "checked"
	// madeTrue by a phase, so it cannot fail.
	madeTrue treatment = "made true"
	// elsewhere: refused by another part of the plan, or before any host is contacted.
	elsewhere treatment = "elsewhere"
	// notApplicable to kubewright, or not done, with the reason.
	notApplicable treatment = "not applicable"
)

// preflightCheck is a row of the table of checks: the requirements of kubeadm init and join and of
// the kubelet's start, and kubewright's own.
type preflightCheck struct {
	// name is the name in ignore_preflight_errors and kubeadm's --ignore-preflight-errors. Checks
	// of ports and paths have the common prefix of their names, which ends with a hyphen.
	name string
	// on says which hosts are checked: "all", "control planes", "workers".
	on string
	// by is the origin of the check: kubeadm, with the source file; the kubelet; kubewright.
	by string
	// treatment is how the check is handled, and note a remark about it.
	treatment treatment
	note      string
	// always reports whether it also applies to a running node, written whether it does if the plan
	// writes to its host.
	always, written bool
	find            func(*topology.Node) []finding
}

// The origins of checks, in the source of Kubernetes 1.34 to 1.37.
const (
	byKubeadm       = "kubeadm, app/preflight/checks.go"
	bySystem        = "kubeadm, k8s.io/system-validators"
	byUpgrade       = "kubeadm, app/phases/upgrade/health.go"
	byKubelet       = "kubelet, cmd/kubelet/app/server.go and pkg/kubelet"
	ours            = "kubewright"
	onAll           = "all"
	onControlPlanes = "control planes"
	onWorkers       = "workers"
	onExternal      = "control planes with an external etcd"
)

// checkCRI is the name of the check of the container runtime.
const checkCRI = "CRI"

// preflightChecks is the table, in the order of the report. A test checks that it is complete for
// kubeadm 1.34 to 1.37.
var preflightChecks = []preflightCheck{
	{name: "IsPrivilegedUser", on: onAll, by: byKubeadm, treatment: checked, note: "root, by login or sudo", find: privileged},
	{name: "InitSystem", on: onAll, by: ours, treatment: checked, always: true, note: "systemd is PID 1", find: initSystem},
	{name: "Architecture", on: onAll, by: ours, treatment: checked, always: true, note: "Kubernetes has a release for the machine", find: architecture},
	{name: "Clock", on: onAll, by: ours, treatment: checked, always: true, note: "at most a minute off the operator's; a warning from two seconds on", find: clockOffset},
	{name: "NumCPU", on: onControlPlanes, by: byKubeadm, treatment: checked, note: "2", find: cpus},
	{name: "Mem", on: onControlPlanes, by: byKubeadm, treatment: checked, note: "1700 MB", find: memory},
	{name: "DiskSpace", on: onAll, by: ours, treatment: checked, written: true, note: "256 MiB free below /var/lib, and twice the size of the artifacts that are " +
		"sent; 1 MiB free below /etc", find: diskSpace},
	{name: "DirWritable--etc", on: onAll, by: ours, treatment: checked, written: true, note: "/etc is not on a read-only file system", find: etcWritable},
	{
		name: "SystemVerification", on: onAll, by: bySystem, treatment: checked, find: systemVerification,
		note: "kernel version (a warning), kernel options, cgroup controllers, cgroup v1. " +
			"A kernel that does not expose its options is a warning here and an error in kubeadm, which also tries to load a module for it",
	},
	{name: "KernelLog", on: onAll, by: byKubelet, treatment: checked, note: "/dev/kmsg, which the kubelet opens to watch for memory shortage", find: kernelLog},
	{name: "KernelDefaults", on: onAll, by: byKubelet, treatment: checked, note: "only with protectKernelDefaults, with which the kubelet does not set sysctls by itself", find: kernelDefaults},
	{name: "Artifacts", on: onAll, by: ours, treatment: checked, always: true, note: "those of install { artifacts } are for the machine's architecture", find: artifactsFit},
	{
		name: "Packages", on: onAll, by: ours, treatment: checked, always: true, find: packagesFit,
		note: "those of install { packages } can be installed: apt or dnf is there, no package is partly installed, the repository answers and has the version, " +
			"where it is not installed yet and the host has curl or wget; a warning while another program uses the package manager",
	},
	{name: checkCRI, on: onAll, by: byKubeadm, treatment: checked, always: true, note: "a socket on which a runtime listens, and not two without cri_socket; " +
		"on joining hosts, containerd serves the CRI, according to ctr or crictl where the host has one of them; or containerd and runc among the artifacts, " +
		"or containerd among the packages", find: runtimeSocket},
	{name: "ContainerRuntimeVersion", on: onAll, by: byKubeadm, treatment: checked, note: "a warning from 1.35 on: containerd before 2.0 and CRI-O before 1.28 do " +
		"not report their cgroup driver to the kubelet", find: runtimeVersion},
	{name: "KubeletVersion", on: onAll, by: byKubeadm, treatment: checked, always: true, note: "not newer than the control plane, and at most three minor " +
		"versions older; not checked where artifacts or packages install it", find: kubeletVersion},
	{name: "Service-kubelet", on: onAll, by: byKubeadm, treatment: checked, note: "the unit exists; an error here and a warning in kubeadm, " +
		"as nothing else starts the kubelet. kubelet-start enables it", find: kubeletServiceUnit},
	{name: "FileExisting-", on: onAll, by: byKubeadm, treatment: checked, note: "losetup, mount, cp; tar and gzip where archives are to be unpacked. " +
		"conntrack is required before 1.32 only", find: commandsExist},
	{name: "Port-10248", on: onAll, by: byKubelet, treatment: checked, note: "the kubelet serves its health there. A listener on any address counts", find: busyPorts(kubeletHealthPort)},
	{name: "Port-10250", on: onAll, by: byKubeadm, treatment: checked, note: "the kubelet's. A listener on any address counts", find: busyPorts(kubeletPort)},
	{name: "Port-", on: onControlPlanes, by: byKubeadm, treatment: checked, note: "the API server's, 10257, 10259, and 2379, 2380 of a stacked etcd. A listener on any address counts", find: busyControlPlanePorts},
	{name: "DirAvailable-", on: onControlPlanes, by: byKubeadm, treatment: checked, note: "the data directory of a stacked etcd is missing or empty", find: etcdFolder},
	{name: "DirLinks", on: onAll, by: ours, treatment: checked, note: "no link stands in the place of a folder that a reset empties", find: linkedFolders},
	{name: "DirOwners", on: onAll, by: ours, treatment: checked, note: "the folders into which install writes, and their parents, belong to root, " +
		"and only root can write there; nothing is written where others could replace what root runs", find: foreignFolders},
	{name: "EtcdDisk", on: onControlPlanes, by: ours, treatment: checked, find: etcdDisk, note: "a warning. The disk below the data directory of a stacked etcd took at most 10 ms for a flush, on average since the host started. " +
		"The kernel counts them (/proc/diskstats), and nothing is written to measure it. Not known of disks without a cache of their own, which are never flushed, of network file systems and of btrfs"},
	{name: "AdvertiseAddress", on: onControlPlanes, by: byKubeadm, treatment: checked, note: "a stacked etcd listens on it; kubeadm 1.37 finds it as Port-2379 and Port-2380, which it opens on that address", find: advertiseAddress},
	{name: "ExternalEtcdClientCertificates", on: onExternal, by: byKubeadm, treatment: checked, note: "the files exist, unless the configuration provides them", find: etcdClientFiles},
	{name: "HostPath-", on: onControlPlanes, by: ours, treatment: checked, always: true, note: "what an extra volume of path_type File, Directory, Socket, " +
		"CharDevice or BlockDevice requires exists: otherwise the kubelet does not start the component", find: volumesExist},
	{name: "ExternalEtcdVersion", on: onExternal, by: byKubeadm, treatment: checked, always: true, note: "every endpoint answers and is 3.5.24 or newer, " +
		"queried through the first control plane until the cluster's API has served once; an error as well where it cannot be queried, as where sshd forwards no connection", find: externalEtcdVersion},
	{name: "ExternalEtcdData", on: onExternal, by: ours, treatment: checked, always: true, note: "no keys of another cluster below the API server's etcd-prefix, as long as no API server of this one has been started", find: externalEtcdData},
	{name: "Hostname", on: onAll, by: byKubeadm, treatment: checked, note: "a name that Kubernetes does not accept is an error, " +
		"as in kubeadm's validation of its configuration; one that does not resolve is a warning. Only the host's own name is resolved", find: hostName},
	{name: "ControlPlaneEndpoint", on: onAll, by: ours, treatment: checked, note: "the host resolves the name of control_plane_endpoint, unless a file block brings /etc/hosts", find: endpointName},
	{name: "PeerPorts", on: onAll, by: ours, treatment: checked, find: peerPorts, note: "from each joining host: the API server's port on the control planes, unless the endpoint is another address; " +
		"from control planes also etcd's port 2380 on the others, and port 10250 of kubelets (a warning). A port on which nothing listens yet counts as reachable, as does one that a firewall refuses; " +
		"only silence and missing routes are found, within two seconds. At most sixteen ports from a host, with bash there"},
	{name: "PathMTU", on: onAll, by: ours, treatment: checked, find: pathMTU, note: "a warning. One packet of the size that the interface allows arrives at a control plane unfragmented; not known without the ping of iputils"},
	{name: "ImagePull", on: onAll, by: byKubeadm, treatment: checked, always: true, note: "with image_pull_policy Never, all images are present or in an archive " +
		"of the artifacts, on control planes also those of intermediate versions of an upgrade. " +
		"Otherwise the images phase pulls or loads what is missing before anything is disrupted; a pull is a change, and preflight makes none", find: imagesAtHand},
	{name: "Firewalld", on: onAll, by: byKubeadm, treatment: checked, note: "a warning", find: firewalld},
	{name: "KernelModules", on: onAll, by: ours, treatment: checked, always: true, note: "the running kernel has the modules of kernel_modules", find: kernelModules},
	{name: "Sysctls", on: onAll, by: ours, treatment: checked, always: true, note: "the running kernel has the parameters of sysctls. " +
		"While modules of kernel_modules are not loaded yet, those of modules are not checked", find: kernelSysctls},
	{name: "Units", on: onAll, by: ours, treatment: checked, always: true, note: "units of unit blocks without content exist, and can be enabled where that is asked for", find: hostUnits},
	{name: "Backup", on: onControlPlanes, by: ours, treatment: checked, always: true, note: "age is there for the backups of a backup block, and curl where they go into a bucket", find: backupPrograms},
	{name: "HTTPProxy", on: onControlPlanes, by: byKubeadm, treatment: checked, note: "a warning. kubeadm checks the environment that it runs in; " +
		"here it is proxy_env, which becomes the components'", find: proxiedHost},
	{name: "HTTPProxyCIDR", on: onControlPlanes, by: byKubeadm, treatment: checked, note: "a warning, as HTTPProxy, for the first address of each subnet", find: proxiedSubnets},

	{name: "FileContent--proc-sys-net-ipv4-ip_forward", on: onAll, by: byKubeadm, treatment: madeTrue, note: "prepare sets it, now and for the next boot"},
	{name: "FileContent--proc-sys-net-ipv6-conf-default-forwarding", on: onAll, by: byKubeadm, treatment: madeTrue, note: "prepare sets it, now and for the next boot"},
	{name: "FileContent--proc-sys-net-bridge-bridge-nf-call-iptables", on: onAll, by: byKubeadm, treatment: notApplicable, note: "no longer checked by kubeadm 1.34 to " +
		"1.37; kernel_modules loads br_netfilter for network addons that need it"},
	{name: "Swap", on: onAll, by: byKubeadm, treatment: madeTrue, note: "prepare turns swap off and masks swap.target, so that it stays off, unless the kubelet is configured to run with it"},
	{name: "FileAvailable-", on: onAll, by: byKubeadm, treatment: elsewhere, note: "kubeconfigs, manifests and the CA of a foreign cluster: " +
		"refused as another cluster's host, and not to be ignored by name or with `all`, because the data there may still be needed"},
	{name: "KubernetesVersion", on: onControlPlanes, by: byKubeadm, treatment: elsewhere, note: "validate refuses versions that this kubewright does not support, " +
		"before a host is contacted"},
	{name: "CoreDNSUnsupportedPlugins", on: onControlPlanes, by: byUpgrade, treatment: elsewhere, note: "refused in the plan, when CoreDNS gets another version"},
	{name: "CoreDNSMigration", on: onControlPlanes, by: byUpgrade, treatment: elsewhere, note: "refused in the plan with the Corefile that the new version reads"},
	{name: "CreateJob", on: onControlPlanes, by: byUpgrade, treatment: notApplicable, note: "a check of kubeadm upgrade"},
	{name: "ControlPlaneNodesReady", on: onControlPlanes, by: byUpgrade, treatment: notApplicable, note: "a check of kubeadm upgrade"},
	{name: "StaticPodManifest", on: onControlPlanes, by: byUpgrade, treatment: notApplicable, note: "a check of kubeadm upgrade"},
}

// PreflightCheck is a row of the table for documentation.
type PreflightCheck struct {
	Name, On, By, Treatment, Note string
	// Running says when the check applies to running nodes: always, when their hosts are written
	// to, or never.
	Running string
}

// PreflightChecks lists all checks in order.
func PreflightChecks() []PreflightCheck {
	var out []PreflightCheck
	for _, c := range preflightChecks {
		out = append(out, PreflightCheck{c.name, c.on, c.by, string(c.treatment), c.note, c.running()})
	}
	return out
}

// ofControlPlanes reports whether the check applies only to control planes.
func (c preflightCheck) ofControlPlanes() bool { return c.on == onControlPlanes || c.on == onExternal }

func (c preflightCheck) running() string {
	switch {
	case c.always:
		return "always"
	case c.written:
		return "where written to"
	}
	return ""
}
