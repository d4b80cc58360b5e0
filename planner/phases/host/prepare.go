package host

import (
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Prepare writes kubewright's marker to the host, which records the previous settings, and then the
// kernel settings that Kubernetes needs.
var Prepare = topology.Phase{
	Name: topology.PreparePhase,
	// Another program may need a module by now, and swap does not matter where the kubelet runs
	// with it. A reset restores the kernel's settings.
	Retains: func(class string) bool { return class == "module" || class == "swap" },
	NodeItems: func(n *topology.Node) []state.Item {
		items := []state.Item{MarkItem(n)}
		items = append(items, sysctlItems(n)...)
		items = append(items, moduleItems(n)...)
		items = append(items, unitItems(n)...)
		items = append(items, etcdFolderItems(n)...)
		if !swapAllowed(n) {
			items = append(items, state.Item{Address: topology.ItemAddress(n.Target, topology.PreparePhase, "swap", "all"), Kind: state.KindSwap, Attributes: topology.Attributes("on", false, "at_boot", false)})
		}
		return items
	},
	NodeStep: func(n *topology.Node, w topology.PhaseWork) planner.Step {
		if w.Empty() {
			return planner.Step{}
		}
		marker := mark(n)
		ops := []planner.Operation{marker}
		for _, c := range w.Changes {
			switch c.Kind {
			case state.KindSysctl:
				ops = append(ops, sysctlOperation(marker.Marks, w, c)...)
			case state.KindModule:
				ops = append(ops, planner.LoadModule{Module: c.Address.ID()})
			case state.KindSwap:
				ops = append(ops, swapOff(n))
			}
		}
		ops = append(ops, etcdFolderOperations(marker.Marks, w)...)
		own := w
		own.Changes = slices.DeleteFunc(slices.Clone(w.Changes), func(c planner.Change) bool { return UnitOfPath(c.Address.ID()) != "" })
		ops = append(ops, FileOperations(own)...)
		units, restarts := unitOperations(n, marker.Marks, w)
		ops = append(ops, units...)
		if last, some := withdrawn(marker, w); some {
			ops = append(ops, last)
		}
		s := planner.Step{Operations: ops}
		if len(restarts) > 0 {
			s.Impact = "restarts " + strings.Join(restarts, ", ") + " here"
		}
		return s
	},
}

// OwnFolder is the folder on hosts that holds our marker.
const OwnFolder = "/var/lib/kubewright"

// MarkItem returns the host's marker as an item.
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

// families reports which IP families the cluster's addresses have.
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

// markFoldersOfRole records in the marker folders that only the node's role needs: a first marker
// that was written for a worker does not cover the folders of a control plane. An etcd folder that
// has data already is ours, from an interrupted join.
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
	markEtcdFolder(n, m)
	for _, p := range pki.PKIFoldersAround(n) {
		if missing(p) {
			m.Before[BeforeFolder+p] = folderBefore(n, p)
		}
	}
}

// folderBefore returns what the marker records of a folder around certificates: its mode and owner,
// or "" for one that did not exist, which a reset removes.
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

// swapOff turns swap off, and keeps it off at the next boot: otherwise the kubelet would not start.
func swapOff(n *topology.Node) planner.Swap {
	if n.Report != nil && n.Report.Facts.SwapAtBoot {
		return planner.Swap{Boot: planner.SwapStaysOff}
	}
	return planner.Swap{}
}

// markSwapAtBoot records in the marker what swapOff masks. It may extend an earlier marker: a swap
// device may be added to fstab later.
func markSwapAtBoot(n *topology.Node, m *state.Marks) {
	if m.Before != nil && n.Report.Facts.SwapAtBoot && !swapAllowed(n) {
		m.Before[BeforeSwapAtBoot] = "on"
	}
}

// Keys of swap in Marks.Before.
const (
	BeforeSwap       = "swap"
	BeforeSwapAtBoot = "swap_at_boot"
)

// FoldersBefore returns the folders that the marker of a node covers: with etcd's data folder where
// it is not the default one, which may well be the mount point of its own disk.
func FoldersBefore(n *topology.Node) []string {
	if dir := n.EtcdFolder(); dir != "" && !slices.Contains(topology.FoldersBefore, dir) {
		return append(slices.Clone(topology.FoldersBefore), dir)
	}
	return topology.FoldersBefore
}

const LogindFile = topology.LogindFolder + "/99-kubelet.conf"

// SysctlsOfOthers are set by the kubelet (pkg/kubelet/cm, unless protectKernelDefaults) and by
// kube-proxy (pkg/proxy/conntrack, iptables and ipvs: each mode sets some of them, depending on its
// configuration). A reset restores them as well. A kernel need not have all of them.
var SysctlsOfOthers = []string{
	"kernel.panic", "kernel.panic_on_oops", "vm.overcommit_memory", "vm.panic_on_oom",
	"kernel.keys.root_maxkeys", "kernel.keys.root_maxbytes",
	"net.ipv4.conf.all.route_localnet", "net.netfilter.nf_conntrack_max",
	"net.netfilter.nf_conntrack_tcp_timeout_established", "net.netfilter.nf_conntrack_tcp_timeout_close_wait",
	"net.netfilter.nf_conntrack_tcp_be_liberal", "net.netfilter.nf_conntrack_udp_timeout", "net.netfilter.nf_conntrack_udp_timeout_stream",
	"net.ipv4.ip_forward", "net.ipv4.conf.all.arp_ignore", "net.ipv4.conf.all.arp_announce",
	"net.ipv4.vs.conntrack", "net.ipv4.vs.conn_reuse_mode", "net.ipv4.vs.expire_nodest_conn", "net.ipv4.vs.expire_quiescent_template",
}

