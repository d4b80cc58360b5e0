package host

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Prepare puts kubewright's mark on the host, which remembers what was there
// before, and then the kernel settings that Kubernetes needs.
var Prepare = topology.Phase{
	Name: topology.PreparePhase,
	// Something else may need a module by now; swap is nobody's affair where the kubelet
	// runs with it. A reset puts the kernel back.
	Retains: func(class string) bool { return class == "module" || class == "swap" },
	NodeItems: func(n *topology.Node) []state.Item {
		items := []state.Item{MarkItem(n)}
		for _, name := range forwarding(n) {
			items = append(items, state.Item{Address: topology.ItemAddress(n.Target, topology.PreparePhase, "sysctl", name), Kind: state.KindSysctl, Attributes: topology.Attributes("value", "1")})
		}
		items = append(items, FileItem(n, topology.PreparePhase, state.KindFile, SysctlFile, "0644", sysctlContent))
		items = append(items, moduleItems(n)...)
		if !swapAllowed(n) {
			items = append(items, state.Item{Address: topology.ItemAddress(n.Target, topology.PreparePhase, "swap", "all"), Kind: state.KindSwap, Attributes: topology.Attributes("on", false, "at_boot", false)})
		}
		return items
	},
	NodeStep: func(n *topology.Node, w topology.PhaseWork) planner.Step {
		if w.Empty() {
			return planner.Step{}
		}
		ops := []planner.Operation{mark(n)}
		for _, c := range w.Changes {
			switch c.Kind {
			case state.KindSysctl:
				ops = append(ops, planner.SetSysctl{Name: c.Address.ID(), Value: "1"})
			case state.KindModule:
				ops = append(ops, planner.LoadModule{Module: c.Address.ID()})
			case state.KindSwap:
				ops = append(ops, swapOff(n))
			}
		}
		return planner.Step{Operations: append(ops, FileOperations(w)...)}
	},
}

// OwnFolder is where hosts keep our mark.
const OwnFolder = "/var/lib/kubewright"

// MarkItem is our mark on the host.
func MarkItem(n *topology.Node) state.Item {
	return state.Item{
		Address: topology.ItemAddress(n.Target, topology.PreparePhase, "mark", "kubewright"), Kind: state.KindMark,
		Attributes: topology.Attributes("cluster", n.Node.Cluster, "node", n.Target.String()),
	}
}

const SysctlFile = "/etc/sysctl.d/99-kubewright.conf"

// forwarding returns the sysctls that kubeadm's preflight demands, by family.
func forwarding(n *topology.Node) []string {
	var names []string
	v4, v6 := families(n)
	if v4 {
		names = append(names, "net.ipv4.ip_forward")
	}
	if v6 {
		names = append(names, "net.ipv6.conf.default.forwarding", "net.ipv6.conf.all.forwarding")
	}
	return names
}

// families tells which IP families the cluster's addresses have.
func families(n *topology.Node) (v4, v6 bool) {
	c := n.Cluster
	for _, list := range []string{c.Network.ServiceSubnet, c.Network.PodSubnet, n.AdvertiseAddress()} {
		for _, s := range strings.Split(list, ",") {
			ip, _, err := net.ParseCIDR(strings.TrimSpace(s))
			if err != nil {
				ip = net.ParseIP(s)
			}
			switch {
			case ip == nil:
			case ip.To4() != nil:
				v4 = true
			default:
				v6 = true
			}
		}
	}
	return v4, v6
}

func sysctlContent(n *topology.Node) []byte {
	var b strings.Builder
	b.WriteString("# written by kubewright: Kubernetes forwards packets between pods\n")
	for _, name := range forwarding(n) {
		fmt.Fprintf(&b, "%s = 1\n", name)
	}
	return []byte(b.String())
}

// ModulesFile has systemd load modules at each boot: modules-load.d(5).
const ModulesFile = "/etc/modules-load.d/kubewright.conf"

// moduleItems returns the kernel modules of the configuration.
func moduleItems(n *topology.Node) []state.Item {
	if len(n.Cluster.KernelModules) == 0 {
		return nil
	}
	from := map[string]state.Source{"": provenance.ClusterOrigin(n.Cluster, "kernel_modules")}
	list := FileItem(n, topology.PreparePhase, state.KindFile, ModulesFile, "0644", modulesContent)
	list.Origin = from
	items := []state.Item{list}
	for _, name := range n.Cluster.KernelModules {
		items = append(items, state.Item{Address: topology.ItemAddress(n.Target, topology.PreparePhase, "module", name), Kind: state.KindModule, Attributes: topology.Attributes("loaded", true), Origin: from})
	}
	return items
}

func modulesContent(n *topology.Node) []byte {
	return []byte("# written by kubewright: kernel_modules of the cluster\n" + strings.Join(n.Cluster.KernelModules, "\n") + "\n")
}

