package observation

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/kubewright/kubewright/providers/sim/kubelet"
	"github.com/kubewright/kubewright/state"
)

func (ob Observation) facts() state.Facts {
	p := ob.m.HardwareProfile()
	f := state.Facts{
		Hostname: ob.m.Name(), MachineID: ob.machineID(), BootID: ob.bootID(),
		Arch: ob.m.Arch(), OS: p.OS, OSVersion: p.OSVersion, Kernel: p.Kernel, CPUs: p.CPUs, MemoryBytes: p.MemoryBytes,
		Systemd: !ob.m.Conditions.NoSystemd, CgroupV2: !ob.m.Conditions.CgroupV1, Swap: ob.m.Kernel().Swap(), SwapAtBoot: ob.m.Kernel().SwapAtBoot(), Addresses: ob.m.IPs(), ProxyModes: ob.m.ProxyRules().Modes(), ClockOffset: ob.m.Conditions.ClockSkew,
		KubeletVersion: ob.m.Version("kubelet"), RuntimeVersion: ob.m.Version("containerd"),
	}
	for _, dir := range []string{"/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates"} {
		if ob.m.File(dir).IsDir() {
			f.CADirs = append(f.CADirs, dir)
		}
	}
	if ob.m.Systemd().Active("containerd") {
		f.CRISocket = containerdSocket
		f.CRISockets = []string{containerdSocket}
	}
	return f
}

const containerdSocket = "unix:///var/run/containerd/containerd.sock"

func (ob Observation) unitReport(name string) state.UnitReport {
	u, ok := ob.m.Systemd().Unit(name)
	if !ok {
		return state.UnitReport{}
	}
	r := state.UnitReport{Exists: true, Active: "inactive", Enabled: "disabled"}
	if u.Active {
		r.Active = "active"
		if name == "kubelet" && kubelet.On(ob.servers, ob.m).Fault() != "" {
			r.Active = "activating"
		}
	}
	if u.Enabled {
		r.Enabled = "enabled"
	}
	return r
}

// roomAnswers are the answers that are part of every observation.
var roomAnswers = []string{"etc_writable", "etc_free_kib", "var_lib_free_kib"}

// Preflight returns the answers to the other preflight questions.
func (ob Observation) Preflight() map[string]string {
	free := "41943040"
	if ob.m.Conditions.DiskFull {
		free = "0"
	}
	out := map[string]string{
		"root": "true", "etc_writable": "true", "hostname_resolves": "true", "unreachable": "", "path_mtu": "", "etcd_disk": "1204/2408", "endpoint_addresses": "10.77.0.100", "kmsg": "true",
		"cgroup_controllers": "cpuset cpu io memory hugetlb pids rdma misc",
		"kernel_config":      "known", "kernel_missing": "CGROUP_CPUACCT CGROUP_DEVICE", "etc_free_kib": free, "var_lib_free_kib": free,
	}
	switch {
	case !ob.m.Systemd().Active("containerd"):
		out["cri"] = ""
	case !ob.m.Processes().ServesCRI():
		out["cri"] = "disabled"
	default:
		out["cri"] = "ok"
	}
	if ob.m.Conditions.CgroupV1 {
		out["cgroup_controllers"] = "cpuset cpu cpuacct blkio memory devices freezer hugetlb pids"
		out["kernel_missing"] = ""
	}
	maps.Copy(out, ob.m.Conditions.Answers)
	return out
}

func (ob Observation) machineID() string {
	if ob.m.Conditions.ChangedHostKey {
		return ob.servers.Derive(32, "machine-id", ob.m.Address, "replaced")
	}
	if ob.m.Installed > 0 {
		return ob.servers.Derive(32, "machine-id", ob.m.Address, strconv.Itoa(ob.m.Installed))
	}
	return ob.servers.Derive(32, "machine-id", ob.m.Address)
}

func (ob Observation) bootID() string {
	h := ob.servers.Derive(32, "boot-id", ob.m.Address, fmt.Sprint(ob.m.Boots))
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
