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
	"github.com/kubewright/kubewright/config/atrest"
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

// departurePKI lists the certificates and keys that are the cluster's or were copied for it: the
// recorded ones, and those of the configuration in case an apply was interrupted. Other files
// beside them are the user's.
func departurePKI(l topology.Departure) []string {
	out := pki.KeyMaterialFiles(topology.RecordedItems(l.Recorded, l.Target))
	if l.Cluster != nil && l.Cluster.Node(l.Target) != nil {
		out = append(out, pki.KeyMaterialPaths(l.Cluster.Node(l.Target))...)
	}
	if l.Cluster != nil && l.Report != nil {
		// The files of an interrupted rotation.
		left := rotation.KeyRotationPaths(l.Cluster.Certificates.Dir + "/sa")
		for _, a := range l.Cluster.Authorities {
			left = append(append(left, pki.RotationPaths(a)...), pki.ExpiredFile(a))
		}
		out = append(out, slices.DeleteFunc(left, func(p string) bool { return !l.Report.Files[p].Exists })...)
	}
	return slices.Compact(topology.Sorted(out))
}

// ResetStep returns the step that resets the host. In a cluster that stays, it removes the API
// server first, then its etcd member, and the Node object after its kubelet has stopped.
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

// closeAPI makes the kubelet stop the API server while the local etcd is still a member: without
// that member the API server would keep accepting requests until its pod is removed, and fail them.
// This way it completes its requests, and clients are sent elsewhere. Without a kubelet nothing can
// stop it, and the step does not wait.
func closeAPI(l topology.Departure) []planner.Operation {
	if l.HostGone || l.Report.Units[topology.KubeletUnit].Active != "active" {
		return nil
	}
	path := topology.Manifest("kube-apiserver")
	c := l.Cluster
	host, port := l.Address, strconv.Itoa(immutable.WantedPort(c.Cluster))
	if f := l.Report.Files[path]; f.Exists {
		// Use the values with which it runs, which only its manifest has.
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

// cleanOperations removes what kubeadm reset removes and what it leaves behind, and restores
// settings.
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
		// A folder at the root of the file system is never removed, only emptied.
		emptied := (preflight.ContentsGo[p] || p == etcdFolder(l)) && (before[host.BeforeFolder+p] != "" || state.AtRoot(p))
		ops = append(append(ops, planner.RemovePath{Path: p, ContentsOnly: emptied}), host.RestoreFolder(before, p)...)
	}
	ops = append(ops, networkOperations(l, before)...)
	if !l.Replaced {
		ops = append(ops, host.RestoreHostFiles(l)...)
		ops = append(ops, host.UninstallOperations(l)...)
		ops = append(ops, kubelet.RestoreUnitFiles(l)...)
	}
	// kubewright managed the modes of folders that existed before.
	for _, dir := range pki.FoldersOf(departurePKI(l)) {
		ops = append(ops, host.RestoreFolder(before, dir)...)
	}
	if l.Replaced {
		return append(ops, planner.Mark{Marks: *l.KeptMarks()})
	}
	ops = append(append(ops, host.SettingOperations(l)...), restoreOperations(l, before)...)
	return append(ops, planner.Mark{Remove: true})
}

// reset returns the configured reset options; none once the cluster's block is gone.
func reset(l topology.Departure) config.Reset {
	if l.Cluster == nil {
		return config.Reset{}
	}
	return l.Cluster.Reset
}

// socket returns the endpoint of the runtime with the departing node's pods: the one that its
// kubelet was configured with. Other runtimes on the host do not matter. After an interrupted join
// it is the block's.
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

// etcdFolder returns the data folder of the departing node's etcd, or "" if it runs no stacked
// etcd. The state takes precedence over the block, which a destroy does not compare with it: data
// of another etcd must not be removed. Until an API has answered, the state has the folder only in
// the recorded pod.
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

// RemovedPaths returns the paths to remove: the files that kubewright owns, in the folders of
// Kubernetes and elsewhere.
func RemovedPaths(l topology.Departure) []string {
	set := map[string]bool{}
	for _, p := range []string{topology.AdminConf, pki.SuperAdminConf, topology.KubeletConf, topology.BootstrapConf, pki.ControllerConf, pki.SchedulerConf, host.LogindFile} {
		set[p] = true
	}
	for p := range preflight.ContentsGo {
		set[p] = true
	}
	// A node that joins again keeps the settings of its host.
	set[host.SysctlFile], set[host.ModulesFile] = !l.Replaced, !l.Replaced && listsModules(l)
	// Content from before kubewright stays, unless it is configured to be removed.
	set[preflight.KubeadmTemporary] = reset(l).CleanupTmpDir || !keeps(l, "folder:"+preflight.KubeadmTemporary)
	if dir := etcdFolder(l); dir != "" {
		// The data of a removed member prevents its host from joining again.
		set[dir] = true
	}
	for _, p := range departurePKI(l) {
		set[p] = true
	}
	set[atrest.Folder] = encrypts(l)
	for _, dir := range madeFolders(l) {
		if !l.Replaced || strings.HasPrefix(dir+"/", path.Dir(observe.CABase(l))+"/") {
			set[dir] = true
		}
	}
	set[topology.KubeadmPKI], set[topology.FlannelState] = !keeps(l, "folder:"+topology.KubeadmPKI), !keeps(l, "folder:"+topology.FlannelState)
	// Folders that did not exist before are removed as a whole; others keep foreign files. On a
	// node that joins again they all stay, because its block may refer to files in them.
	for _, p := range []string{"/etc/kubernetes", "/usr/libexec/kubernetes", topology.LogindFolder} {
		set[p] = !l.Replaced && !keeps(l, "folder:"+p)
	}
	var out []string
	for p, goes := range set {
		if goes {
			out = append(out, p)
		}
	}
	// Files come before the folders that contain them.
	sort.Slice(out, func(i, j int) bool { return out[i] > out[j] })
	return out
}

// encrypts reports whether the keys by which an API server encrypted objects are on the host.
func encrypts(l topology.Departure) bool {
	own := slices.ContainsFunc(topology.RecordedItems(l.Recorded, l.Target), func(it state.Item) bool { return it.Address.Phase == topology.EncryptionPhase })
	return own || l.Cluster != nil && l.Cluster.AtRest != nil && l.Report != nil && l.Report.Files[atrest.Path].Exists
}

// listsModules reports whether a list of kernel modules may be on the host: the marker records
// modules, or belongs to an adopted node and records nothing.
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
		// The node was adopted: what existed before is unknown.
		return what == "folder:"+topology.LogindFolder
	}
	return l.Report != nil && l.Report.Marks != nil && l.Report.Marks.Before[what] != ""
}

// madeFolders returns the folders around certificates that did not exist before, according to the
// marker.
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

// restoreOperations restores sysctls, modules, swap and the kubelet's unit.
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