// BeforeModule in Marks.Before tells of a module whether it was loaded.
const BeforeModule = "module:"

// markModules has the mark remember which modules were loaded before us. It may come
// later than the first mark: with a module that is listed later.
func markModules(n *topology.Node, m *state.Marks) {
	if m.Before == nil {
		return
	}
	for _, name := range n.Cluster.KernelModules {
		if _, known := m.Before[BeforeModule+name]; known {
			continue
		}
		m.Before[BeforeModule+name] = ""
		if n.Report.Modules[name] {
			m.Before[BeforeModule+name] = "loaded"
		}
	}
}

// markFoldersOfRole has the mark of a host remember folders that only the node's role
// brings: the first mark may be of a worker, and did not look at those of a control plane.
// Where etcd has data already it is ours, of a join that was cut short.
func markFoldersOfRole(n *topology.Node, m *state.Marks) {
	if m.Before == nil || !n.Joins() {
		return
	}
	missing := func(p string) bool {
		_, known := m.Before[BeforeFolder+p]
		return !known && !slices.Contains(topology.FoldersBefore, p)
	}
	if dir := n.EtcdFolder(); dir != "" && missing(dir) && n.Report.Files[dir].Exists && !n.Report.Files[n.EtcdData()].Exists {
		m.Before[BeforeFolder+dir] = folderBefore(n, dir)
	}
	for _, p := range pki.PKIFoldersAround(n) {
		if missing(p) {
			m.Before[BeforeFolder+p] = folderBefore(n, p)
		}
	}
}

// folderBefore returns what the mark remembers of a folder around certificates: its mode and
// owner, and nothing of one that was not there, which is ours to take away.
func folderBefore(n *topology.Node, p string) string {
	if f := n.Report.Files[p]; f.Exists {
		return f.Mode + " " + f.Owner
	}
	return ""
}

// swapAllowed reports whether the kubelet is configured to run with swap.
func swapAllowed(n *topology.Node) bool {
	fails, set := KubeletFlag(n, "failSwapOn")
	return set && !fails
}

// swapOff turns swap off, and keeps it off where a boot would turn it on: the
// kubelet would not start then.
func swapOff(n *topology.Node) planner.Swap {
	if n.Report != nil && n.Report.Facts.SwapAtBoot {
		return planner.Swap{Boot: planner.SwapStaysOff}
	}
	return planner.Swap{}
}

// markSwapAtBoot has the mark remember what swapOff masks. It may come later than
// the first mark: fstab gets a swap device when somebody adds one.
func markSwapAtBoot(n *topology.Node, m *state.Marks) {
	if m.Before != nil && n.Report.Facts.SwapAtBoot && !swapAllowed(n) {
		m.Before[BeforeSwapAtBoot] = "on"
	}
}

// What a mark remembers of swap.
const (
	BeforeSwap       = "swap"
	BeforeSwapAtBoot = "swap_at_boot"
)

// FoldersBefore returns those of one node: with a folder of etcd's that has another place, and
// that may well be the mount point of a disk of its own.
func FoldersBefore(n *topology.Node) []string {
	if dir := n.EtcdFolder(); dir != "" && !slices.Contains(topology.FoldersBefore, dir) {
		return append(slices.Clone(topology.FoldersBefore), dir)
	}
	return topology.FoldersBefore
}

const LogindFile = topology.LogindFolder + "/99-kubelet.conf"

// SysctlsOfOthers are set by the kubelet (pkg/kubelet/cm, unless
// protectKernelDefaults) and by kube-proxy (pkg/proxy/conntrack, iptables and ipvs, of
// which each sets some and by its configuration only); a reset puts them back as well.
// A kernel need not have all of them.
var SysctlsOfOthers = []string{
	"kernel.panic", "kernel.panic_on_oops", "vm.overcommit_memory", "vm.panic_on_oom",
	"kernel.keys.root_maxkeys", "kernel.keys.root_maxbytes",
	"net.ipv4.conf.all.route_localnet", "net.netfilter.nf_conntrack_max",
	"net.netfilter.nf_conntrack_tcp_timeout_established", "net.netfilter.nf_conntrack_tcp_timeout_close_wait",
	"net.netfilter.nf_conntrack_tcp_be_liberal", "net.netfilter.nf_conntrack_udp_timeout", "net.netfilter.nf_conntrack_udp_timeout_stream",
	"net.ipv4.ip_forward", "net.ipv4.conf.all.arp_ignore", "net.ipv4.conf.all.arp_announce",
	"net.ipv4.vs.conntrack", "net.ipv4.vs.conn_reuse_mode", "net.ipv4.vs.expire_nodest_conn", "net.ipv4.vs.expire_quiescent_template",
}

