package preflight_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/preflight"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// wantFindings checks that there are as many findings as wanted, each with its severity, title and
// words.
func wantFindings(t *testing.T, got diag.Diagnostics, want ...[]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got  %d findings: %v\nwant %d: %q", len(got), got, len(want), want)
		return
	}
	for i, d := range got {
		for _, words := range want[i] {
			if !strings.Contains(d.String(), words) {
				t.Errorf("got  %s\nwant %q in it", d, words)
			}
		}
	}
}

// refused is the finding that a check refuses a host.
func refused(check string, words ...string) []string {
	return append([]string{"error: Host is not ready for Kubernetes", `ignore_preflight_errors = ["` + check + `"]`}, words...)
}

// warned is the finding that a check warns of a host.
func warned(check string, words ...string) []string {
	return append([]string{"warning: Preflight check " + check + ":"}, words...)
}

func facts(t state.Target, change func(*state.Facts)) tt.Change {
	return tt.Host(t, func(r *state.Report) { change(&r.Facts) })
}

// answers sets what a host answers to questions.
func answers(t state.Target, pairs ...string) tt.Change {
	return tt.Host(t, func(r *state.Report) {
		r.Preflight = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			r.Preflight[pairs[i]] = pairs[i+1]
		}
	})
}

// sysctls sets a kernel parameter of the first worker.
func sysctls(name, value string) tt.Change {
	return func(v *topology.Fleet) {
		for _, n := range v.Config.Nodes {
			if n.Target == tt.W(1) {
				n.Sysctls = map[string]string{name: value}
			}
		}
	}
}

// running enables a unit of the first worker, whose host reports it.
func running(name string, u state.UnitReport) tt.Change {
	return func(v *topology.Fleet) {
		enabled := true
		for _, n := range v.Config.Nodes {
			if n.Target == tt.W(1) {
				n.Units = []config.Unit{{Name: name, Enabled: &enabled}}
			}
		}
		tt.Host(tt.W(1), func(r *state.Report) {
			if r.Units == nil {
				r.Units = map[string]state.UnitReport{}
			}
			r.Units[name] = u
		})(v)
	}
}

func path(t state.Target, path string, f state.FileReport) tt.Change {
	return tt.File(t, path, func(r *state.FileReport) { *r = f })
}

func ports(t state.Target, busy ...int) tt.Change {
	return tt.Host(t, func(r *state.Report) {
		r.Ports = map[int]bool{}
		for _, p := range busy {
			r.Ports[p] = true
		}
	})
}

// situation is a change of prepared, blank hosts, a control plane and a worker, and the wanted
// findings.
type situation struct {
	name    string
	changes []tt.Change
	want    [][]string
}

func check(t *testing.T, list []situation) {
	t.Helper()
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, preflight.Preflight(tt.Blank(1, 1, c.changes...)), c.want...)
		})
	}
}

