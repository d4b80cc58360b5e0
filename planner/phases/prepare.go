package phases

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// prepare puts kubewright's mark on the host, which remembers what was there
// before, and then the kernel settings that Kubernetes needs.
var prepare = phase{
	name: preparePhase,
	// Something else may need a module by now; swap is nobody's affair where the kubelet
	// runs with it. A reset puts the kernel back.
	letsGo: func(class string) bool { return class == "module" || class == "swap" },
	nodeItems: func(n *node) []state.Item {
		items := []state.Item{n.markItem()}
		for _, name := range forwarding(n) {
			items = append(items, state.Item{Address: item(n.target, preparePhase, "sysctl", name), Kind: state.KindSysctl, Attributes: attributes("value", "1")})
		}
		items = append(items, n.fileItem(preparePhase, state.KindFile, sysctlFile, "0644", sysctlContent))
		items = append(items, n.moduleItems()...)
		if !swapAllowed(n) {
			items = append(items, state.Item{Address: item(n.target, preparePhase, "swap", "all"), Kind: state.KindSwap, Attributes: attributes("on", false, "at_boot", false)})
		}
		return items
	},
	nodeStep: func(n *node, w work) planner.Step {
		if w.empty() {
			return planner.Step{}
		}
		ops := []planner.Operation{n.mark()}
		for _, c := range w.changes {
			switch c.Kind {
			case state.KindSysctl:
				ops = append(ops, planner.SetSysctl{Name: c.Address.ID(), Value: "1"})
			case state.KindModule:
				ops = append(ops, planner.LoadModule{Module: c.Address.ID()})
			case state.KindSwap:
				ops = append(ops, n.swapOff())
			}
		}
		return planner.Step{Operations: append(ops, fileOperations(w)...)}
	},
}

// ownFolder is where hosts keep our mark.
const ownFolder = "/var/lib/kubewright"

// markItem is our mark on the host.
func (n *node) markItem() state.Item {
	return state.Item{
		Address: item(n.target, preparePhase, "mark", "kubewright"), Kind: state.KindMark,
		Attributes: attributes("cluster", n.Cluster, "node", n.target.String()),
	}
}

const sysctlFile = "/etc/sysctl.d/99-kubewright.conf"