// mark writes the mark. On a host that is part of the cluster already it is to say
// by which CA.
func mark(n *topology.Node) planner.Mark {
	if n.Joins() {
		return planner.Mark{Marks: marks(n)}
	}
	return MarkCA(n, "")
}

// MarkCA writes the mark, and has it say by which CA the host is part of the
// cluster: by the one that it holds then, and that has taken the former one's place.
func MarkCA(n *topology.Node, former string) planner.Mark {
	m := marks(n)
	if former != "" {
		m.FormerCAs = pki.AppendNew(m.FormerCAs, former)
	}
	return planner.Mark{Marks: m, CA: n.Cluster.CAFile()}
}

// MarksCA reports whether the kubelet's step has to have the mark say by which CA the
// host is part of the cluster: it does not say so yet, or is about to be wrong.
func MarksCA(n *topology.Node) bool {
	_, replaced := n.Cluster.AtOnce[n.Cluster.CABase()]
	return replaced || n.Report.Marks == nil || n.Report.Marks.ClusterCA == ""
}

// marks returns what the host is to remember. What was there before is written
// once and kept by later marks.
func marks(n *topology.Node) state.Marks {
	m := state.Marks{Format: state.MarksFormat, Cluster: n.Node.Cluster, Node: n.Target, Founder: n.IsFounder()}
	if n.Report == nil {
		return m
	}
	// A run that was cut short may have left its token alone.
	if old := n.Report.Marks; old != nil && old.Format > 0 {
		m.Before, m.Owned, m.Founder = maps.Clone(old.Before), slices.Clone(old.Owned), old.Founder || m.Founder
		m.ClusterCA, m.FormerCAs = old.ClusterCA, slices.Clone(old.FormerCAs)
		markSwapAtBoot(n, &m)
		markModules(n, &m)
		markFoldersOfRole(n, &m)
		markSoftware(n, &m)
		return m
	}
	m.Before = map[string]string{}
	for _, p := range FoldersBefore(n) {
		if pki.Adoption(n) != nil && (slices.Contains(topology.FoldersOfKubernetes, p) || p == n.EtcdFolder()) {
			continue // its own, whoever made it
		}
		if f := n.Report.Files[p]; f.Exists {
			m.Before["folder:"+p] = f.Mode + " " + f.Owner
		}
	}
	for _, p := range pki.PKIFoldersAround(n) {
		m.Before[BeforeFolder+p] = folderBefore(n, p)
	}
	m.Before[BeforeEntries+topology.CNIConfigs] = strings.Join(CNIEntries(n.Report), "/")
	for name, value := range n.Report.Sysctls {
		m.Before["sysctl:"+name] = value
	}
	if n.Report.Facts.Swap {
		m.Before[BeforeSwap] = "on"
	}
	markSwapAtBoot(n, &m)
	markModules(n, &m)
	m.Before["unit:"+topology.KubeletUnit] = n.Report.Units[topology.KubeletUnit].Enabled + " " + KubeletActive(n.Report)
	markSoftware(n, &m)
	return m
}

// KubeletFlag returns a boolean of the kubelet's configuration, the node's before the
// cluster's. An argument counts before what its file says, as with the kubelet, and the
// last one of several.
func KubeletFlag(n *topology.Node, name string) (on, set bool) {
	for _, args := range [][]config.Arg{n.Kubelet.Args, n.Cluster.Kubelet.Args} {
		for _, a := range slices.Backward(args) {
			if strings.EqualFold(strings.ReplaceAll(a.Name, "-", ""), name) { // fail-swap-on, fail-cgroupv1
				on, err := strconv.ParseBool(a.Value)
				return on, err == nil
			}
		}
	}
	for _, cfg := range []state.Value{n.Kubelet.Config, n.Cluster.Kubelet.Config} {
		if v := cfg.Get(name); v.Kind() == state.KindBool {
			return v.AsBool(), true
		}
	}
	return false, false
}

// RestoreFolder gives a folder that was there before us the mode and owner of then. Where a link
// stood the mark has those of the link, and nobody knows the folder's.
func RestoreFolder(before map[string]string, p string) []planner.Operation {
	mode, owner, was := strings.Cut(before[BeforeFolder+p], " ")
	if !was || mode == modeOfLinks {
		return nil
	}
	return []planner.Operation{planner.EnsureDirectory{Path: p, Mode: mode, Owner: owner}}
}

// modeOfLinks is the mode that every symbolic link has, and no folder of Kubernetes.
const modeOfLinks = "0777"

// SkipsPhase reports whether skip_phases of the node, or of its cluster, has a phase.
func SkipsPhase(n *topology.Node, phase string) bool { return n.Skips(phase) || n.Cluster.Skips(phase) }

// anyItem is letsGo of phases that let go of all their items.
func anyItem(string) bool { return true }

func SortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
