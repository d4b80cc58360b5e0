package host

import (
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// The marker records what has to be undone when install's software is removed. Marks.Owned lists
// the paths that install has written; Marks.Before has under these prefixes what was there before.
const (
	beforeFile   = "file:"   // digest of a file that install replaced
	BeforeFolder = "folder:" // mode and owner
	beforeEmpty  = "empty:"  // a folder that existed and was empty
	beforeUnit   = "unit:"   // enabled and active
)

// InstallFolders are the folders that install's software creates, or that hold what it creates.
var InstallFolders = []string{
	runtimeImports, "/etc/containerd", "/etc/systemd/system/kubelet.service.d", "/opt/cni", "/opt/containerd", runtimeStore, "/run/containerd", "/run/nri",
}

// runtimeStore holds containerd's images and containers.
const runtimeStore = "/var/lib/containerd"

// partOfFolder maps a folder to the part of the software that it belongs to.
var partOfFolder = map[string]topology.Part{
	"/etc/systemd/system/kubelet.service.d": topology.KubeletPart, "/opt/cni": topology.CNIPart, cniPrograms: topology.CNIPart, topology.CNIConfigs: topology.CNIPart, runtimeStore: topology.ImagesPart,
}

// markSoftware records what is there at the paths that install is going to write. Existing records
// stay.
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

// UninstallOperations remove what install has put on the host, except for the parts to keep, and
// restore what was there before.
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

// broughtRuntime reports whether install provided containerd.
func (u *uninstallation) broughtRuntime() bool {
	return u.owns(Units+ContainerdUnit) || u.bringsRuntimePackage()
}

func (u *uninstallation) owns(path string) bool { return slices.Contains(u.Report.Marks.Owned, path) }

// keeps reports whether a part stays: as the configuration says, or as it said when the block was
// last seen.
func (u *uninstallation) keeps(p topology.Part) bool {
	if u.Cluster != nil {
		return slices.Contains(u.Cluster.Install.Keep, string(p))
	}
	return u.before[topology.KeptPart+string(p)] != ""
}

// stopRuntime stops containerd and disables the kubelet's unit while their files are still there.
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

// partOf returns the part of the software that a path belongs to.
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

// folder removes a folder that was not there before; one that was there and empty is emptied.
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
		// containerd restricts its folder's mode.
		u.ops = append(append(u.ops, planner.RemovePath{Path: p, ContentsOnly: true}), RestoreFolder(u.before, p)...)
	}
}

// turnBack reloads systemd after a unit's file was removed or restored, and restores the unit's
// previous state. Of a unit that was there before, only the settings were ours.
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
