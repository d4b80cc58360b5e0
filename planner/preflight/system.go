package preflight

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
)

// The kernel requirements of Kubernetes, by cgroup version (k8s.io/system-validators v1.10.2 and
// v1.12.1, validators/types_unix.go). Options that are only recommended there are printed by
// kubeadm, but not checked here. Since Linux 5.2, cgroup v2 can freeze a folder of processes, and
// controls devices, without a controller of that name.
var (
	kernelOptions = []string{
		"NAMESPACES", "NET_NS", "PID_NS", "IPC_NS", "UTS_NS", "CPUSETS", "MEMCG", "INET", "EXT4_FS", "PROC_FS",
		"NETFILTER_XT_TARGET_REDIRECT", "NETFILTER_XT_MATCH_COMMENT", "FAIR_GROUP_SCHED", "CGROUPS", "CGROUP_PIDS", "CGROUP_SCHED",
	}
	kernelOptionsV1 = []string{"CGROUP_CPUACCT", "CGROUP_DEVICE", "CGROUP_FREEZER"}
	kernelOptionsV2 = []string{"CGROUP_BPF"}

	controllersV1 = []string{"cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids"}
	controllersV2 = []string{"cpu", "cpuset", "memory", "pids"}
	recommendedV1 = []string{"hugetlb", "blkio"}
	recommendedV2 = []string{"hugetlb", "io"}
)

// supportedKernel matches the kernel releases that the validators support.
var supportedKernel = regexp.MustCompile(`^(5\.4|5\.10|5\.15|([6-9]|[1-9]\d+)\.\d+)(\D|$)`)

func systemVerification(n *topology.Node) []finding {
	return slices.Concat(kernelRelease(n), kernelConfig(n), cgroupVersion(n), cgroupControllers(n), limitedSwap(n))
}

func kernelRelease(n *topology.Node) []finding {
	release := n.Facts().Kernel
	if release == "" || supportedKernel.MatchString(release) {
		return nil
	}
	return []finding{{
		warning: true, text: fmt.Sprintf("the kernel is %s; Kubernetes supports the long-term releases 5.4, 5.10 and 5.15, and 6 or later", release),
		remedy: "boot a kernel of one of these releases",
	}}
}

func kernelConfig(n *topology.Node) []finding {
	switch n.Report.Preflight[answerOptions] {
	case "unknown":
		return []finding{{
			warning: true, text: "the kernel does not expose its options, so that it is unknown whether it has all that Kubernetes needs",
			remedy: "nothing, if Kubernetes runs on this kernel elsewhere; modprobe configs, or the distribution's /boot/config file, shows them",
		}}
	case "known":
	default:
		return nil
	}
	needed := slices.Concat(kernelOptions, kernelOptionsV1)
	if n.Facts().CgroupV2 {
		needed = slices.Concat(kernelOptions, kernelOptionsV2)
	}
	missing := common(needed, strings.Fields(n.Report.Preflight[answerMissing]))
	if len(missing) == 0 {
		return nil
	}
	return []finding{{
		text:   "the kernel was built without options that Kubernetes needs: CONFIG_" + strings.Join(missing, ", CONFIG_"),
		remedy: "boot a kernel of the distribution, or build this one with these options",
	}}
}

func kernelModules(n *topology.Node) []finding {
	var missing []string
	for _, name := range host.Modules(n) {
		if n.Report.NoModules[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []finding{{
		text:   fmt.Sprintf("the running kernel, %s, does not have the modules of kernel_modules: %s", n.Facts().Kernel, strings.Join(missing, ", ")),
		remedy: "install the package of the distribution that has them, boot the kernel whose modules are installed, or correct the name",
	}}
}

// cgroupVersion reports cgroup v1, which the kubelet refuses from 1.35 on unless failCgroupV1 is
// off.
func cgroupVersion(n *topology.Node) []finding {
	if n.Facts().CgroupV2 {
		return nil
	}
	version := n.Facts().KubeletVersion
	if version == "" {
		version = n.Cluster.KubernetesVersion
	}
	const remedy = "boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1 on the kernel's command line)"
	fails, set := host.KubeletFlag(n, "failCgroupV1")
	if minorNumber(version) >= 35 && (fails || !set) {
		return []finding{{
			text:   "the host runs cgroup v1, which the kubelet refuses from 1.35 on",
			remedy: remedy + ", or set failCgroupV1 = false in the kubelet's config",
		}}
	}
	return []finding{{warning: true, text: "the host runs cgroup v1, which Kubernetes is about to drop", remedy: remedy}}
}

func cgroupControllers(n *topology.Node) []finding {
	answer, asked := n.Report.Preflight[answerControllers]
	if !asked {
		return nil
	}
	required, recommended := controllersV1, recommendedV1
	if n.Facts().CgroupV2 {
		required, recommended = controllersV2, recommendedV2
	}
	have := strings.Fields(answer)
	missing := without(required, have)
	if n.Facts().CgroupV2 && kernelBefore(n.Facts().Kernel, 5, 2) {
		missing = append(missing, "freezer")
	}
	var out []finding
	if len(missing) > 0 {
		out = append(out, finding{
			text:   "the kernel lacks cgroup controllers with which the kubelet limits pods: " + strings.Join(missing, ", "),
			remedy: "boot a newer kernel, or remove cgroup_disable from the kernel's command line, and add cgroup_enable=memory where the distribution disables it",
		})
	}
	if lacks := without(recommended, have); len(lacks) > 0 {
		out = append(out, finding{
			warning: true, text: "cgroup controllers that some pods use are missing: " + strings.Join(lacks, ", "),
			remedy: "nothing, if no pod limits huge pages or disk bandwidth",
		})
	}
	return out
}

// limitedSwap reports limited swap, which the kubelet refuses on cgroup v1
// (cmd/kubelet/app/server.go).
func limitedSwap(n *topology.Node) []finding {
	behaviour := n.Cluster.Kubelet.Config.Get("memorySwap.swapBehavior").AsString()
	if own := n.Kubelet.Config.Get("memorySwap.swapBehavior").AsString(); own != "" {
		behaviour = own
	}
	if n.Facts().CgroupV2 || behaviour != "LimitedSwap" {
		return nil
	}
	return []finding{{
		text:   "the kubelet is configured to limit the swap of pods, which it can with cgroup v2 only, and does not start otherwise",
		remedy: "boot with cgroup v2, or remove memorySwap from the kubelet's config",
	}}
}

var releaseNumbers = regexp.MustCompile(`^(\d+)\.(\d+)`)

// kernelBefore reports whether a release is before major.minor; an unknown one is not.
func kernelBefore(release string, major, minor int) bool {
	m := releaseNumbers.FindStringSubmatch(release)
	if m == nil {
		return false
	}
	a, _ := strconv.Atoi(m[1])
	b, _ := strconv.Atoi(m[2])
	return a < major || a == major && b < minor
}

// common returns the words of the first list that are in the second.
func common(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !slices.Contains(other, s) })
}

// without returns the words of the first list that are not in the second.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}
