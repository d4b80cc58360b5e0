package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// phases checks skip_phases of a cluster, or of a node.
func (c checker) phases(names []string, n *Node) {
	const path, summary = "skip_phases", "Unknown phase"
	known := Phases()
	for _, name := range names {
		parent, child, nested := strings.Cut(name, "/")
		children, ok := known[parent]
		switch {
		case !ok:
			c.errorf(path, summary, "There is no phase %q.%s Those that can be left out here are %s.", name, didYouMean(parent, keys(known)), list(skippablePhases(n)))
		case nested && len(children) == 0:
			c.errorf(path, summary, "The phase %q has no parts.", parent)
		case nested && !slices.Contains(children, child):
			c.errorf(path, summary, "The phase %q has no part %q.%s Its parts are %s.", parent, child, didYouMean(child, children), list(children))
		default:
			c.skippable(name, n)
		}
	}
}

// moduleName is a kernel module's name below /sys/module, with the maximum length of
// MODULE_NAME_LEN (include/linux/moduleparam.h).
var moduleName = regexp.MustCompile(`^[A-Za-z0-9_]{1,55}$`)

// kernelModules checks the names of modules. modprobe accepts dashes for underscores, the
// kernel shows only underscores: with a single spelling no module is listed twice.
func (c checker) kernelModules(names []string) {
	const path = "kernel_modules"
	for i, name := range names {
		switch plain := strings.ReplaceAll(name, "-", "_"); {
		case !moduleName.MatchString(plain):
			c.errorf(path, "Invalid kernel module", "%q is no name of a kernel module: letters, digits and _, at most 55 of them, as lsmod shows it.", name)
		case plain != name:
			c.errorf(path, "Invalid kernel module", "The kernel shows underscores where a module's file may have dashes. Write %q.", plain)
		case slices.Contains(names[:i], name):
			c.errorf(path, "Duplicate kernel module", "%q is listed twice.", name)
		}
	}
}

// Checks returns the names of preflight checks that may be ignored: kubeadm's, and kubewright's
// own.
func Checks() []string {
	names := map[string]bool{}
	for _, n := range []string{
		"all", "IsPrivilegedUser", "NumCPU", "Mem", "KubernetesVersion", "Firewalld", "HTTPProxy", "HTTPProxyCIDR",
		"ExternalEtcdVersion", "ExternalEtcdData", "ExternalEtcdClientCertificates", "ImagePull", "CRI", "ContainerRuntimeVersion", "Swap",
		"SystemVerification", "Hostname", "ControlPlaneEndpoint", "PeerPorts", "PathMTU", "EtcdDisk", "KubeletVersion", "Service-kubelet", "Port-6443", "Port-10250", "Port-10257", "Port-10259", "Port-2379", "Port-2380",
		"FileContent--proc-sys-net-ipv4-ip_forward", "FileContent--proc-sys-net-ipv6-conf-default-forwarding",
		"FileExisting-losetup", "FileExisting-mount", "FileExisting-cp", "DirAvailable--var-lib-etcd",
		"InitSystem", "Architecture", "Clock", "DiskSpace", "DirWritable--etc", "DirLinks", "DirOwners", "KernelLog", "KernelDefaults", "KernelModules", "Sysctls", "Units", "Backup", "AdvertiseAddress", "Artifacts", "Packages",
		"CoreDNSUnsupportedPlugins", "CoreDNSMigration", "CreateJob", "ControlPlaneNodesReady", "StaticPodManifest",
	} {
		names[n] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// variableCheck matches checks whose name contains a port or a path.
var variableCheck = regexp.MustCompile(`(?i)^(Port-\d{1,5}|Service-[a-z0-9@._-]+|File(Existing|Content)-+.+|DirAvailable-+.+|HostPath-.+)$`)

// foreignFile matches kubeadm's checks for files of an earlier cluster.
var foreignFile = regexp.MustCompile(`(?i)^FileAvailable-`)

// preflight checks ignore_preflight_errors.
func (c checker) preflight(names []string) {
	const path, summary = "ignore_preflight_errors", "Unknown preflight check"
	known := Checks()
	for _, name := range names {
		if strings.EqualFold(name, "all") && len(names) > 1 {
			c.errorf(path, "Conflicting preflight checks", "\"all\" cannot stand beside other names. Write it alone, or only the names.")
		}
		if foreignFile.MatchString(name) {
			c.errorf(path, "Preflight check cannot be ignored", "%q is kubeadm's check for files of a cluster that was on the host before. Here such a host is always refused, also with \"all\": "+
				"its data may still be needed. Remove the name. To reuse the host, clean it (kubeadm reset); to adopt the cluster it belongs to, use kubewright import.", name)
			continue
		}
		if variableCheck.MatchString(name) || slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
			continue
		}
		c.errorf(path, summary, "There is no check %q.%s A failed check prints its name; docs/reference/preflight.md has all of them.", name, didYouMean(name, known))
	}
}