// forwarding are the sysctls that kubeadm's preflight demands, by family.
func forwarding(n *node) []string {
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
func families(n *node) (v4, v6 bool) {
	c := n.cluster
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

func sysctlContent(n *node) []byte {
	var b strings.Builder
	b.WriteString("# written by kubewright: Kubernetes forwards packets between pods\n")
	for _, name := range forwarding(n) {
		fmt.Fprintf(&b, "%s = 1\n", name)
	}
	return []byte(b.String())
}

// modulesFile has systemd load modules at each boot: modules-load.d(5).
const modulesFile = "/etc/modules-load.d/kubewright.conf"

// moduleItems are the kernel modules of the configuration.
func (n *node) moduleItems() []state.Item {
	if len(n.cluster.KernelModules) == 0 {
		return nil
	}
	from := map[string]state.Source{"": n.cluster.origin("kernel_modules")}
	list := n.fileItem(preparePhase, state.KindFile, modulesFile, "0644", modulesContent)
	list.Origin = from
	items := []state.Item{list}
	for _, name := range n.cluster.KernelModules {
		items = append(items, state.Item{Address: item(n.target, preparePhase, "module", name), Kind: state.KindModule, Attributes: attributes("loaded", true), Origin: from})
	}
	return items
}

func modulesContent(n *node) []byte {
	return []byte("# written by kubewright: kernel_modules of the cluster\n" + strings.Join(n.cluster.KernelModules, "\n") + "\n")
}

// beforeModule in Marks.Before tells of a module whether it was loaded.
const beforeModule = "module:"

// markModules has the mark remember which modules were loaded before us. It may come
// later than the first mark: with a module that is listed later.
func (n *node) markModules(m *state.Marks) {
	if m.Before == nil {
		return
	}
	for _, name := range n.cluster.KernelModules {
		if _, known := m.Before[beforeModule+name]; known {
			continue
		}
		m.Before[beforeModule+name] = ""
		if n.report.Modules[name] {
			m.Before[beforeModule+name] = "loaded"
		}
	}
}

// markFoldersOfRole has the mark of a host remember folders that only the node's role
// brings: the first mark may be of a worker, and did not look at those of a control plane.
// Where etcd has data already it is ours, of a join that was cut short.
func (n *node) markFoldersOfRole(m *state.Marks) {
	if m.Before == nil || !n.joins() {
		return
	}
	missing := func(p string) bool {
		_, known := m.Before[beforeFolder+p]
		return !known && !slices.Contains(foldersBefore, p)
	}
	if dir := n.etcdFolder(); dir != "" && missing(dir) && n.report.Files[dir].Exists && !n.report.Files[n.etcdData()].Exists {
		m.Before[beforeFolder+dir] = n.folderBefore(dir)
	}
	for _, p := range n.pkiFoldersAround() {
		if missing(p) {
			m.Before[beforeFolder+p] = n.folderBefore(p)
		}
	}
}

// folderBefore is what the mark remembers of a folder around certificates: its mode and
// owner, and nothing of one that was not there, which is ours to take away.
func (n *node) folderBefore(p string) string {
	if f := n.report.Files[p]; f.Exists {
		return f.Mode + " " + f.Owner
	}
	return ""
}

// swapAllowed tells that the kubelet is configured to run with swap.
func swapAllowed(n *node) bool {
	fails, set := n.kubeletFlag("failSwapOn")
	return set && !fails
}

// swapOff turns swap off, and keeps it off where a boot would turn it on: the
// kubelet would not start then.
func (n *node) swapOff() planner.Swap {
	if n.report != nil && n.report.Facts.SwapAtBoot {
		return planner.Swap{Boot: planner.SwapStaysOff}
	}
	return planner.Swap{}
}

// markSwapAtBoot has the mark remember what swapOff masks. It may come later than
// the first mark: fstab gets a swap device when somebody adds one.
func (n *node) markSwapAtBoot(m *state.Marks) {
	if m.Before != nil && n.report.Facts.SwapAtBoot && !swapAllowed(n) {
		m.Before[beforeSwapAtBoot] = "on"
	}
}

// What a mark remembers of swap.
const (
	beforeSwap       = "swap"
	beforeSwapAtBoot = "swap_at_boot"
)

// foldersBefore are folders of which the mark remembers whether they were
// there, so that a reset knows which to take away.
var foldersBefore = []string{
	"/etc/kubernetes", "/etc/kubernetes/manifests", "/etc/kubernetes/pki", "/etc/kubernetes/tmp",
	"/var/lib/kubelet", "/var/lib/etcd", cniConfigs, "/var/lib/cni", "/var/log/pods", "/var/log/containers",
	"/usr/libexec/kubernetes", "/var/lib/kube-proxy", "/opt/cni/bin", logindFolder, flannelState,
}

// foldersBefore are those of one node: with a folder of etcd's that has another place, and
// that may well be the mount point of a disk of its own.
func (n *node) foldersBefore() []string {
	if dir := n.etcdFolder(); dir != "" && !slices.Contains(foldersBefore, dir) {
		return append(slices.Clone(foldersBefore), dir)
	}
	return foldersBefore
}

// foldersOfKubernetes are those of them that nothing else uses.
var foldersOfKubernetes = []string{
	"/etc/kubernetes", "/etc/kubernetes/manifests", "/etc/kubernetes/pki", "/etc/kubernetes/tmp",
	"/var/lib/kubelet", "/var/lib/etcd", "/usr/libexec/kubernetes", "/var/lib/kube-proxy", flannelState,
}

// The kubelet has logind wait for its graceful shutdown, and never takes that
// back (pkg/kubelet/nodeshutdown/systemd).
const (
	logindFolder = "/etc/systemd/logind.conf.d"
	logindFile   = logindFolder + "/99-kubelet.conf"
)

// kubeadmPKI is where kubeadm keeps certificates unless told otherwise.
const kubeadmPKI = config.DefaultCertificatesDir

// sysctlsOfOthers are set by the kubelet (pkg/kubelet/cm, unless
// protectKernelDefaults) and by kube-proxy (pkg/proxy/conntrack, iptables and ipvs, of
// which each sets some and by its configuration only); a reset puts them back as well.
// A kernel need not have all of them.
var sysctlsOfOthers = []string{
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
func (n *node) mark() planner.Mark {
	if n.joins() {
		return planner.Mark{Marks: n.marks()}
	}
	return n.markCA("")
}

// markCA writes the mark, and has it say by which CA the host is part of the
// cluster: by the one that it holds then, and that has taken the former one's place.
func (n *node) markCA(former string) planner.Mark {
	m := n.marks()
	if former != "" {
		m.FormerCAs = appendNew(m.FormerCAs, former)
	}
	return planner.Mark{Marks: m, CA: n.cluster.caFile()}
}

// marksCA tells that the kubelet's step has to have the mark say by which CA the
// host is part of the cluster: it does not say so yet, or is about to be wrong.
func (n *node) marksCA() bool {
	_, replaced := n.cluster.atOnce[n.cluster.caBase()]
	return replaced || n.report.Marks == nil || n.report.Marks.ClusterCA == ""
}

// marks is what the host is to remember. What was there before is written
// once and kept by later marks.
func (n *node) marks() state.Marks {
	m := state.Marks{Format: state.MarksFormat, Cluster: n.Cluster, Node: n.target, Founder: n.isFounder()}
	if n.report == nil {
		return m
	}
	// A run that was cut short may have left its token alone.
	if old := n.report.Marks; old != nil && old.Format > 0 {
		m.Before, m.Owned, m.Founder = maps.Clone(old.Before), slices.Clone(old.Owned), old.Founder || m.Founder
		m.ClusterCA, m.FormerCAs = old.ClusterCA, slices.Clone(old.FormerCAs)
		n.markSwapAtBoot(&m)
		n.markModules(&m)
		n.markFoldersOfRole(&m)
		n.markSoftware(&m)
		return m
	}
	m.Before = map[string]string{}
	for _, p := range n.foldersBefore() {
		if n.adoption() != nil && (slices.Contains(foldersOfKubernetes, p) || p == n.etcdFolder()) {
			continue // its own, whoever made it
		}
		if f := n.report.Files[p]; f.Exists {
			m.Before["folder:"+p] = f.Mode + " " + f.Owner
		}
	}
	for _, p := range n.pkiFoldersAround() {
		m.Before[beforeFolder+p] = n.folderBefore(p)
	}
	m.Before[beforeEntries+cniConfigs] = strings.Join(cniEntries(n.report), "/")
	for name, value := range n.report.Sysctls {
		m.Before["sysctl:"+name] = value
	}
	if n.report.Facts.Swap {
		m.Before[beforeSwap] = "on"
	}
	n.markSwapAtBoot(&m)
	n.markModules(&m)
	m.Before["unit:"+kubeletUnit] = n.report.Units[kubeletUnit].Enabled + " " + kubeletActive(n.report)
	n.markSoftware(&m)
	return m
}
