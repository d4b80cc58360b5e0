package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// timePackage is how long it takes to install a package.
const timePackage = 2 * time.Second

// pkg is a package on a host. One that is gone hides that of the profile.
type pkg struct {
	Version string `json:"version,omitempty"`
	// Status is empty for one that is installed whole.
	Status string `json:"status,omitempty"`
	Held   bool   `json:"held,omitempty"`
	// Auto reports whether it came along with another one.
	Auto bool `json:"auto,omitempty"`
	Gone bool `json:"gone,omitempty"`
}

// contents are the files of packages, as far as anything rests on them. What
// another package needs is in needs.
var contents = map[string][]string{
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

var needs = map[string][]string{"kubelet": {"kubernetes-cni"}, "kubeadm": {"cri-tools"}, "containerd": {"runc"}}

// latest are versions of packages that do not follow Kubernetes'.
var latest = map[string]string{"kubernetes-cni": "1.7.1", "cri-tools": "1.36.0", "containerd": "2.1.4", "containerd.io": "2.1.4", "runc": "1.3.0"}

// manager returns the host's package manager.
func (w *World) manager(m *machine) string {
	switch w.profile(m).OS {
	case "debian", "ubuntu":
		return "apt"
	case "fedora", "rhel", "rocky", "almalinux", "centos":
		return "dnf"
	}
	return ""
}

// pkg returns a package on the host; false when it is not there.
func (w *World) pkg(m *machine, name string) (pkg, bool) {
	if p, ok := m.Packages[name]; ok {
		return *p, !p.Gone
	}
	p := w.profile(m)
	switch name {
	case "kubelet", "kubeadm", "kubectl":
		return pkg{Version: p.KubeletVersion}, p.KubeletVersion != ""
	case "kubernetes-cni":
		return pkg{Version: latest[name], Auto: true}, p.CNI
	case "cri-tools", "runc":
		return pkg{Version: latest[name], Auto: true}, p.RuntimeVersion != ""
	case "containerd":
		return pkg{Version: p.RuntimeVersion}, p.RuntimeVersion != ""
	}
	return pkg{}, false
}

func (w *World) setPkg(m *machine, name string, p pkg) {
	delete(m.Packages, name)
	if was, there := w.pkg(m, name); there != p.Gone && (p.Gone || was == p) {
		return
	}
	if m.Packages == nil {
		m.Packages = map[string]*pkg{}
	}
	m.Packages[name] = &p
}

// packageReport returns what the package manager and the repository say.
func (w *World) packageReport(m *machine, q state.PackageQuery) state.PackageReport {
	r := state.PackageReport{Manager: w.manager(m), Installed: map[string]state.Package{}, Locked: m.Conditions.PackageLock}
	if len(q.Names) == 0 || r.Manager == "" {
		return state.PackageReport{}
	}
	for _, name := range q.Names {
		if p, there := w.pkg(m, name); there {
			r.Installed[name] = state.Package{Version: p.Version, Status: p.status(), Held: p.Held}
		}
	}
	for _, name := range sortedKeys(m.Packages) {
		if p := m.Packages[name]; p.Status != "" {
			r.Broken = append(r.Broken, name+" ("+p.Status+")")
		}
	}
	for _, name := range q.Versioned {
		switch {
		case r.Installed[name].Version == q.Version:
		case m.Conditions.NoMirror:
			r.Unreachable = "Could not resolve host"
		case m.Conditions.lacks(name, q.Version):
			r.Missing = append(r.Missing, name)
		}
	}
	return r
}

func (p pkg) status() string {
	if p.Status == "" {
		return "installed"
	}
	return p.Status
}

// lacks reports whether the repository does not have a package in the version.
func (c Conditions) lacks(name, version string) bool {
	return slices.Contains(c.NoPackages, name+"="+version)
}

// changePackages installs packages, or removes them.
func (w *World) changePackages(m *machine, op planner.Packages) (bool, error) {
	if op.Manager != w.manager(m) {
		return false, m.commandError(op.Summary(), 127, op.Manager+": not found")
	}
	if m.Conditions.PackageLock != "" {
		return false, m.commandError(op.Summary(), 100, "Could not get lock /var/lib/dpkg/lock-frontend. It is held by "+m.Conditions.PackageLock)
	}
	changed := false
	for _, p := range op.List {
		was, there := w.pkg(m, p.Name)
		switch {
		case op.Remove && there:
			w.purge(m, p.Name)
			changed = true
			continue
		case op.Remove:
			continue
		case !there || was.Status != "" || p.Version != "" && was.Version != p.Version:
			if err := w.installPackage(m, op, p); err != nil {
				return changed, err
			}
			changed = true
		}
		changed = w.hold(m, p) || changed
	}
	return changed, nil
}

// hold marks a package that upgrades are to leave alone.
func (w *World) hold(m *machine, p planner.Package) bool {
	now, _ := w.pkg(m, p.Name)
	held := now.Held && p.Hold != planner.Unhold || p.Hold == planner.Hold
	if now.Held == held {
		return false
	}
	now.Held = held
	w.setPkg(m, p.Name, now)
	return true
}

func (w *World) installPackage(m *machine, op planner.Packages, p planner.Package) error {
	fail := func(format string, args ...any) error {
		return m.commandError(op.Summary(), 100, fmt.Sprintf(format, args...))
	}
	version := p.Version
	if version == "" {
		version = latest[p.Name]
	}
	switch {
	case contents[p.Name] == nil:
		return fail("E: Unable to locate package %s", p.Name)
	case m.Conditions.NoMirror:
		return fail("E: Failed to fetch: Could not resolve host")
	case p.Version != "" && (!w.repositoryOf(m, p.Version) || m.Conditions.lacks(p.Name, p.Version)):
		return fail("E: Version '%s-*' for '%s' was not found", p.Version, p.Name)
	case m.Conditions.DiskFull:
		return fail("E: Write error - write (28: No space left on device)")
	}
	for _, need := range needs[p.Name] {
		if _, there := w.pkg(m, need); !there {
			w.unpack(m, need, pkg{Version: latest[need], Auto: true})
		}
	}
	w.unpack(m, p.Name, pkg{Version: version})
	return nil
}

// repositoryOf reports whether the host has a repository of the version, and its key.
func (w *World) repositoryOf(m *machine, version string) bool {
	files := map[string][]string{
		"apt": {"/etc/apt/sources.list.d/kubernetes.list", "/etc/apt/keyrings/kubernetes-apt-keyring.asc"},
		"dnf": {"/etc/yum.repos.d/kubernetes.repo", "/etc/pki/rpm-gpg/RPM-GPG-KEY-kubernetes"},
	}[w.manager(m)]
	minor := version[:strings.LastIndexByte(version, '.')]
	repository := string(w.content(w.get(m, files[0])))
	return w.get(m, files[1]) != nil && strings.Contains(repository, "/v"+minor+"/") && strings.Contains(repository, files[1])
}

// unpack puts a package's files in place and starts what it starts. Settings
// that are there stay.
func (w *World) unpack(m *machine, name string, p pkg) {
	if was, there := w.pkg(m, name); there {
		p.Held, p.Auto = was.Held, p.Auto && was.Auto
	}
	for _, path := range contents[name] {
		if strings.HasPrefix(path, "/etc/") && w.get(m, path) != nil {
			continue
		}
		mode := ""
		if strings.Contains(path, "/bin/") {
			mode = "0755"
		}
		w.put(m, path, w.opaque(path+" of "+name+" "+p.Version, mode))
		if mode != "" && (name == "containerd" || name == "containerd.io" || latest[name] == "") {
			setText(&m.Versions, path, p.Version, "")
		}
	}
	w.setPkg(m, name, p)
	switch name {
	case "containerd", "containerd.io":
		w.setUnit(m, "containerd", unit{Active: true, Enabled: true})
		w.makeStore(m)
	case "kubelet":
		u, _ := w.unit(m, name)
		w.setUnit(m, name, unit{Active: u.Active, Enabled: true})
	}
	w.advance(timePackage)
}

// purge takes off a package, and what came along for it and nothing needs.
func (w *World) purge(m *machine, name string) {
	for _, path := range contents[name] {
		w.remove(m, path)
		for dir := parent(path); w.base(m).files[dir] == nil && w.get(m, dir) != nil && len(w.children(m, dir)) == 0; dir = parent(dir) {
			w.remove(m, dir)
		}
	}
	w.setPkg(m, name, pkg{Gone: true})
	for _, need := range needs[name] {
		p, there := w.pkg(m, need)
		needed := slices.ContainsFunc(slices.Collect(maps.Keys(needs)), func(other string) bool {
			_, stays := w.pkg(m, other)
			return stays && slices.Contains(needs[other], need)
		})
		// Those of the profile were there before.
		if _, ours := m.Packages[need]; there && p.Auto && ours && !needed {
			w.purge(m, need)
		}
	}
}

// halfPackages leaves the first package that is not there yet configured by half.
func (w *World) halfPackages(m *machine, op planner.Packages) {
	for _, p := range op.List {
		was, there := w.pkg(m, p.Name)
		switch {
		case op.Remove && there:
			w.purge(m, p.Name)
			return
		case !op.Remove && (!there || p.Version != "" && was.Version != p.Version) && contents[p.Name] != nil:
			w.unpack(m, p.Name, pkg{Version: cmp.Or(p.Version, latest[p.Name]), Status: "half-configured"})
			return
		}
	}
}