// TestPreflightChecksMachines checks what is said of machines that are unfit for Kubernetes.
func TestPreflightChecksMachines(t *testing.T) {
	t.Parallel()
	const cp1, w1 = `node.cp["cp1"] (10.0.0.11): `, `node.worker["w1"] (10.0.1.11): `
	check(t, []situation{
		{"prepared hosts", nil, nil},
		{"a control plane with one CPU", []tt.Change{facts(tt.CP(1), func(f *state.Facts) { f.CPUs = 1 })}, [][]string{refused("NumCPU", cp1+"there is 1 CPU, but a control plane needs 2.")}},
		{"a worker with one CPU", []tt.Change{facts(tt.W(1), func(f *state.Facts) { f.CPUs = 1 })}, nil},
		{"a control plane with 1 GiB of memory", []tt.Change{facts(tt.CP(1), func(f *state.Facts) { f.MemoryBytes = 1 << 30 })}, [][]string{refused("Mem", cp1+"there are 1024 MB of memory, but a control plane needs 1700.")}},
		{"a user without root", []tt.Change{answers(tt.W(1), "root", "false")}, [][]string{refused("IsPrivilegedUser", w1+"commands do not run as root")}},
		{"no systemd", []tt.Change{facts(tt.W(1), func(f *state.Facts) { f.Systemd = false })}, [][]string{refused("InitSystem", "PID 1 is not systemd")}},
		{"another architecture", []tt.Change{facts(tt.W(1), func(f *state.Facts) { f.Arch = "riscv64" })}, [][]string{refused("Architecture", "the machine is riscv64", "amd64, arm64, ppc64le, s390x")}},
		{"a clock that is two minutes ahead", []tt.Change{facts(tt.W(1), func(f *state.Facts) { f.ClockOffset = 2 * time.Minute })}, [][]string{refused("Clock", "the clock is 2m0s ahead of this machine's")}},
		{"a clock that is five seconds behind", []tt.Change{facts(tt.W(1), func(f *state.Facts) { f.ClockOffset = -5 * time.Second })}, [][]string{warned("Clock", w1+"the clock is 5s behind this machine's.")}},
		{"a clock that is a second off", []tt.Change{facts(tt.W(1), func(f *state.Facts) { f.ClockOffset = time.Second })}, nil},
		{"a full disk", []tt.Change{answers(tt.W(1), "var_lib_free_kib", "102400")}, [][]string{refused("DiskSpace", "the disk is full: 100 MiB are free below /var/lib, at least 256 are needed")}},
		{"enough space", []tt.Change{answers(tt.W(1), "var_lib_free_kib", "262144", "etc_free_kib", "1024")}, nil},
		{"a full disk of /etc", []tt.Change{answers(tt.W(1), "var_lib_free_kib", "262144", "etc_free_kib", "512")}, [][]string{refused("DiskSpace", "512 KiB are free below /etc, at least 1024 are needed")}},
		{"a read-only /etc", []tt.Change{answers(tt.W(1), "etc_writable", "false")}, [][]string{refused("DirWritable--etc", "/etc is not writable")}},
		{"an old kernel", []tt.Change{facts(tt.W(1), func(f *state.Facts) { f.Kernel = "4.19.0-27-amd64" })}, [][]string{warned("SystemVerification", "the kernel is 4.19.0-27-amd64")}},
		{"a new kernel", []tt.Change{facts(tt.W(1), func(f *state.Facts) { f.Kernel = "6.12.9-amd64" })}, nil},
		{"a kernel without an option", []tt.Change{answers(tt.W(1), "kernel_config", "known", "kernel_missing", "CGROUP_BPF SOUND")}, [][]string{refused("SystemVerification", "CONFIG_CGROUP_BPF.")}},
		{"cgroup v1", []tt.Change{facts(tt.W(1), func(f *state.Facts) { f.CgroupV2 = false })}, [][]string{refused("SystemVerification", "the host runs cgroup v1, which the kubelet refuses from 1.35 on")}},
		{"cgroup v1 that the kubelet accepts", []tt.Change{facts(tt.W(1), func(f *state.Facts) { f.CgroupV2 = false }), tt.Cluster(func(c *config.Cluster) {
			c.Kubelet.Config = state.FromGo(map[string]any{"failCgroupV1": false})
		})}, [][]string{warned("SystemVerification", "the host runs cgroup v1, which Kubernetes is about to drop")}},
		{"no cgroup controller for memory", []tt.Change{answers(tt.W(1), "cgroup_controllers", "cpuset cpu io hugetlb pids")}, [][]string{refused("SystemVerification", "with which the kubelet limits pods: memory.")}},
		{"no /dev/kmsg", []tt.Change{answers(tt.W(1), "kmsg", "false")}, [][]string{refused("KernelLog", "/dev/kmsg is missing")}},
		{"a kernel without a module", []tt.Change{tt.Cluster(func(c *config.Cluster) { c.KernelModules = []string{"br_netfilter", "ip_vs"} }), tt.Host(tt.W(1), func(r *state.Report) {
			r.NoModules = map[string]bool{"ip_vs": true}
		})}, [][]string{refused("KernelModules", w1, "does not have the modules of kernel_modules: ip_vs.")}},
		{"sysctls that the kubelet does not set", []tt.Change{tt.Cluster(func(c *config.Cluster) {
			c.Kubelet.Config = state.FromGo(map[string]any{"protectKernelDefaults": true})
		}), tt.Host(tt.W(1), func(r *state.Report) { r.Sysctls = map[string]string{"vm.panic_on_oom": "1", "kernel.panic": "10"} })}, [][]string{
			refused("KernelDefaults", "set vm.panic_on_oom=0 in sysctls of the cluster or the node"),
		}},
		{"sysctls that the configuration sets for the kubelet", []tt.Change{tt.Cluster(func(c *config.Cluster) {
			c.Kubelet.Config = state.FromGo(map[string]any{"protectKernelDefaults": true})
		}), sysctls("vm/panic_on_oom", "0"), tt.Host(tt.W(1), func(r *state.Report) {
			r.Sysctls = map[string]string{"vm.panic_on_oom": "1", "kernel.panic": "10"}
		})}, nil},
		{"a sysctl that the kernel has", []tt.Change{sysctls("vm.max_map_count", "1"), tt.Host(tt.W(1), func(r *state.Report) {
			r.Sysctls = map[string]string{"vm.max_map_count": "65530"}
		})}, nil},
		{"a sysctl that the kernel lacks", []tt.Change{sysctls("vm.max_map_count", "1")}, [][]string{refused("Sysctls", w1, "sysctls: vm.max_map_count.", "correct the name")}},
		{"a unit that the host lacks", []tt.Change{running("none.service", state.UnitReport{})}, [][]string{refused("Units", w1, "systemd has no unit none.service.")}},
		{"a unit that the host has", []tt.Change{running("chrony.service", state.UnitReport{Exists: true, Enabled: "disabled"})}, nil},
		{"a unit that cannot be enabled", []tt.Change{running("chrony.service", state.UnitReport{Exists: true, Enabled: "static"})}, [][]string{
			refused("Units", w1, "the unit chrony.service cannot be enabled: its file has no section [Install]",
				"leave enabled out, and enable what starts it, such as its timer; or add a drop_in with [Install] and WantedBy=multi-user.target"),
		}},
		{"a unit that was only there by another configuration", []tt.Change{running("chrony.service", state.UnitReport{Exists: true, Enabled: "disabled"}), tt.Host(tt.W(1), func(r *state.Report) {
			r.Marks = &state.Marks{Settings: map[string]string{"unit:chrony.service": ""}}
		})}, [][]string{refused("Units", w1, "systemd has no unit chrony.service.")}},
		{"a sysctl of a module that is loaded first", []tt.Change{sysctls("net.bridge.bridge-nf-filter-vlan-tagged", "1"), tt.Cluster(func(c *config.Cluster) {
			c.KernelModules = []string{"br_netfilter"}
		})}, nil},
		{"a sysctl of a module that is not listed", []tt.Change{sysctls("net.bridge.bridge-nf-filter-vlan-tagged", "1")}, [][]string{
			refused("Sysctls", w1, "add br_netfilter to kernel_modules"),
		}},
	})
}