// mark writes the marker. On a host that is part of the cluster already it also records the
// cluster's CA.
func mark(n *topology.Node) planner.Mark {
	if n.Joins() {
		return planner.Mark{Marks: marks(n)}
	}
	return MarkCA(n, "")
}

// MarkCA writes the marker, and records in it the cluster CA that the host holds at that moment. A
// former CA that was replaced is added to the marker's list.
func MarkCA(n *topology.Node, former string) planner.Mark {
	m := marks(n)
	if former != "" {
		m.FormerCAs = pki.AppendNew(m.FormerCAs, former)
	}
	return planner.Mark{Marks: m, CA: n.Cluster.CAFile()}
}

// MarksCA reports whether the kubelet's step has to record the cluster's CA in the marker: it is
// missing there, or this plan replaces the CA.
func MarksCA(n *topology.Node) bool {
	_, replaced := n.Cluster.AtOnce[n.Cluster.CABase()]
	return replaced || n.Report.Marks == nil || n.Report.Marks.ClusterCA == ""
}

// marks returns the content of the host's marker. The previous settings are recorded once and kept
// by later markers.
func marks(n *topology.Node) state.Marks {
	m := state.Marks{Format: state.MarksFormat, Cluster: n.Node.Cluster, Node: n.Target, Founder: n.IsFounder()}
	if n.Report == nil {
		return m
	}
	// An interrupted run may have written only its token.
	if old := n.Report.Marks; old != nil && old.Format > 0 {
		m.Before, m.Owned, m.Founder = maps.Clone(old.Before), slices.Clone(old.Owned), old.Founder || m.Founder
		m.ClusterCA, m.FormerCAs, m.Settings = old.ClusterCA, slices.Clone(old.FormerCAs), maps.Clone(old.Settings)
		markSettings(n, &m)
		markSwapAtBoot(n, &m)
		markModules(n, &m)
		markFoldersOfRole(n, &m)
		markHostFiles(n, &m)
		markSoftware(n, &m)
		return m
	}
	m.Before = map[string]string{}
	for _, p := range FoldersBefore(n) {
		if pki.Adoption(n) != nil && (slices.Contains(topology.FoldersOfKubernetes, p) || p == n.EtcdFolder()) {
			continue // part of the adopted cluster, not what was there before it
		}
		if f := n.Report.Files[p]; f.Exists {
			m.Before["folder:"+p] = f.Mode + " " + f.Owner
		}
	}
	markEtcdFolder(n, &m)
	for _, p := range pki.PKIFoldersAround(n) {
		m.Before[BeforeFolder+p] = folderBefore(n, p)
	}
	m.Before[BeforeEntries+topology.CNIConfigs] = strings.Join(CNIEntries(n.Report), "/")
	markSettings(n, &m)
	for name, value := range n.Report.Sysctls {
		if _, own := m.Settings[settingSysctl+name]; !own || slices.Contains(SysctlsOfOthers, name) {
			m.Before["sysctl:"+name] = value
		}
	}
	if n.Report.Facts.Swap {
		m.Before[BeforeSwap] = "on"
	}
	markSwapAtBoot(n, &m)
	markModules(n, &m)
	markHostFiles(n, &m)
	m.Before["unit:"+topology.KubeletUnit] = n.Report.Units[topology.KubeletUnit].Enabled + " " + KubeletActive(n.Report)
	markSoftware(n, &m)
	return m
}

// KubeletFlag returns a boolean of the kubelet's configuration; the node's setting overrides the
// cluster's. As with the kubelet itself, an argument overrides the file, and the last one of
// several wins.
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

// RestoreFolder restores the mode and owner that a folder had before. If a link stood there, the
// marker has the mode of the link, and the folder's own mode is unknown.
func RestoreFolder(before map[string]string, p string) []planner.Operation {
	mode, owner, was := strings.Cut(before[BeforeFolder+p], " ")
	if !was || mode == modeOfLinks {
		return nil
	}
	return []planner.Operation{planner.EnsureDirectory{Path: p, Mode: mode, Owner: owner}}
}

// modeOfLinks is the mode that every symbolic link has, and no folder of Kubernetes.
const modeOfLinks = "0777"

// SkipsPhase reports whether skip_phases of the node, or of its cluster, lists a phase.
func SkipsPhase(n *topology.Node, phase string) bool { return n.Skips(phase) || n.Cluster.Skips(phase) }

// anyItem is the Retains function of phases that drop items without deleting them.
func anyItem(string) bool { return true }

func SortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
