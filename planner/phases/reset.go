package phases

import (
	"cmp"
	"maps"
	"net"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// leaver is a node that is recorded and is to leave its cluster.
type leaver struct {
	target state.Target
	*state.RecordedNode
	report *state.Report
	// cluster is nil when its block is gone as well.
	cluster  *cluster
	recorded *state.State
	// replaced tells that the node joins again on the same host in this plan: the
	// host stays ours, with its software and settings.
	replaced bool
	// gone tells that there is nothing on the host to take away, or no host any
	// more: only the cluster is rid of the node.
	gone bool
	// abandoned tells that it is gone because somebody has said so of its host.
	abandoned bool
	// whole tells that the whole cluster goes: nothing is drained and no
	// membership is changed.
	whole bool
}

// leavers lists the recorded nodes that no block speaks of any more, or all in a destroy.
func (v *View) leavers() []leaver {
	if v.Recorded == nil {
		return nil
	}
	var out []leaver
	for t := range v.Recorded.Nodes {
		if !v.stays(t) && !v.forgets(t) {
			out = append(out, v.leaverOf(t))
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].target.String() < out[j].target.String() })
	return out
}

// stays tells that a recorded node goes on as a node of its cluster, on the same host.
func (v *View) stays(t state.Target) bool {
	if v.Destroy || v.replacements[t] != nil {
		return false
	}
	c := v.recordedClusterOf(t)
	return c != nil && c.node(t) != nil
}

// recordedClusterOf is the cluster that a recorded node was in, or nil where no block
// speaks of it any more.
func (v *View) recordedClusterOf(t state.Target) *cluster {
	return v.clusterOf(state.ClusterTarget(v.Recorded.Nodes[t].Cluster))
}

// leaverOf is a recorded node as one that leaves.
func (v *View) leaverOf(t state.Target) leaver {
	n := v.Recorded.Nodes[t]
	l := leaver{target: t, RecordedNode: n, report: v.report(t), recorded: v.Recorded, cluster: v.recordedClusterOf(t), whole: v.Destroy}
	l.whole = l.whole || l.cluster == nil || len(l.cluster.controlPlanes()) == 0
	if r := v.replacements[t]; r != nil {
		l.replaced, l.report, l.gone = true, r.report, r.report == nil
	}
	if l.abandoned = v.abandons(t); l.abandoned || l.given() {
		l.report, l.gone = nil, true
	}
	return l
}

// given tells that the host was given back already: our mark, which is the last thing to
// go, is not there, nothing of Kubernetes is, and no kubelet runs. The state may be older
// than that, and whatever is on the host somebody else's. Another machine is spoken of
// where the cluster stays, and with the cluster goes only what is left of it.
func (l leaver) given() bool {
	return !l.replaced && l.report != nil && blank(l.report) && l.report.Units[kubeletUnit].Active != "active" &&
		(l.whole || !otherMachine(l.RecordedNode, l.report))
}

// acts tells that something is done for the leaver. A host that was not seen is
// not reset: what was there before us, which is to be put back, stands on the
// host itself.
func (l leaver) acts() bool { return l.report != nil || l.gone }

// isHost tells that a name or an address is the leaver's own.
func (l leaver) isHost(host string) bool { return sameAddress(host, l.Address) || host == l.Name }

func (l leaver) peerURL() string { return kubeadm.PeerURL(l.Address) }

// pki lists the certificates and keys that are the cluster's or were brought for it:
// recorded ones, and those of the configuration in case that an apply was cut
// short. What else lies beside them is the user's.
func (l leaver) pki() []string {
	out := pkiFiles(recordedItems(l.recorded, l.target))
	if l.cluster != nil && l.cluster.node(l.target) != nil {
		out = append(out, l.cluster.node(l.target).pkiPaths()...)
	}
	if l.cluster != nil && l.report != nil {
		// What a rotation left that was cut short.
		left := keyRotationPaths(l.cluster.Certificates.Dir + "/sa")
		for _, a := range l.cluster.authorities {
			left = append(append(left, a.rotationPaths()...), a.endedFile())
		}
		out = append(out, slices.DeleteFunc(left, func(p string) bool { return !l.report.Files[p].Exists })...)
	}
	return slices.Compact(sorted(out))
}

// pkiPaths are the certificates and keys that a node of the configuration has.
func (n *node) pkiPaths() []string {
	return pkiFiles(append(certs.nodeItems(n), n.workerCA()...))
}

