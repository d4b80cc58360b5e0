package preflight

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The answers to Query.Preflight that the checks read. A host that was not queried, or could not
// find out, has none, and the checks then report nothing.
const (
	answerRoot        = "root"
	answerEtcWritable = "etc_writable"
	answerControllers = "cgroup_controllers"
	answerOptions     = "kernel_config"
	answerMissing     = "kernel_missing"
	answerFree        = "var_lib_free_kib"
	answerEtcFree     = "etc_free_kib"
	answerKernelLog   = "kmsg"
	answerResolves    = "hostname_resolves"
	answerEndpoint    = "endpoint_addresses"
	answerCRI         = "cri"
	answerUnreachable = "unreachable"
	answerPathMTU     = "path_mtu"
	answerEtcdDisk    = "etcd_disk"
)

// denied reports whether the host answered false to a question.
func denied(n *topology.Node, question string) bool { return n.Report.Preflight[question] == "false" }

func privileged(n *topology.Node) []finding {
	if !denied(n, answerRoot) {
		return nil
	}
	return []finding{{
		text:   "commands do not run as root, which every step on this host requires",
		remedy: "connect as a user that is root or may use sudo: without being asked for a password, or with sudo_password",
	}}
}

func initSystem(n *topology.Node) []finding {
	if n.Facts().Systemd {
		return nil
	}
	return []finding{{
		text:   "PID 1 is not systemd, which has to run the kubelet",
		remedy: "use a host that was started with systemd",
	}}
}

// architectures are the architectures for which Kubernetes is released.
var architectures = []string{"amd64", "arm64", "ppc64le", "s390x"}

func architecture(n *topology.Node) []finding {
	arch := n.Facts().Arch
	if arch == "" || slices.Contains(architectures, arch) {
		return nil
	}
	return []finding{{
		text:   fmt.Sprintf("the machine is %s, for which there is no release of Kubernetes", arch),
		remedy: "use a machine that is one of " + strings.Join(architectures, ", "),
	}}
}

func clockOffset(n *topology.Node) []finding {
	off := n.Facts().ClockOffset
	way := "ahead of"
	if off < 0 {
		way = "behind"
	}
	const remedy = "set up time synchronisation on the host (timedatectl set-ntp true), and check that this machine's own clock is right"
	switch off = off.Abs(); {
	case off > time.Minute:
		return []finding{{text: fmt.Sprintf("the clock is %s %s this machine's: certificates would not be valid yet, or would have expired", off.Round(time.Second), way), remedy: remedy}}
	case off > 2*time.Second:
		return []finding{{warning: true, text: fmt.Sprintf("the clock is %s %s this machine's", off.Round(100*time.Millisecond), way), remedy: remedy}}
	}
	return nil
}

// The requirements of a control plane (kubeadm, app/constants: ControlPlaneNumCPU,
// ControlPlaneMem).
const (
	minCPUs        = 2
	minMemoryBytes = 1700 << 20
)

func cpus(n *topology.Node) []finding {
	if have := n.Facts().CPUs; n.IsControlPlane() && have > 0 && have < minCPUs {
		return []finding{{text: fmt.Sprintf("there is %d CPU, but a control plane needs %d", have, minCPUs), remedy: "give the host another CPU"}}
	}
	return nil
}

func memory(n *topology.Node) []finding {
	if have := n.Facts().MemoryBytes; n.IsControlPlane() && have > 0 && have < minMemoryBytes {
		return []finding{{text: fmt.Sprintf("there are %d MB of memory, but a control plane needs %d", have>>20, minMemoryBytes>>20), remedy: "give the host more memory"}}
	}
	return nil
}

const (
	// minFree is the space without which not even the images fit: etcd would stop with NOSPACE, and
	// the kubelet would evict the pods that it starts.
	minFree = 256 << 20
	// minFreeEtc is the space for the files below /etc, if that is a separate disk.
	minFreeEtc = 1 << 20
)

// diskSpace also requires space for copied artifacts: they are stored below /var/lib until they are
// unpacked or loaded, which takes at least as much again.
func diskSpace(n *topology.Node) []finding {
	need, what := int64(minFree), ""
	for _, a := range sent(n) {
		need += 2 * a.Size
		what = fmt.Sprintf(", %d of them for the artifacts", (need-minFree)>>20)
	}
	const larger = ", or give the host a larger disk"
	if free, told := freeBytes(n, answerFree); told && free < need {
		return []finding{{
			text:   fmt.Sprintf("the disk is full: %d MiB are free below /var/lib, at least %d are needed%s", free>>20, need>>20, what),
			remedy: "free space (du -xsh /var/lib/* shows what uses it)" + larger,
		}}
	}
	if free, told := freeBytes(n, answerEtcFree); told && free < minFreeEtc {
		return []finding{{
			text:   fmt.Sprintf("the disk is full: %d KiB are free below /etc, at least %d are needed", free>>10, minFreeEtc>>10),
			remedy: "free space (df -h /etc shows which disk it is)" + larger,
		}}
	}
	return nil
}

// freeBytes returns the free space that the host has reported.
func freeBytes(n *topology.Node, answer string) (free int64, told bool) {
	kib, err := strconv.ParseInt(n.Report.Preflight[answer], 10, 64)
	return kib << 10, err == nil
}

