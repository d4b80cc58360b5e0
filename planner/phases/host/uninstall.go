package host

import (
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// What a host remembers for the day when the software of install goes. Marks.Owned
// are the paths that install has put something at; Before has under these
// prefixes what stood there.
const (
	beforeFile   = "file:"   // digest of a file that ours was put over
	BeforeFolder = "folder:" // mode and owner
	beforeEmpty  = "empty:"  // a folder that was there and held nothing
	beforeUnit   = "unit:"   // enabled and active
)

// InstallFolders are made by the software of install, or hold what it makes.
var InstallFolders = []string{
	runtimeImports, "/etc/containerd", "/etc/systemd/system/kubelet.service.d", "/opt/cni", "/opt/containerd", runtimeStore, "/run/containerd", "/run/nri",
}

// runtimeStore holds containerd's images and containers.
const runtimeStore = "/var/lib/containerd"

// partOfFolder tells with which part of the software a folder goes.
var partOfFolder = map[string]topology.Part{
	"/etc/systemd/system/kubelet.service.d": topology.KubeletPart, "/opt/cni": topology.CNIPart, cniPrograms: topology.CNIPart, topology.CNIConfigs: topology.CNIPart, runtimeStore: topology.ImagesPart,
}

// markSoftware remembers what stood where install is going to put something.
// What is known already stays as it is.
func markSoftware(n *topology.Node, m *state.Marks) {
	s := Software(n)
	if len(s) == 0 {
		return
	}
	if m.Before == nil {
		m.Before = map[string]string{}
	}
	if len(m.Owned) == 0 {
		markFolders(n, m)
		u := n.Report.Units[ContainerdUnit]
		m.Before[beforeUnit+ContainerdUnit] = u.Enabled + " " + u.Active
	}
	for _, f := range s {
		if slices.Contains(m.Owned, f.Path) {
			continue
		}
		m.Owned = append(m.Owned, f.Path)
		if was := n.Report.Files[f.Path]; was.Exists {
			m.Before[beforeFile+f.Path] = "sha256:" + was.SHA256
		}
	}
	markPackages(n, m)
	slices.Sort(m.Owned)
	for _, p := range []topology.Part{topology.RuntimePart, topology.KubeletPart, topology.CNIPart, topology.ImagesPart} {
		delete(m.Before, topology.KeptPart+string(p))
		if slices.Contains(n.Cluster.Install.Keep, string(p)) {
			m.Before[topology.KeptPart+string(p)] = "yes"
		}
	}
}

func markFolders(n *topology.Node, m *state.Marks) {
	for _, p := range InstallFolders {
		f := n.Report.Files[p]
		if !f.Exists {
			continue
		}
		m.Before[BeforeFolder+p] = f.Mode + " " + f.Owner
		if f.Entries == 0 {
			m.Before[beforeEmpty+p] = "yes"
		}
	}
}

// UninstallOperations take away what install has put on the host, but for what
// it was told to keep, and put back what stood there before.
func UninstallOperations(l topology.Departure) []planner.Operation {
	if l.Report == nil || l.Report.Marks == nil || len(l.Report.Marks.Owned) == 0 {
		return nil
	}
	u := uninstallation{Departure: l, before: l.Report.Marks.Before}
	u.stopRuntime()
	u.packages()
	for _, p := range l.Report.Marks.Owned {
		u.file(p)
	}
	for _, p := range slices.Concat(InstallFolders, []string{cniPrograms, topology.CNIConfigs}) {
		u.folder(p)
	}
	u.turnBack(ContainerdUnit, topology.RuntimePart)
	u.turnBack(topology.KubeletUnit, topology.KubeletPart)
	return u.ops
}

type uninstallation struct {
	topology.Departure
	before map[string]string
	ops    []planner.Operation
}

// broughtRuntime reports whether containerd is install's.
func (u *uninstallation) broughtRuntime() bool {
	return u.owns(Units+ContainerdUnit) || u.bringsRuntimePackage()
}

func (u *uninstallation) owns(path string) bool { return slices.Contains(u.Report.Marks.Owned, path) }

// keeps reports whether a part stays: as the configuration has it, or had it when
// the block was last seen.
func (u *uninstallation) keeps(p topology.Part) bool {
	if u.Cluster != nil {
		return slices.Contains(u.Cluster.Install.Keep, string(p))
	}
	return u.before[topology.KeptPart+string(p)] != ""
}

// stopRuntime ends containerd and the kubelet's unit while their files are there.
func (u *uninstallation) stopRuntime() {
	if u.broughtRuntime() && !u.keeps(topology.RuntimePart) {
		u.ops = append(u.ops,
			planner.Unit{Unit: ContainerdUnit, Action: "stop"}, planner.Unit{Unit: ContainerdUnit, Action: "disable"},
			planner.Unmount{Below: "/run/containerd"})
	}
	if u.owns(Units+topology.KubeletUnit) && !u.keeps(topology.KubeletPart) {
		u.ops = append(u.ops, planner.Unit{Unit: topology.KubeletUnit, Action: "disable"})
	}
}

// partOf tells which part of the software a path is of.
func partOf(p string) topology.Part {
	switch {
	case strings.HasPrefix(p, cniPrograms+"/"):
		return topology.CNIPart
	case strings.HasPrefix(path.Base(p), "kube"), p == kubeletDropIn, p == dnfKey:
		return topology.KubeletPart
	}
	return topology.RuntimePart
}

func (u *uninstallation) file(p string) {
	if u.keeps(partOf(p)) {
		return
	}
	if u.before[beforeFile+p] != "" {
		u.ops = append(u.ops, planner.Restore{Path: p})
		return
	}
	u.ops = append(u.ops, planner.RemovePath{Path: p})
}

// folder takes away a folder that was not there before; one that was there and
// empty is emptied.
func (u *uninstallation) folder(p string) {
	of, known := partOfFolder[p]
	if !known {
		of = topology.RuntimePart
	}
	switch {
	case p == topology.CNIConfigs && SharesNetworks(u.Departure):
	case u.keeps(of) || (of == topology.RuntimePart || of == topology.ImagesPart) && !u.broughtRuntime():
	case u.before[BeforeFolder+p] == "":
		u.ops = append(u.ops, planner.RemovePath{Path: p})
	case u.before[beforeEmpty+p] != "":
		// containerd closes its folder to others.
		u.ops = append(append(u.ops, planner.RemovePath{Path: p, ContentsOnly: true}), RestoreFolder(u.before, p)...)
	}
}

// turnBack makes systemd see that a unit's file is gone or another one, and
// the unit what it was. Of a unit that was there before, its settings were ours.
func (u *uninstallation) turnBack(unit string, p topology.Part) {
	settings := map[string]string{ContainerdUnit: RuntimeConfig, topology.KubeletUnit: kubeletDropIn}[unit]
	if !u.owns(Units+unit) && !u.owns(settings) || u.keeps(p) {
		return
	}
	u.ops = append(u.ops, planner.Unit{Unit: unit, Action: "stop", Reload: true})
	enabled, active, _ := strings.Cut(u.before[beforeUnit+unit], " ")
	if enabled == "enabled" {
		u.ops = append(u.ops, planner.Unit{Unit: unit, Action: "enable"})
	}
	if active == "active" || active == "activating" {
		u.ops = append(u.ops, planner.Unit{Unit: unit, Action: "start"})
	}
}