// pkiFiles are the paths of certificates and keys among items, in order.
func pkiFiles(items []state.Item) []string {
	set := map[string]bool{}
	for i := range items {
		it := &items[i]
		id := it.Address.ID()
		switch {
		case it.Kind == state.KindCertificate && it.Address.Class() == "certificate":
			set[id+".crt"], set[id+".key"] = true, true
		case it.Kind == state.KindCertificate, it.Kind == state.KindKey:
			set[id] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// drainStep evicts the pods of a node that is leaving a cluster that stays.
func (l leaver) drainStep() planner.Step {
	if l.whole || l.gone || l.cluster.seen == nil {
		return planner.Step{}
	}
	if _, exists := l.cluster.seen.Nodes[l.Name]; !exists {
		return planner.Step{}
	}
	return planner.Step{
		ID: step(l.target, drainPhase), Phase: drainPhase, Target: l.target, Action: planner.Delete, Via: l.cluster.seat,
		Limits: []string{l.cluster.limit("drain")},
		Impact: l.cluster.drainImpact(l.Name), Pods: l.cluster.drainedPods(l.Name), Operations: l.cluster.drain(l.Name, forLeaving),
		RestsOn: l.drainRestsOn(),
	}
}

// resetStep gives the host back. In a cluster that stays, the API server goes first,
// then the etcd member behind it, and the Node object when its kubelet has stopped.
func (l leaver) resetStep() planner.Step {
	s := planner.Step{ID: step(l.target, resetPhase), Phase: resetPhase, Target: l.target, Action: planner.Delete, RestsOn: l.resetRestsOn()}
	if !l.whole {
		s.Via = l.cluster.seat
		if l.abandoned {
			s.Gates = append(s.Gates, planner.GoneGate)
		}
		if l.Role == string(config.ControlPlane) {
			s.Limits = append(s.Limits, l.cluster.limit("control-plane-disruption"))
			s.Gates = append(s.Gates, planner.APIGate)
		}
		if l.Role == string(config.ControlPlane) && l.cluster.Etcd.External == nil {
			s.Limits = append(s.Limits, l.cluster.limit("etcd-membership"))
			s.Gates = append(s.Gates, planner.QuorumGate)
			s.Operations = append(l.closeAPI(), planner.RemoveEtcdMember{Name: l.Name, PeerURL: l.peerURL(), Timeout: l.cluster.Timeouts.EtcdAPICall})
		}
	}
	if !l.gone {
		s.Operations = append(s.Operations, planner.Unit{Unit: kubeletUnit, Action: "stop"})
	}
	if !l.whole {
		s.Operations = append(s.Operations, planner.DeleteObject{Ref: state.ObjectRef{APIVersion: "v1", Kind: "Node", Name: l.Name}})
	}
	switch {
	case l.abandoned && l.whole:
		s.Impact = "nothing is done on its old host: keep it from coming back, for it has keys and data of the cluster still"
		return s
	case l.gone && l.whole:
		s.Impact = "nothing is done on its host, which holds nothing of the cluster any more"
		return s
	case l.gone:
		s.Impact = "removes the node from the cluster through the others; nothing is done on its old host"
		return s
	}
	s.Operations = append(s.Operations, l.cleanOperations()...)
	s.Impact = "stops the kubelet, removes all containers and every file that kubewright and Kubernetes made"
	if l.replaced {
		s.Impact = "stops the kubelet, removes all containers and every file of Kubernetes; software and settings of the host stay"
	}
	l.endPods(&s)
	return s
}

// closeAPI has the kubelet stop the API server while the etcd beside it is still a
// member: without it that API server would go on taking requests until its pod is
// removed, and fail them. What it serves is done then, and nobody is sent to it any
// more. Without a kubelet nobody stops it, and nothing is waited for.
func (l leaver) closeAPI() []planner.Operation {
	if l.gone || l.report.Units[kubeletUnit].Active != "active" {
		return nil
	}
	path := manifest("kube-apiserver")
	c := l.cluster
	host, port := l.Address, strconv.Itoa(wantedPort(c.Cluster))
	if f := l.report.Files[path]; f.Exists {
		// As it runs, which its file alone tells.
		if tree, err := c.view.memo.tree(state.KindStaticPod, f.Content); err == nil {
			args := tree.Get("args")
			host = cmp.Or(args.Get("advertise-address").AsString(), host)
			port = cmp.Or(args.Get("secure-port").AsString(), port)
		}
	}
	return []planner.Operation{
		planner.RemovePath{Path: path},
		planner.Wait{For: planner.WaitClosed, URL: "https://" + net.JoinHostPort(host, port) + "/livez", CA: c.caFile(), Timeout: c.Timeouts.UpgradeManifests},
	}
}

// cleanOperations remove what kubeadm's reset removes and what it leaves
// behind, and put settings back to what they were.
func (l leaver) cleanOperations() []planner.Operation {
	before := map[string]string{}
	if l.report != nil && l.report.Marks != nil {
		before = l.report.Marks.Before
	}
	ops := []planner.Operation{
		planner.RemovePods{Socket: l.socket()},
		planner.Unmount{Below: "/var/lib/kubelet", Flags: l.reset().UnmountFlags},
		planner.RemoveNetwork{Links: []string{"cni0", "flannel.1", "kube-ipvs0", "nodelocaldns"}},
	}
	for _, p := range l.paths() {
		// No host lets a folder at its root be removed.
		emptied := (contentsGo[p] || p == l.etcdFolder()) && (before[beforeFolder+p] != "" || state.AtRoot(p))
		ops = append(append(ops, planner.RemovePath{Path: p, ContentsOnly: emptied}), putBack(before, p)...)
	}
	ops = append(ops, l.networkOperations(before)...)
	if !l.replaced {
		ops = append(ops, l.uninstallOperations()...)
	}
	// The modes of folders that were there before were ours meanwhile.
	for _, dir := range foldersOf(l.pki()) {
		ops = append(ops, putBack(before, dir)...)
	}
	if l.replaced {
		return append(ops, planner.Mark{Marks: *l.keptMarks()})
	}
	ops = append(ops, l.restoreOperations(before)...)
	return append(ops, planner.Mark{Remove: true})
}

// putBack gives a folder that was there before us the mode and owner of then. Where a link
// stood the mark has those of the link, and nobody knows the folder's.
func putBack(before map[string]string, p string) []planner.Operation {
	mode, owner, was := strings.Cut(before[beforeFolder+p], " ")
	if !was || mode == modeOfLinks {
		return nil
	}
	return []planner.Operation{planner.EnsureDirectory{Path: p, Mode: mode, Owner: owner}}
}

// modeOfLinks is the mode that every symbolic link has, and no folder of Kubernetes.
const modeOfLinks = "0777"

// kubeadmTemporary is where kubeadm puts what it sets aside.
const kubeadmTemporary = "/etc/kubernetes/tmp"

// reset is what the configuration says of how hosts are given back. Nothing is said
// once the block of the cluster is gone.
func (l leaver) reset() config.Reset {
	if l.cluster == nil {
		return config.Reset{}
	}
	return l.cluster.Reset
}

// socket is the endpoint of the runtime that has the leaver's pods: the one that its
// kubelet was given. Which one a host has beside it says nothing; one whose joining was
// cut short is the block's.
func (l leaver) socket() string {
	var flag, instance, block, found string
	for _, it := range recordedItems(l.recorded, l.target) {
		switch it.Address.ID() {
		case kubeletFlags:
			flag = it.Attributes.Get("args").Get("container-runtime-endpoint").AsString()
		case instanceConfig:
			instance = it.Attributes.Get("containerRuntimeEndpoint").AsString()
		}
	}
	if l.cluster != nil && l.cluster.node(l.target) != nil {
		block = l.cluster.node(l.target).CRISocket
	}
	if l.report != nil {
		found = l.report.Facts.CRISocket
	}
	return cmp.Or(flag, instance, block, found, "unix:///var/run/containerd/containerd.sock")
}

// etcdFolder is where the leaver's etcd has its data, or empty where no etcd of ours runs.
// What the state knows counts before the block, which a destroy does not compare with it:
// data of an etcd that is not ours is nothing to take away. Before an API has answered the
// state knows it of the pod alone.
func (l leaver) etcdFolder() string {
	if l.Role != string(config.ControlPlane) {
		return ""
	}
	var known map[string]string
	if c := l.recorded.Clusters[l.Cluster]; c != nil {
		known = c.Fixed
	}
	switch {
	case known["etcd.data_dir"] != "":
		return known["etcd.data_dir"]
	case known["etcd"] == "external" || l.cluster != nil && l.cluster.Etcd.External != nil:
		return ""
	case l.cluster != nil:
		return l.cluster.Etcd.DataDir
	}
	for _, it := range recordedItems(l.recorded, l.target) {
		if it.Address.ID() == manifest("etcd") {
			return it.Attributes.Get("args").Get("data-dir").AsString()
		}
	}
	return ""
}

// contentsGo are folders of every node that stay when they were there before, but empty.
var contentsGo = map[string]bool{
	"/etc/kubernetes/manifests": true, kubeadmTemporary: true,
	"/var/lib/kubelet": true, "/var/lib/cni": true,
	"/var/log/pods": true, "/var/log/containers": true, "/var/lib/kube-proxy": true,
}

// paths are what goes: the files that we own, in the folders of Kubernetes and beside.
func (l leaver) paths() []string {
	set := map[string]bool{}
	for _, p := range []string{adminConf, superAdminConf, kubeletConf, bootstrapConf, controllerConf, schedulerConf, logindFile} {
		set[p] = true
	}
	for p := range contentsGo {
		set[p] = true
	}
	// What the host was set to stays with a node that joins again.
	set[sysctlFile], set[modulesFile] = !l.replaced, !l.replaced && l.listsModules()
	// What was in it before us stays, unless it is to go as well.
	set[kubeadmTemporary] = l.reset().CleanupTmpDir || !l.keeps("folder:"+kubeadmTemporary)
	if dir := l.etcdFolder(); dir != "" {
		// Data of a member that was removed keeps its host from joining again.
		set[dir] = true
	}
	for _, p := range l.pki() {
		set[p] = true
	}
	for _, dir := range l.madeFolders() {
		if !l.replaced || strings.HasPrefix(dir+"/", path.Dir(l.caBase())+"/") {
			set[dir] = true
		}
	}
	set[kubeadmPKI], set[flannelState] = !l.keeps("folder:"+kubeadmPKI), !l.keeps("folder:"+flannelState)
	// Folders that were not there before go whole; the others keep what is not ours. So do
	// all of a node that joins again: what its block speaks of may lie there.
	for _, p := range []string{"/etc/kubernetes", "/usr/libexec/kubernetes", logindFolder} {
		set[p] = !l.replaced && !l.keeps("folder:"+p)
	}
	var out []string
	for p, goes := range set {
		if goes {
			out = append(out, p)
		}
	}
	// Files go before the folders that hold them.
	sort.Slice(out, func(i, j int) bool { return out[i] > out[j] })
	return out
}

// listsModules tells that a list of kernel modules may be on the host: the mark
// remembers modules, or is one of an adopted node, which remembers nothing.
func (l leaver) listsModules() bool {
	if l.report == nil || l.report.Marks == nil || l.report.Marks.Before == nil {
		return true
	}
	for k := range l.report.Marks.Before {
		if strings.HasPrefix(k, beforeModule) {
			return true
		}
	}
	return false
}

func (l leaver) keeps(what string) bool {
	if l.report != nil && (l.report.Marks == nil || l.report.Marks.Before == nil) {
		// An adopted node: what was there before nobody knows.
		return what == "folder:"+logindFolder
	}
	return l.report != nil && l.report.Marks != nil && l.report.Marks.Before[what] != ""
}

// madeFolders are the folders around certificates that the mark remembers as not there
// before us.
func (l leaver) madeFolders() []string {
	if l.report == nil || l.report.Marks == nil {
		return nil
	}
	var out []string
	for k, was := range l.report.Marks.Before {
		if dir, ok := strings.CutPrefix(k, beforeFolder); ok && was == "" {
			out = append(out, dir)
		}
	}
	return out
}

// restoreOperations put sysctls, modules, swap and the kubelet's unit back.
func (l leaver) restoreOperations(before map[string]string) []planner.Operation {
	var ops []planner.Operation
	var names []string
	for k := range before {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		if name, ok := strings.CutPrefix(k, "sysctl:"); ok {
			ops = append(ops, planner.SetSysctl{Name: name, Value: before[k], Restore: true})
		}
		if name, ok := strings.CutPrefix(k, beforeModule); ok && before[k] == "" {
			ops = append(ops, planner.LoadModule{Module: name, Unload: true})
		}
	}
	if swap := (planner.Swap{On: before[beforeSwap] == "on"}); before[beforeSwapAtBoot] == "on" {
		swap.Boot = planner.SwapReturns
		ops = append(ops, swap)
	} else if swap.On {
		ops = append(ops, swap)
	}
	enabled, active, _ := strings.Cut(before["unit:"+kubeletUnit], " ")
	if enabled == "disabled" {
		ops = append(ops, planner.Unit{Unit: kubeletUnit, Action: "disable"})
	}
	if active == "active" || active == "activating" {
		ops = append(ops, planner.Unit{Unit: kubeletUnit, Action: "start"})
	}
	return ops
}
