package machine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/state"
)

// timePackage is how long the installation of a package takes.
const timePackage = 2 * time.Second

// Package is a package on a host. A removed one hides that of the profile.
type Package struct {
	Version string `json:"version,omitempty"`
	// Status is empty for a completely installed package.
	Status string `json:"status,omitempty"`
	Held   bool   `json:"held,omitempty"`
	// Auto reports whether it was installed as a dependency.
	Auto bool `json:"auto,omitempty"`
	Gone bool `json:"gone,omitempty"`
}

// packageFiles are those files of packages that anything depends on. Dependencies are in
// needs.
var packageFiles = map[string][]string{
	"kubelet": {
		"/usr/bin/kubelet", "/usr/lib/systemd/system/kubelet.service", "/etc/default/kubelet",
		"/etc/kubernetes/manifests/.kubelet-keep", "/var/lib/kubelet/.kubelet-keep",
	},
	"kubeadm":        {"/usr/bin/kubeadm", "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"},
	"kubectl":        {"/usr/bin/kubectl"},
	"kubernetes-cni": {"/opt/cni/bin/bridge", "/opt/cni/bin/host-local", "/opt/cni/bin/loopback", "/opt/cni/bin/portmap"},
	"cri-tools":      {"/usr/bin/crictl"},
	"containerd":     {"/usr/bin/containerd", "/usr/bin/ctr", "/usr/bin/containerd-shim-runc-v2", "/usr/lib/systemd/system/containerd.service", "/etc/containerd/config.toml"},
	"containerd.io":  {"/usr/bin/containerd", "/usr/bin/ctr", "/usr/bin/containerd-shim-runc-v2", "/usr/bin/runc", "/usr/lib/systemd/system/containerd.service", "/etc/containerd/config.toml"},
	"runc":           {"/usr/bin/runc"},
}

var dependencies = map[string][]string{"kubelet": {"kubernetes-cni"}, "kubeadm": {"cri-tools"}, "containerd": {"runc"}}

// defaultVersions are the versions of packages that are not versioned with Kubernetes.
var defaultVersions = map[string]string{"kubernetes-cni": "1.7.1", "cri-tools": "1.36.0", "containerd": "2.1.4", "containerd.io": "2.1.4", "runc": "1.3.0"}

// PackageManager is the database of a machine's package manager.
type PackageManager struct{ m *Machine }

// PackageManager returns the database of the machine's package manager.
func (m *Machine) PackageManager() PackageManager { return PackageManager{m} }

// Name returns the host's package manager.
func (db PackageManager) Name() string {
	switch db.m.HardwareProfile().OS {
	case "debian", "ubuntu":
		return "apt"
	case "fedora", "rhel", "rocky", "almalinux", "centos":
		return "dnf"
	}
	return ""
}

// Get returns a package on the host; false if it is not there.
func (db PackageManager) Get(name string) (Package, bool) {
	if p, ok := db.m.Packages[name]; ok {
		return *p, !p.Gone
	}
	p := db.m.HardwareProfile()
	switch name {
	case "kubelet", "kubeadm", "kubectl":
		return Package{Version: p.KubeletVersion}, p.KubeletVersion != ""
	case "kubernetes-cni":
		return Package{Version: defaultVersions[name], Auto: true}, p.CNI
	case "cri-tools", "runc":
		return Package{Version: defaultVersions[name], Auto: true}, p.RuntimeVersion != ""
	case "containerd":
		return Package{Version: p.RuntimeVersion}, p.RuntimeVersion != ""
	}
	return Package{}, false
}

// Known returns the names of all packages with known files.
func (db PackageManager) Known() []string { return slices.Sorted(maps.Keys(packageFiles)) }

// Set records a package in the database, without changing files.
func (db PackageManager) Set(name string, p Package) {
	delete(db.m.Packages, name)
	if was, there := db.Get(name); there != p.Gone && (p.Gone || was == p) {
		return
	}
	if db.m.Packages == nil {
		db.m.Packages = map[string]*Package{}
	}
	db.m.Packages[name] = &p
}