// sent returns the artifacts that are copied to the node: to a new one all, later those of the
// plan.
func sent(n *topology.Node) []config.Artifact {
	if isNew(n) {
		return host.Artifacts(n)
	}
	names := map[string]bool{}
	for _, op := range n.Cluster.Fleet.Writes[n.Target] {
		switch op := op.(type) {
		case planner.UploadArtifact:
			names[op.Artifact] = true
		case planner.LoadImage:
			names[op.Artifact] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(host.Artifacts(n)), func(a config.Artifact) bool { return !names[a.Name] })
}

func etcWritable(n *topology.Node) []finding {
	if !denied(n, answerEtcWritable) {
		return nil
	}
	return []finding{{
		text:   "/etc is not writable, and Kubernetes keeps its configuration there",
		remedy: "mount it read-write; if the kernel made it read-only, check for a failing disk (dmesg)",
	}}
}

func kernelLog(n *topology.Node) []finding {
	if !denied(n, answerKernelLog) {
		return nil
	}
	return []finding{{
		text:   "/dev/kmsg is missing, without which the kubelet does not start",
		remedy: "if the host is a container, give it the device /dev/kmsg of its machine",
	}}
}

// KernelDefault are the sysctls that the kubelet sets, or with protectKernelDefaults requires
// (component-helpers, node/util/sysctl).
var KernelDefault = map[string]string{
	"vm.overcommit_memory": "1", "vm.panic_on_oom": "0", "kernel.panic": "10", "kernel.panic_on_oops": "1",
	"kernel.keys.root_maxkeys": "1000000", "kernel.keys.root_maxbytes": "25000000",
}

func kernelDefaults(n *topology.Node) []finding {
	if on, set := host.KubeletFlag(n, "protectKernelDefaults"); !set || !on {
		return nil
	}
	var wrong []string
	for _, name := range host.SortedNames(KernelDefault) {
		if have, asked := n.Report.Sysctls[name]; asked && have != KernelDefault[name] && !host.SetsSysctl(n, name) {
			wrong = append(wrong, name+"="+KernelDefault[name])
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return []finding{{
		text:   "protectKernelDefaults is on and sysctls differ from what the kubelet requires, so that it does not start",
		remedy: "set " + strings.Join(wrong, ", ") + " in sysctls of the cluster or the node, or remove protectKernelDefaults from the kubelet's config",
	}}
}

// RequiredCommands are looked up on every host (kubeadm's FileExisting checks).
var RequiredCommands = []string{"losetup", "mount", "cp"}

func commandsExist(n *topology.Node) []finding {
	var out []finding
	for _, c := range RequiredCommands {
		if present, asked := n.Report.Commands[c]; asked && !present {
			out = append(out, finding{
				check: "FileExisting-" + c, text: c + " is not in root's PATH, and the kubelet runs it",
				remedy: "install its package (util-linux for losetup and mount, coreutils for cp)",
			})
		}
	}
	return append(out, unpackCommands(n)...)
}

// FirewalldUnit is the unit that is queried before a host joins.
const FirewalldUnit = "firewalld.service"

func firewalld(n *topology.Node) []finding {
	if n.Report.Units[FirewalldUnit].Active != "active" {
		return nil
	}
	return []finding{{
		warning: true, text: "firewalld is active, which may block traffic between nodes",
		remedy: "open the ports of Kubernetes (" + joinPorts(Ports(n)) + ") and of the network addon between the nodes, or stop firewalld",
	}}
}

func hostName(n *topology.Node) []finding {
	if bad := validation.IsDNS1123Subdomain(n.NodeName); n.NodeName != "" && len(bad) > 0 {
		return []finding{{
			text: fmt.Sprintf("the host's name %q cannot be the name of a node: it must consist of lower-case letters, digits, hyphens and dots, "+
				"and begin and end with a letter or digit", n.NodeName),
			remedy: "give the host another name (hostnamectl set-hostname), or set name in the node block",
		}}
	}
	if !denied(n, answerResolves) || n.NodeName != n.Facts().Hostname {
		return nil
	}
	return []finding{{
		warning: true, text: fmt.Sprintf("the host does not resolve its own name %q", n.NodeName),
		remedy: "add it to /etc/hosts or to the name server",
	}}
}

// EndpointName returns the name of control_plane_endpoint; empty for an address.
func EndpointName(c *topology.Cluster) string {
	host, _, err := net.SplitHostPort(c.ControlPlaneEndpoint)
	if err != nil {
		host = c.ControlPlaneEndpoint
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	return host
}

// endpointName finds a name of control_plane_endpoint that the host does not resolve. A file of the
// definition may bring it.
func endpointName(n *topology.Node) []finding {
	name := EndpointName(n.Cluster)
	seen, asked := n.Report.Preflight[answerEndpoint]
	if name == "" || !asked || seen != "" || slices.ContainsFunc(n.Cluster.FilesOn(n.Node), func(f config.File) bool { return f.Path == "/etc/hosts" }) {
		return nil
	}
	return []finding{{
		text:   fmt.Sprintf("the host does not resolve %q, the name of control_plane_endpoint, by which it would reach the API", name),
		remedy: "add the name to the name server, or to /etc/hosts of every host, also with a file block; or write an address as the endpoint",
	}}
}

// KubeadmTemporary is the folder for files that kubeadm sets aside.
const KubeadmTemporary = "/etc/kubernetes/tmp"

// ContentsGo are folders of every node that a reset empties if they existed before, and removes
// otherwise.
var ContentsGo = map[string]bool{
	"/etc/kubernetes/manifests": true, KubeadmTemporary: true,
	"/var/lib/kubelet": true, "/var/lib/cni": true,
	"/var/log/pods": true, "/var/log/containers": true, "/var/lib/kube-proxy": true,
}

const SameMachine = "Two nodes share one host"
