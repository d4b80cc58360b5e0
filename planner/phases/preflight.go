package phases

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// finding is one result of a preflight check, by kubeadm's name of the check.
type finding struct {
	check   string
	text    string
	remedy  string
	warning bool
}

// requiredCommands are looked up on every host (kubeadm's FileExisting checks).
var requiredCommands = []string{"losetup", "mount", "cp"}

// The ports that must be free on a host that joins.
var (
	workerPorts       = []int{10250}
	controlPlanePorts = []int{10257, 10259, 2379, 2380}
)

// preflight checks every host that is to join, and gives all findings of all
// hosts at once. A check is left out by name with ignore_preflight_errors;
// its findings are then warnings.
func (v *View) preflight() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		for _, n := range c.nodes {
			if n.report == nil {
				continue
			}
			for _, f := range n.findings() {
				diags = append(diags, n.diagnose(f))
			}
		}
		diags = append(diags, c.duplicates()...)
	}
	return diags
}

func (n *node) findings() []finding {
	found := n.everTrue()
	if n.report.Marks == nil && blank(n.report) {
		found = append(found, n.virgin()...)
	}
	return found
}

// everTrue are checks that hold on a host at any time.
func (n *node) everTrue() []finding {
	var out []finding
	f := n.facts()
	if !f.Systemd {
		out = append(out, finding{check: "InitSystem", text: "PID 1 is not systemd", remedy: "kubewright starts the kubelet as a systemd unit; take a host with systemd"})
	}
	out = append(out, n.softwareFindings()...)
	out = append(out, n.architecture()...)
	if off := f.ClockOffset.Abs(); off > time.Minute {
		out = append(out, finding{check: "Clock", text: fmt.Sprintf("the clock differs by %s from this machine's", off.Round(time.Second)), remedy: "set up time synchronisation: certificates would not be valid yet, or not any more"})
	} else if off > 2*time.Second {
		out = append(out, finding{check: "Clock", warning: true, text: fmt.Sprintf("the clock differs by %s from this machine's", off.Round(100*time.Millisecond)), remedy: "set up time synchronisation"})
	}
	return out
}

// architectures are those that Kubernetes is released for.
var architectures = []string{"amd64", "arm64", "ppc64le", "s390x"}

// architecture checks that there is a Kubernetes for the machine.
func (n *node) architecture() []finding {
	arch := n.facts().Arch
	if arch == "" || slices.Contains(architectures, arch) {
		return nil
	}
	return []finding{{
		check: "Architecture", text: fmt.Sprintf("the machine is %s, for which there is no release of Kubernetes", arch),
		remedy: "take a machine that is one of " + strings.Join(architectures, ", "),
	}}
}

// minFree is the space below which not even the images fit: etcd would stop
// with NOSPACE, the kubelet would evict what it starts.
const minFree = 256 << 20

// machine checks what the host answered to the questions of preflight.
func (n *node) machine() []finding {
	var out []finding
	p := n.report.Preflight
	if kib, err := strconv.ParseInt(p["var_lib_free_kib"], 10, 64); err == nil && kib<<10 < minFree {
		out = append(out, finding{
			check: "DiskSpace", text: fmt.Sprintf("the disk is full: %d MiB are free below /var/lib, at least %d are needed", kib>>10, minFree>>20),
			remedy: "make room (du -xsh /var/lib/* shows what takes it), or give the host a larger disk",
		})
	}
	if p["etc_writable"] == "false" {
		out = append(out, finding{check: "DirWritable--etc", text: "/etc cannot be written", remedy: "mount it for writing"})
	}
	if p["hostname_resolves"] == "false" {
		out = append(out, finding{
			check: "Hostname", warning: true, text: fmt.Sprintf("the host does not know its own name %q", n.facts().Hostname),
			remedy: "add it to /etc/hosts or to the name server",
		})
	}
	if p["firewalld"] == "active" {
		out = append(out, finding{
			check: "Firewalld", warning: true, text: "firewalld is active, which may keep nodes from one another",
			remedy: "open the ports of Kubernetes and of the network addon between the nodes, or stop firewalld",
		})
	}
	return out
}

// kubeletSkew checks the kubelet against the control plane: not newer, and at
// most three minors older.
func (n *node) kubeletSkew(version string) []finding {
	have, want := minorNumber(version), minorNumber(n.cluster.KubernetesVersion)
	if have > want || have < want-3 {
		return []finding{{
			check: "KubeletVersion", text: fmt.Sprintf("the kubelet is %s, which does not go with a control plane of %s", version, n.cluster.KubernetesVersion),
			remedy: "install the kubelet " + n.cluster.KubernetesVersion,
		}}
	}
	return nil
}

