package phases

import (
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// What a host remembers for the day when the software of install goes. Marks.Owned
// are the paths that install has put something at; Before has under these
// prefixes what stood there.
const (
	beforeFile   = "file:"   // digest of a file that ours was put over
	beforeFolder = "folder:" // mode and owner
	beforeEmpty  = "empty:"  // a folder that was there and held nothing
	beforeUnit   = "unit:"   // enabled and active
	keptPart     = "keep:"   // what install.keep named
)

// installFolders are made by the software of install, or hold what it makes.
var installFolders = []string{
	runtimeImports, "/etc/containerd", "/etc/systemd/system/kubelet.service.d", "/opt/cni", "/opt/containerd", runtimeStore, "/run/containerd", "/run/nri",
}

// runtimeStore holds containerd's images and containers.
const runtimeStore = "/var/lib/containerd"

// partOfFolder tells with which part of the software a folder goes.
var partOfFolder = map[string]part{
	"/etc/systemd/system/kubelet.service.d": kubeletPart, "/opt/cni": cniPart, cniPrograms: cniPart, cniConfigs: cniPart, runtimeStore: imagesPart,
}

// markSoftware remembers what stood where install is going to put something.
// What is known already stays as it is.
func (n *node) markSoftware(m *state.Marks) {
	s := n.software()
	if len(s) == 0 {
		return
	}
	if m.Before == nil {
		m.Before = map[string]string{}
	}
	if len(m.Owned) == 0 {
		n.markFolders(m)
		u := n.report.Units[containerdUnit]
		m.Before[beforeUnit+containerdUnit] = u.Enabled + " " + u.Active
	}
	for _, f := range s {
		if slices.Contains(m.Owned, f.path) {
			continue
		}
		m.Owned = append(m.Owned, f.path)
		if was := n.report.Files[f.path]; was.Exists {
			m.Before[beforeFile+f.path] = "sha256:" + was.SHA256
		}
	}
	n.markPackages(m)
	slices.Sort(m.Owned)
	for _, p := range []part{runtimePart, kubeletPart, cniPart, imagesPart} {
		delete(m.Before, keptPart+string(p))
		if slices.Contains(n.cluster.Install.Keep, string(p)) {
			m.Before[keptPart+string(p)] = "yes"
		}
	}
}

func (n *node) markFolders(m *state.Marks) {
	for _, p := range installFolders {
		f := n.report.Files[p]
		if !f.Exists {
			continue
		}
		m.Before[beforeFolder+p] = f.Mode + " " + f.Owner
		if f.Entries == 0 {
			m.Before[beforeEmpty+p] = "yes"
		}
	}
}

// uninstallOperations take away what install has put on the host, but for what
// it was told to keep, and put back what stood there before.
func (l leaver) uninstallOperations() []planner.Operation {
	if l.report == nil || l.report.Marks == nil || len(l.report.Marks.Owned) == 0 {
		return nil
	}
	u := uninstallation{leaver: l, before: l.report.Marks.Before}
	u.stopRuntime()
	u.packages()
	for _, p := range l.report.Marks.Owned {
		u.file(p)
	}
	for _, p := range slices.Concat(installFolders, []string{cniPrograms, cniConfigs}) {
		u.folder(p)
	}
	u.turnBack(containerdUnit, runtimePart)
	u.turnBack(kubeletUnit, kubeletPart)
	return u.ops
}

type uninstallation struct {
	leaver
	before map[string]string
	ops    []planner.Operation
}

// broughtRuntime tells that containerd is install's.
func (u *uninstallation) broughtRuntime() bool {
	return u.owns(units+containerdUnit) || u.bringsRuntimePackage()
}

func (u *uninstallation) owns(path string) bool { return slices.Contains(u.report.Marks.Owned, path) }

// keeps tells that a part stays: as the configuration has it, or had it when
// the block was last seen.
func (u *uninstallation) keeps(p part) bool {
	if u.cluster != nil {
		return slices.Contains(u.cluster.Install.Keep, string(p))
	}
	return u.before[keptPart+string(p)] != ""
}

// stopRuntime ends containerd and the kubelet's unit while their files are there.
func (u *uninstallation) stopRuntime() {
	if u.broughtRuntime() && !u.keeps(runtimePart) {
		u.ops = append(u.ops,
			planner.Unit{Unit: containerdUnit, Action: "stop"}, planner.Unit{Unit: containerdUnit, Action: "disable"},
			planner.Unmount{Below: "/run/containerd"})
	}
	if u.owns(units+kubeletUnit) && !u.keeps(kubeletPart) {
		u.ops = append(u.ops, planner.Unit{Unit: kubeletUnit, Action: "disable"})
	}
}

// partOf tells which part of the software a path is of.
func partOf(p string) part {
	switch {
	case strings.HasPrefix(p, cniPrograms+"/"):
		return cniPart
	case strings.HasPrefix(path.Base(p), "kube"), p == kubeletDropIn, p == dnfKey:
		return kubeletPart
	}
	return runtimePart
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
		of = runtimePart
	}
	switch {
	case p == cniConfigs && u.sharesNetworks():
	case u.keeps(of) || (of == runtimePart || of == imagesPart) && !u.broughtRuntime():
	case u.before[beforeFolder+p] == "":
		u.ops = append(u.ops, planner.RemovePath{Path: p})
	case u.before[beforeEmpty+p] != "":
		// containerd closes its folder to others.
		u.ops = append(append(u.ops, planner.RemovePath{Path: p, ContentsOnly: true}), putBack(u.before, p)...)
	}
}

// turnBack makes systemd see that a unit's file is gone or another one, and
// the unit what it was. Of a unit that was there before, its settings were ours.
func (u *uninstallation) turnBack(unit string, p part) {
	settings := map[string]string{containerdUnit: runtimeConfig, kubeletUnit: kubeletDropIn}[unit]
	if !u.owns(units+unit) && !u.owns(settings) || u.keeps(p) {
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