// TestPreflightChecksSoftware checks what is said of the software, the files and the network of hosts.
func TestPreflightChecksSoftware(t *testing.T) {
	t.Parallel()
	const cp1, w1 = `node.cp["cp1"] (10.0.0.11): `, `node.worker["w1"] (10.0.1.11): `
	kubelet := func(version string) tt.Change {
		return facts(tt.W(1), func(f *state.Facts) { f.KubeletVersion = version })
	}
	sockets := func(list ...string) tt.Change {
		return facts(tt.W(1), func(f *state.Facts) {
			f.CRISocket, f.CRISockets = "", list
			if len(list) == 1 {
				f.CRISocket = list[0]
			}
		})
	}
	check(t, []situation{
		{"no kubelet", []tt.Change{kubelet("")}, [][]string{refused("KubeletVersion", w1+"there is no kubelet.", "install the kubelet 1.36.3")}},
		{"a newer kubelet", []tt.Change{kubelet("1.37.1")}, [][]string{refused("KubeletVersion", "the kubelet is 1.37.1, which does not fit a control plane of 1.36.3")}},
		{"a kubelet three minor versions behind", []tt.Change{kubelet("1.33.9")}, nil},
		{"a kubelet four minor versions behind", []tt.Change{kubelet("1.32.9")}, [][]string{refused("KubeletVersion", "the kubelet is 1.32.9")}},
		{"a kubelet without its unit", []tt.Change{tt.Host(tt.W(1), func(r *state.Report) { r.Units[topology.KubeletUnit] = state.UnitReport{} })}, [][]string{refused("Service-kubelet", "there is a kubelet but no kubelet.service")}},
		{"no runtime", []tt.Change{sockets()}, [][]string{refused("CRI", "no container runtime answers")}},
		{"two runtimes", []tt.Change{sockets("unix:///run/containerd/containerd.sock", "unix:///run/crio/crio.sock")}, [][]string{refused("CRI", "there is more than one container runtime: unix:///run/containerd/containerd.sock, unix:///run/crio/crio.sock.")}},
		{"containerd without the CRI", []tt.Change{answers(tt.W(1), "cri", "disabled")}, [][]string{refused("CRI", "its CRI plugin is disabled, as in Docker's package")}},
		{"an old containerd", []tt.Change{facts(tt.W(1), func(f *state.Facts) { f.RuntimeVersion = "1.7.28" })}, [][]string{warned("ContainerRuntimeVersion", "containerd is 1.7.28")}},
		{"a new containerd", []tt.Change{facts(tt.W(1), func(f *state.Facts) { f.RuntimeVersion = "2.1.4" })}, nil},
		{"a missing command", []tt.Change{tt.Host(tt.W(1), func(r *state.Report) { r.Commands = map[string]bool{"mount": false, "cp": true} })}, [][]string{refused("FileExisting-mount", "mount is not in root's PATH")}},
		{"the kubelet's port is in use", []tt.Change{ports(tt.W(1), 10250)}, [][]string{refused("Port-10250", w1+"port 10250 is in use")}},
		{"the API server's port is in use", []tt.Change{ports(tt.CP(1), 6443, 80)}, [][]string{refused("Port-6443", cp1+"port 6443 is in use")}},
		{"the API server's port is in use on a worker", []tt.Change{ports(tt.W(1), 6443)}, nil},
		{"another port of the API server", []tt.Change{tt.Cluster(func(c *config.Cluster) { c.BindPort = 8443 }), ports(tt.CP(1), 6443, 8443)}, [][]string{refused("Port-8443")}},
		{"the data folder of etcd is not empty", []tt.Change{path(tt.CP(1), "/var/lib/etcd", state.FileReport{Exists: true, Type: "directory", Entries: 1})}, [][]string{refused("DirAvailable--var-lib-etcd", "/var/lib/etcd is not empty")}},
		{"it is not empty on a worker", []tt.Change{path(tt.W(1), "/var/lib/etcd", state.FileReport{Exists: true, Type: "directory", Entries: 1})}, nil},
		{"a link in the place of a folder", []tt.Change{path(tt.W(1), "/var/lib/kubelet", state.FileReport{Exists: true, Type: "link", Link: "/data/kubelet"})}, [][]string{refused("DirLinks", "/var/lib/kubelet is a link to /data/kubelet")}},
		{"an address that the host does not have", []tt.Change{facts(tt.CP(1), func(f *state.Facts) { f.Addresses = []string{"192.168.0.5"} })}, [][]string{refused("AdvertiseAddress", "10.0.0.11 is not an address of the host, so that etcd cannot listen there; it has 192.168.0.5.")}},
		{"an address that it has", []tt.Change{facts(tt.CP(1), func(f *state.Facts) { f.Addresses = []string{"192.168.0.5", "10.0.0.11"} })}, nil},
		{"a name that no node may have", []tt.Change{facts(tt.W(1), func(f *state.Facts) { f.Hostname = "node_1" })}, [][]string{refused("Hostname", `the host's name "node_1" cannot be the name of a node`)}},
		{"an endpoint that does not resolve", []tt.Change{answers(tt.W(1), "endpoint_addresses", ""), tt.Cluster(func(c *config.Cluster) { c.ControlPlaneEndpoint = "api.example.com" })}, [][]string{refused("ControlPlaneEndpoint", `the host does not resolve "api.example.com", the name of control_plane_endpoint, by which it would reach the API`)}},
		{"an endpoint that is an address", []tt.Change{answers(tt.W(1), "endpoint_addresses", ""), tt.Cluster(func(c *config.Cluster) { c.ControlPlaneEndpoint = "[fd00::1]:6443" })}, nil},
		{"a port that a firewall drops", []tt.Change{answers(tt.W(1), "unreachable", "10.0.0.11:6443")}, [][]string{refused("PeerPorts", w1+"nothing answers on 10.0.0.11:6443, not even that the port is closed")}},
		{"a port of a kubelet", []tt.Change{answers(tt.CP(1), "unreachable", "10.0.1.11:10250")}, [][]string{warned("PeerPorts", cp1+"nothing answers on 10.0.1.11:10250")}},
		{"a port on a host that does not answer", []tt.Change{answers(tt.CP(1), "unreachable", "10.0.1.11:10250"), tt.Down(tt.W(1))}, nil},
		{"an MTU that the network does not carry", []tt.Change{answers(tt.W(1), "path_mtu", "eth0/9000")}, [][]string{warned("PathMTU", w1+"interface eth0 has an MTU of 9000, and a packet of that size does not arrive at 10.0.0.11")}},
		{"a slow disk", []tt.Change{answers(tt.CP(1), "etcd_disk", "1000/38400")}, [][]string{warned("EtcdDisk", cp1+"a flush of the disk below /var/lib/etcd took 38ms on average since the host started (1000 flushes), and etcd wants less than 10ms", "give etcd a faster disk, mounted at /var/lib/etcd")}},
		{"a disk that is fast enough", []tt.Change{answers(tt.CP(1), "etcd_disk", "1000/10000")}, nil},
		{"a disk with few flushes", []tt.Change{answers(tt.CP(1), "etcd_disk", "19/38400")}, nil},
		{"a disk that is not known", []tt.Change{answers(tt.CP(1), "etcd_disk", "")}, nil},
		{"a slow disk of a worker", []tt.Change{answers(tt.W(1), "etcd_disk", "1000/38400")}, nil},
		{"a name that does not resolve", []tt.Change{answers(tt.W(1), "hostname_resolves", "false")}, [][]string{warned("Hostname", `the host does not resolve its own name "w1"`)}},
		{"firewalld", []tt.Change{tt.Host(tt.W(1), func(r *state.Report) { r.Units[preflight.FirewalldUnit] = state.UnitReport{Active: "active"} })}, [][]string{warned("Firewalld", "firewalld is active", "10248, 10250")}},
		{"a proxy", []tt.Change{tt.Cluster(func(c *config.Cluster) {
			c.ProxyEnv = map[string]string{"HTTPS_PROXY": "http://proxy.example.com:3128", "NO_PROXY": "10.96.0.0/12,10.244.0.0/16"}
		})}, [][]string{warned("HTTPProxy", cp1, "reach the API server at 10.0.0.11 through the proxy proxy.example.com:3128")}},
		{"a proxy for services", []tt.Change{tt.Cluster(func(c *config.Cluster) {
			c.ProxyEnv = map[string]string{"HTTPS_PROXY": "http://proxy.example.com:3128", "NO_PROXY": "10.0.0.0/24,10.244.0.0/16"}
		})}, [][]string{warned("HTTPProxyCIDR", "services and pods in 10.96.0.0/12")}},
		{"a volume whose folder is missing", []tt.Change{tt.Cluster(func(c *config.Cluster) {
			c.APIServer.Volumes = []config.Volume{{Name: "audit", HostPath: "/etc/audit/", MountPath: "/audit", PathType: "Directory"}}
		}), path(tt.CP(1), "/etc/audit", state.FileReport{})}, [][]string{refused("HostPath--etc-audit", "there is no /etc/audit, but the volume audit requires one of type Directory")}},
		{"images that are neither there nor pulled", []tt.Change{tt.Cluster(func(c *config.Cluster) { c.ImagePullPolicy, c.KubeProxy.Disabled, c.DNS.Disabled = "Never", true, true }), func(v *topology.Fleet) {
			v.Reports[tt.CP(1)].Images = []string{"registry.k8s.io/kube-apiserver:v1.36.3", "registry.k8s.io/kube-controller-manager:v1.36.3", "registry.k8s.io/pause:3.10.2", "registry.k8s.io/etcd:3.6.8-0"}
			v.Reports[tt.W(1)].Images = []string{"registry.k8s.io/pause:3.10.2"}
		}}, [][]string{refused("ImagePull", cp1, "image_pull_policy is Never: registry.k8s.io/kube-scheduler:v1.36.3.")}},
	})
}