func minorNumber(version string) int {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 {
		return 0
	}
	m, _ := strconv.Atoi(parts[1])
	return m
}

// virgin are checks that make sense only before the first change of a host.
func (n *node) virgin() []finding {
	var out []finding
	f := n.facts()
	if n.isControlPlane() {
		if f.CPUs > 0 && f.CPUs < 2 {
			out = append(out, finding{check: "NumCPU", text: fmt.Sprintf("there is %d CPU, a control plane needs 2", f.CPUs), remedy: "give the host another CPU"})
		}
		if mb := f.MemoryBytes / 1024 / 1024; mb > 0 && mb < 1700 {
			out = append(out, finding{check: "Mem", text: fmt.Sprintf("there are %d MB of memory, a control plane needs 1700", mb), remedy: "give the host more memory"})
		}
	}
	for _, c := range requiredCommands {
		if present, asked := n.report.Commands[c]; asked && !present {
			out = append(out, finding{check: "FileExisting-" + c, text: c + " is not on the path", remedy: "install the package that has " + c})
		}
	}
	out = append(out, n.unpackFindings()...)
	out = append(out, n.busyPorts()...)
	out = append(out, n.machine()...)
	if !f.CgroupV2 && minorNumber(n.cluster.KubernetesVersion) >= 35 && !n.cgroupV1Allowed() {
		out = append(out, finding{
			check: "SystemVerification", text: "the host runs cgroup v1, which the kubelet refuses from 1.35 on",
			remedy: "boot with cgroup v2, or set failCgroupV1 = false in the kubelet's config",
		})
	}
	return out
}

func (n *node) cgroupV1Allowed() bool {
	for _, cfg := range []state.Value{n.Kubelet.Config, n.cluster.Kubelet.Config} {
		if v := cfg.Get("failCgroupV1"); v.Kind() == state.KindBool {
			return !v.AsBool()
		}
	}
	return false
}

func (n *node) busyPorts() []finding {
	ports := slices.Clone(workerPorts)
	if n.isControlPlane() {
		ports = append(ports, n.cluster.BindPort)
		ports = append(ports, controlPlanePorts...)
	}
	sort.Ints(ports)
	var out []finding
	for _, p := range ports {
		if n.report.Ports[p] {
			out = append(out, finding{check: fmt.Sprintf("Port-%d", p), text: fmt.Sprintf("port %d is in use", p), remedy: fmt.Sprintf("see with ss -ltnp 'sport = :%d' who listens there", p)})
		}
	}
	return out
}

func (n *node) diagnose(f finding) *diag.Diagnostic {
	d := &diag.Diagnostic{Severity: diag.Error, Summary: "Host is not ready for Kubernetes", Address: n.target.String(), Subject: n.Source}
	d.Detail = fmt.Sprintf("%s (%s): %s.", n.target, n.Address, f.text)
	if f.warning || n.ignores(f.check) {
		d.Severity = diag.Warning
		d.Detail += " To do: " + f.remedy + "."
		return d
	}
	d.Detail += fmt.Sprintf(" Nothing is changed on any host.\n\nTo do: %s. To go on all the same: ignore_preflight_errors = [%q].", f.remedy, f.check)
	return d
}

func (n *node) ignores(check string) bool {
	for _, list := range [][]string{n.IgnorePreflightErrors, n.cluster.IgnorePreflightErrors} {
		for _, name := range list {
			if strings.EqualFold(name, check) || strings.EqualFold(name, "all") {
				return true
			}
		}
	}
	return false
}

// duplicates finds two blocks that reach the same host, and two hosts with one name.
func (c *cluster) duplicates() diag.Diagnostics {
	var diags diag.Diagnostics
	machines, names := map[string]*node{}, map[string]*node{}
	for _, n := range c.nodes {
		if n.report == nil {
			continue
		}
		if o := machines[n.facts().MachineID]; o != nil && n.facts().MachineID != "" {
			diags = append(diags, diag.Errorf("Two nodes are one host", "%s and %s have the same machine id %s: "+
				"either two addresses lead to one host, or a host was cloned without a new /etc/machine-id.", o.target, n.target, n.facts().MachineID).At(n.Source))
		}
		if o := names[n.name]; o != nil {
			diags = append(diags, diag.Errorf("Two nodes have one name", "%s and %s would both be node %q in Kubernetes. "+
				"Give one of the hosts another name, or set name in its node block.", o.target, n.target, n.name).At(n.Source))
		}
		machines[n.facts().MachineID], names[n.name] = n, n
	}
	return diags
}