// Report returns the answers of the package manager and the repository.
func (db PackageManager) Report(q state.PackageQuery) state.PackageReport {
	r := state.PackageReport{Manager: db.Name(), Installed: map[string]state.Package{}, Locked: db.m.Conditions.PackageLock}
	if len(q.Names) == 0 || r.Manager == "" {
		return state.PackageReport{}
	}
	for _, name := range q.Names {
		if p, there := db.Get(name); there {
			r.Installed[name] = state.Package{Version: p.Version, Status: p.State(), Held: p.Held}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(db.m.Packages)) {
		if p := db.m.Packages[name]; p.Status != "" {
			r.Broken = append(r.Broken, name+" ("+p.Status+")")
		}
	}
	for _, name := range q.Versioned {
		switch {
		case r.Installed[name].Version == q.Version:
		case db.m.Conditions.NoMirror:
			r.Unreachable = "Could not resolve host"
		case db.m.Conditions.lacks(name, q.Version):
			r.Missing = append(r.Missing, name)
		}
	}
	return r
}

// State returns the package's state in dpkg's words.
func (p Package) State() string {
	if p.Status == "" {
		return "installed"
	}
	return p.Status
}

// Change installs packages, or removes them.
func (db PackageManager) Change(op planner.Packages) (bool, error) {
	if op.Manager != db.Name() {
		return false, db.m.CommandError(op.Summary(), 127, op.Manager+": not found")
	}
	if db.m.Conditions.PackageLock != "" {
		return false, db.m.CommandError(op.Summary(), 100, "Could not get lock /var/lib/dpkg/lock-frontend. It is held by "+db.m.Conditions.PackageLock)
	}
	changed := false
	for _, p := range op.List {
		was, there := db.Get(p.Name)
		switch {
		case op.Remove && there:
			db.purge(p.Name)
			changed = true
			continue
		case op.Remove:
			continue
		case !there || was.Status != "" || p.Version != "" && was.Version != p.Version:
			if err := db.install(op, p); err != nil {
				return changed, err
			}
			changed = true
		}
		changed = db.hold(p) || changed
	}
	return changed, nil
}

// hold sets whether upgrades skip a package.
func (db PackageManager) hold(p planner.Package) bool {
	now, _ := db.Get(p.Name)
	held := now.Held && p.Hold != planner.Unhold || p.Hold == planner.Hold
	if now.Held == held {
		return false
	}
	now.Held = held
	db.Set(p.Name, now)
	return true
}

func (db PackageManager) install(op planner.Packages, p planner.Package) error {
	fail := func(format string, args ...any) error {
		return db.m.CommandError(op.Summary(), 100, fmt.Sprintf(format, args...))
	}
	version := p.Version
	if version == "" {
		version = defaultVersions[p.Name]
	}
	switch {
	case packageFiles[p.Name] == nil:
		return fail("E: Unable to locate package %s", p.Name)
	case db.m.Conditions.NoMirror:
		return fail("E: Failed to fetch: Could not resolve host")
	case p.Version != "" && (!db.hasRepository(p.Version) || db.m.Conditions.lacks(p.Name, p.Version)):
		return fail("E: Version '%s-*' for '%s' was not found", p.Version, p.Name)
	case db.m.Conditions.DiskFull:
		return fail("E: Write error - write (28: No space left on device)")
	}
	for _, need := range dependencies[p.Name] {
		if _, there := db.Get(need); !there {
			db.unpack(need, Package{Version: defaultVersions[need], Auto: true})
		}
	}
	db.unpack(p.Name, Package{Version: version})
	return nil
}

// hasRepository reports whether the host has a repository for the version, and its key.
func (db PackageManager) hasRepository(version string) bool {
	files := map[string][]string{
		"apt": {"/etc/apt/sources.list.d/kubernetes.list", "/etc/apt/keyrings/kubernetes-apt-keyring.asc"},
		"dnf": {"/etc/yum.repos.d/kubernetes.repo", "/etc/pki/rpm-gpg/RPM-GPG-KEY-kubernetes"},
	}[db.Name()]
	minor := version[:strings.LastIndexByte(version, '.')]
	repository := string(db.m.fleet.Content(db.m.File(files[0])))
	return db.m.File(files[1]) != nil && strings.Contains(repository, "/v"+minor+"/") && strings.Contains(repository, files[1])
}

// unpack writes a package's files and starts its services. Existing settings stay.
func (db PackageManager) unpack(name string, p Package) {
	if was, there := db.Get(name); there {
		p.Held, p.Auto = was.Held, p.Auto && was.Auto
	}
	for _, path := range packageFiles[name] {
		if strings.HasPrefix(path, "/etc/") && db.m.File(path) != nil {
			continue
		}
		mode := ""
		if strings.Contains(path, "/bin/") {
			mode = "0755"
		}
		db.m.Put(path, file.Opaque(path+" of "+name+" "+p.Version, mode))
		if mode != "" && (name == "containerd" || name == "containerd.io" || defaultVersions[name] == "") {
			SetText(&db.m.Versions, path, p.Version, "")
		}
	}
	db.Set(name, p)
	switch name {
	case "containerd", "containerd.io":
		db.m.Systemd().setUnit("containerd", Unit{Active: true, Enabled: true})
		db.m.Systemd().makeStore()
	case "kubelet":
		u, _ := db.m.Systemd().Unit(name)
		db.m.Systemd().setUnit(name, Unit{Active: u.Active, Enabled: true})
	}
	db.m.fleet.Advance(timePackage)
}

// purge removes a package, and its dependencies that nothing needs.
func (db PackageManager) purge(name string) {
	for _, path := range packageFiles[name] {
		db.m.Remove(path)
		for dir := file.Parent(path); db.m.Baseline().files[dir] == nil && db.m.File(dir) != nil && len(db.m.Children(dir)) == 0; dir = file.Parent(dir) {
			db.m.Remove(dir)
		}
	}
	db.Set(name, Package{Gone: true})
	for _, need := range dependencies[name] {
		p, there := db.Get(need)
		needed := slices.ContainsFunc(slices.Collect(maps.Keys(dependencies)), func(other string) bool {
			_, stays := db.Get(other)
			return stays && slices.Contains(dependencies[other], need)
		})
		// Packages of the profile were there before.
		if _, ours := db.m.Packages[need]; there && p.Auto && ours && !needed {
			db.purge(need)
		}
	}
}

// Interrupt leaves the first package of the installation half-configured.
func (db PackageManager) Interrupt(op planner.Packages) {
	for _, p := range op.List {
		was, there := db.Get(p.Name)
		switch {
		case op.Remove && there:
			db.purge(p.Name)
			return
		case !op.Remove && (!there || p.Version != "" && was.Version != p.Version) && packageFiles[p.Name] != nil:
			db.unpack(p.Name, Package{Version: cmp.Or(p.Version, defaultVersions[p.Name]), Status: "half-configured"})
			return
		}
	}
}