// TestPreflightChecksWhatIsDue checks on which hosts a check runs, and how its finding is reported.
func TestPreflightChecksWhatIsDue(t *testing.T) {
	t.Parallel()
	weak := func(f *state.Facts) { f.CPUs = 1 }
	late := func(f *state.Facts) { f.ClockOffset = time.Hour }
	ignore := func(names ...string) tt.Change {
		return tt.Cluster(func(c *config.Cluster) { c.IgnorePreflightErrors = names })
	}
	for _, c := range []struct {
		name  string
		fleet *topology.Fleet
		want  [][]string
	}{
		{"two hosts with one finding", tt.Blank(3, 0, facts(tt.CP(1), weak), facts(tt.CP(3), weak)), [][]string{refused("NumCPU", `node.cp["cp1"] (10.0.0.11), node.cp["cp3"] (10.0.0.13): there is 1 CPU`)}},
		{"the check is ignored", tt.Blank(1, 0, facts(tt.CP(1), weak), ignore("numcpu")), [][]string{warned("NumCPU", "The configuration ignores this check. To do: give the host another CPU.")}},
		{"all checks are ignored", tt.Blank(1, 0, facts(tt.CP(1), weak), ignore("all")), [][]string{warned("NumCPU", "The configuration ignores this check.")}},
		{"another check is ignored", tt.Blank(1, 0, facts(tt.CP(1), weak), ignore("Mem")), [][]string{refused("NumCPU")}},
		{"the phase is skipped", tt.Blank(1, 0, facts(tt.CP(1), weak), tt.Cluster(func(c *config.Cluster) { c.SkipPhases = []string{"preflight"} })), nil},
		{"the phase is skipped this time", tt.Blank(1, 0, facts(tt.CP(1), weak), func(v *topology.Fleet) { v.Skipped = []string{"preflight"} }), nil},
		{"a running node", tt.Running(1, 0, facts(tt.CP(1), weak)), nil},
		{"the clock of a running node", tt.Running(1, 0, facts(tt.CP(1), late)), [][]string{refused("Clock", "the clock is 1h0m0s ahead")}},
		{"a worker becomes a control plane", tt.Running(1, 1, facts(tt.W(1), weak), func(v *topology.Fleet) { v.Config.Nodes[1].Role = config.ControlPlane }), [][]string{refused("NumCPU", `node.worker["w1"]`)}},
		{"a host that does not answer", tt.Blank(1, 0, facts(tt.CP(1), weak), tt.Down(tt.CP(1))), nil},
		{"the cluster is destroyed", tt.Blank(1, 0, facts(tt.CP(1), weak), func(v *topology.Fleet) { v.Destroy = true }), nil},
		{"two addresses of one host", tt.Blank(1, 1, facts(tt.W(1), func(f *state.Facts) { f.MachineID = "cp1" })), [][]string{
			{"error: Two nodes share one host", `node.cp["cp1"] (10.0.0.11) and node.worker["w1"] (10.0.1.11) have the same machine id cp1`},
		}},
		{"two hosts with one name", tt.Blank(1, 1, facts(tt.W(1), func(f *state.Facts) { f.Hostname = "cp1" })), [][]string{{"error: Two nodes have the same name", `would both be node "cp1" in Kubernetes`}}},
		{"two addresses of one host while the phase is skipped", tt.Blank(1, 1, facts(tt.W(1), func(f *state.Facts) { f.MachineID = "cp1" }), func(v *topology.Fleet) { v.Skipped = []string{"preflight"} }), [][]string{{"error: Two nodes share one host"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, preflight.Preflight(c.fleet), c.want...)
		})
	}
}

