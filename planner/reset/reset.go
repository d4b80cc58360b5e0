package reset

import (
	"cmp"
	"net"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/immutable"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/preflight"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// departurePKI lists the certificates and keys that are the cluster's or were brought for it:
// recorded ones, and those of the configuration in case that an apply was cut
// short. What else lies beside them is the user's.
func departurePKI(l topology.Departure) []string {
	out := pki.KeyMaterialFiles(topology.RecordedItems(l.Recorded, l.Target))
	if l.Cluster != nil && l.Cluster.Node(l.Target) != nil {
		out = append(out, pki.KeyMaterialPaths(l.Cluster.Node(l.Target))...)
	}
	if l.Cluster != nil && l.Report != nil {
		// What a rotation left that was cut short.
		left := rotation.KeyRotationPaths(l.Cluster.Certificates.Dir + "/sa")
		for _, a := range l.Cluster.Authorities {
			left = append(append(left, pki.RotationPaths(a)...), pki.ExpiredFile(a))
		}
		out = append(out, slices.DeleteFunc(left, func(p string) bool { return !l.Report.Files[p].Exists })...)
	}
	return slices.Compact(topology.Sorted(out))
}

// ResetStep gives the host back. In a cluster that stays, the API server goes first,
// then the etcd member behind it, and the Node object when its kubelet has stopped.
func ResetStep(l topology.Departure) planner.Step {
	s := planner.Step{ID: topology.StepAddress(l.Target, topology.ResetPhase), Phase: topology.ResetPhase, Target: l.Target, Action: planner.Delete, RestsOn: drain.ResetPreconditions(l)}
	if !l.Whole {
		s.Via = l.Cluster.Primary
		if l.Abandoned {
			s.Gates = append(s.Gates, planner.GoneGate)
		}
		if l.Role == string(config.ControlPlane) {
			s.Limits = append(s.Limits, l.Cluster.Limit("control-plane-disruption"))
			s.Gates = append(s.Gates, planner.APIGate)
		}
		if l.Role == string(config.ControlPlane) && l.Cluster.Etcd.External == nil {
			s.Limits = append(s.Limits, l.Cluster.Limit("etcd-membership"))
			s.Gates = append(s.Gates, planner.QuorumGate)
			s.Operations = append(closeAPI(l), planner.RemoveEtcdMember{Name: l.Name, PeerURL: l.PeerURL(), Timeout: l.Cluster.Timeouts.EtcdAPICall})
		}
	}
	if !l.HostGone {
		s.Operations = append(s.Operations, planner.Unit{Unit: topology.KubeletUnit, Action: "stop"})
	}
	if !l.Whole {
		s.Operations = append(s.Operations, planner.DeleteObject{Ref: state.ObjectRef{APIVersion: "v1", Kind: "Node", Name: l.Name}})
	}
	switch {
	case l.Abandoned && l.Whole:
		s.Impact = "its old host is not changed: keep it from coming back, because it still has keys and data of the cluster"
		return s
	case l.HostGone && l.Whole:
		s.Impact = "its host is not changed, and holds nothing of the cluster any more"
		return s
	case l.HostGone:
		s.Impact = "removes the node from the cluster through the others; its old host is not changed"
		return s
	}
	s.Operations = append(s.Operations, cleanOperations(l)...)
	s.Impact = "stops the kubelet, removes all containers and every file that kubewright and Kubernetes created"
	if l.Replaced {
		s.Impact = "stops the kubelet, removes all containers and every file of Kubernetes; software and settings of the host are kept"
	}
	drain.EndPods(l, &s)
	return s
}

// closeAPI has the kubelet stop the API server while the etcd beside it is still a
// member: without it that API server would go on taking requests until its pod is
// removed, and fail them. What it serves is done then, and nobody is sent to it any
// more. Without a kubelet nobody stops it, and nothing is waited for.
func closeAPI(l topology.Departure) []planner.Operation {
	if l.HostGone || l.Report.Units[topology.KubeletUnit].Active != "active" {
		return nil
	}
	path := topology.Manifest("kube-apiserver")
	c := l.Cluster
	host, port := l.Address, strconv.Itoa(immutable.WantedPort(c.Cluster))
	if f := l.Report.Files[path]; f.Exists {
		// As it runs, which its file alone tells.
		if tree, err := c.Fleet.Cache.Tree(state.KindStaticPod, f.Content); err == nil {
			args := tree.Get("args")
			host = cmp.Or(args.Get("advertise-address").AsString(), host)
			port = cmp.Or(args.Get("secure-port").AsString(), port)
		}
	}
	return []planner.Operation{
		planner.RemovePath{Path: path},
		planner.Wait{For: planner.WaitClosed, URL: "https://" + net.JoinHostPort(host, port) + "/livez", CA: c.CAFile(), Timeout: c.Timeouts.UpgradeManifests},
	}
}

// cleanOperations remove what kubeadm's reset removes and what it leaves
// behind, and put settings back to what they were.
func cleanOperations(l topology.Departure) []planner.Operation {
	before := map[string]string{}
	if l.Report != nil && l.Report.Marks != nil {
		before = l.Report.Marks.Before
	}
	ops := []planner.Operation{
		planner.RemovePods{Socket: socket(l)},
		planner.Unmount{Below: "/var/lib/kubelet", Flags: reset(l).UnmountFlags},
		planner.RemoveNetwork{Links: []string{"cni0", "flannel.1", "kube-ipvs0", "nodelocaldns"}},
	}
	for _, p := range RemovedPaths(l) {
		// No host lets a folder at its root be removed.
		emptied := (preflight.ContentsGo[p] || p == etcdFolder(l)) && (before[host.BeforeFolder+p] != "" || state.AtRoot(p))
		ops = append(append(ops, planner.RemovePath{Path: p, ContentsOnly: emptied}), host.RestoreFolder(before, p)...)
	}
	ops = append(ops, networkOperations(l, before)...)
	if !l.Replaced {
		ops = append(ops, host.UninstallOperations(l)...)
	}
	// The modes of folders that were there before were ours meanwhile.
	for _, dir := range pki.FoldersOf(departurePKI(l)) {
		ops = append(ops, host.RestoreFolder(before, dir)...)
	}
	if l.Replaced {
		return append(ops, planner.Mark{Marks: *l.KeptMarks()})
	}
	ops = append(ops, restoreOperations(l, before)...)
	return append(ops, planner.Mark{Remove: true})
}

// reset returns what the configuration says of how hosts are given back. Nothing is said
// once the block of the cluster is gone.
func reset(l topology.Departure) config.Reset {
	if l.Cluster == nil {
		return config.Reset{}
	}
	return l.Cluster.Reset
}

// socket returns the endpoint of the runtime that has the departing node's pods: the one that its
// kubelet was given. Which one a host has beside it says nothing; one whose joining was
// cut short is the block's.
func socket(l topology.Departure) string {
	var flag, instance, block, found string
	for _, it := range topology.RecordedItems(l.Recorded, l.Target) {
		switch it.Address.ID() {
		case topology.KubeletFlags:
			flag = it.Attributes.Get("args").Get("container-runtime-endpoint").AsString()
		case kubelet.InstanceConfig:
			instance = it.Attributes.Get("containerRuntimeEndpoint").AsString()
		}
	}
	if l.Cluster != nil && l.Cluster.Node(l.Target) != nil {
		block = l.Cluster.Node(l.Target).CRISocket
	}
	if l.Report != nil {
		found = l.Report.Facts.CRISocket
	}
	return cmp.Or(flag, instance, block, found, "unix:///var/run/containerd/containerd.sock")
}

// etcdFolder returns where the departing node's etcd has its data, or empty where no etcd of ours runs.
// What the state knows counts before the block, which a destroy does not compare with it:
// data of an etcd that is not ours is nothing to take away. Before an API has answered the
// state knows it of the pod alone.
func etcdFolder(l topology.Departure) string {
	if l.Role != string(config.ControlPlane) {
		return ""
	}
	var known map[string]string
	if c := l.Recorded.Clusters[l.RecordedNode.Cluster]; c != nil {
		known = c.Fixed
	}
	switch {
	case known["etcd.data_dir"] != "":
		return known["etcd.data_dir"]
	case known["etcd"] == "external" || l.Cluster != nil && l.Cluster.Etcd.External != nil:
		return ""
	case l.Cluster != nil:
		return l.Cluster.Etcd.DataDir
	}
	for _, it := range topology.RecordedItems(l.Recorded, l.Target) {
		if it.Address.ID() == topology.Manifest("etcd") {
			return it.Attributes.Get("args").Get("data-dir").AsString()
		}
	}
	return ""
}

// RemovedPaths returns what goes: the files that we own, in the folders of Kubernetes and beside.
func RemovedPaths(l topology.Departure) []string {
	set := map[string]bool{}
	for _, p := range []string{topology.AdminConf, pki.SuperAdminConf, topology.KubeletConf, topology.BootstrapConf, pki.ControllerConf, pki.SchedulerConf, host.LogindFile} {
		set[p] = true
	}
	for p := range preflight.ContentsGo {
		set[p] = true
	}
	// What the host was set to stays with a node that joins again.
	set[host.SysctlFile], set[host.ModulesFile] = !l.Replaced, !l.Replaced && listsModules(l)
	// What was in it before us stays, unless it is to go as well.
	set[preflight.KubeadmTemporary] = reset(l).CleanupTmpDir || !keeps(l, "folder:"+preflight.KubeadmTemporary)
	if dir := etcdFolder(l); dir != "" {
		// Data of a member that was removed keeps its host from joining again.
		set[dir] = true
	}
	for _, p := range departurePKI(l) {
		set[p] = true
	}
	for _, dir := range madeFolders(l) {
		if !l.Replaced || strings.HasPrefix(dir+"/", path.Dir(observe.CABase(l))+"/") {
			set[dir] = true
		}
	}
	set[topology.KubeadmPKI], set[topology.FlannelState] = !keeps(l, "folder:"+topology.KubeadmPKI), !keeps(l, "folder:"+topology.FlannelState)
	// Folders that were not there before go whole; the others keep what is not ours. So do
	// all of a node that joins again: what its block refers to may lie there.
	for _, p := range []string{"/etc/kubernetes", "/usr/libexec/kubernetes", topology.LogindFolder} {
		set[p] = !l.Replaced && !keeps(l, "folder:"+p)
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

// listsModules reports whether a list of kernel modules may be on the host: the mark
// remembers modules, or is one of an adopted node, which remembers nothing.
func listsModules(l topology.Departure) bool {
	if l.Report == nil || l.Report.Marks == nil || l.Report.Marks.Before == nil {
		return true
	}
	for k := range l.Report.Marks.Before {
		if strings.HasPrefix(k, host.BeforeModule) {
			return true
		}
	}
	return false
}

func keeps(l topology.Departure, what string) bool {
	if l.Report != nil && (l.Report.Marks == nil || l.Report.Marks.Before == nil) {
		// An adopted node: what was there before nobody knows.
		return what == "folder:"+topology.LogindFolder
	}
	return l.Report != nil && l.Report.Marks != nil && l.Report.Marks.Before[what] != ""
}

// madeFolders returns the folders around certificates that the mark remembers as not there
// before us.
func madeFolders(l topology.Departure) []string {
	if l.Report == nil || l.Report.Marks == nil {
		return nil
	}
	var out []string
	for k, was := range l.Report.Marks.Before {
		if dir, ok := strings.CutPrefix(k, host.BeforeFolder); ok && was == "" {
			out = append(out, dir)
		}
	}
	return out
}

// restoreOperations put sysctls, modules, swap and the kubelet's unit back.
func restoreOperations(l topology.Departure, before map[string]string) []planner.Operation {
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
		if name, ok := strings.CutPrefix(k, host.BeforeModule); ok && before[k] == "" {
			ops = append(ops, planner.LoadModule{Module: name, Unload: true})
		}
	}
	if swap := (planner.Swap{On: before[host.BeforeSwap] == "on"}); before[host.BeforeSwapAtBoot] == "on" {
		swap.Boot = planner.SwapReturns
		ops = append(ops, swap)
	} else if swap.On {
		ops = append(ops, swap)
	}
	enabled, active, _ := strings.Cut(before["unit:"+topology.KubeletUnit], " ")
	if enabled == "disabled" {
		ops = append(ops, planner.Unit{Unit: topology.KubeletUnit, Action: "disable"})
	}
	if active == "active" || active == "activating" {
		ops = append(ops, planner.Unit{Unit: topology.KubeletUnit, Action: "start"})
	}
	return ops
}