// TestUnwritableChecksWrittenHosts checks that a running host without space is refused if the plan
// writes to it, and that a plan warns of it otherwise.
func TestUnwritableChecksWrittenHosts(t *testing.T) {
	t.Parallel()
	full := answers(tt.W(1), "var_lib_free_kib", "0")
	writes := func(t state.Target, phase string) *planner.Plan {
		return &planner.Plan{Steps: []planner.Step{{Target: t, Phase: phase, Operations: planner.Operations{planner.WriteFile{Path: "/etc/x"}}}}}
	}
	for _, c := range []struct {
		name    string
		changes []tt.Change
		plan    *planner.Plan
		want    [][]string
	}{
		{"enough space", nil, writes(tt.W(1), topology.PreparePhase), nil},
		{"the plan writes to the host", []tt.Change{full}, writes(tt.W(1), topology.PreparePhase), [][]string{refused("DiskSpace", `node.worker["w1"]`)}},
		{"it writes to another host", []tt.Change{full}, writes(tt.CP(1), topology.PreparePhase), [][]string{warned("DiskSpace")}},
		{"it resets the host", []tt.Change{full}, writes(tt.W(1), topology.ResetPhase), [][]string{warned("DiskSpace")}},
		{"there is no plan", []tt.Change{full}, nil, [][]string{warned("DiskSpace")}},
		{"the check is ignored and nothing is written", []tt.Change{full, tt.Cluster(func(c *config.Cluster) { c.IgnorePreflightErrors = []string{"DiskSpace"} })}, nil, nil},
		{"a blank host", []tt.Change{full, tt.Wiped(tt.W(1))}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, preflight.Unwritable(tt.Running(1, 1, c.changes...), c.plan), c.want...)
		})
	}
}
