package phases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Packages are the other source of the software that install puts in place. The
// repository and its key are files like any other; the packages are items with
// the version that they have and whether they are held, asked of the package
// manager's data base in the same round trip as everything else.

// The package managers.
const (
	apt = "apt"
	dnf = "dnf"
)

// Files of package managers. apt takes an armored key where its name says so,
// and reads it for this repository alone; names are those of Kubernetes' guide,
// so that a repository which somebody wrote by it is replaced and not doubled.
const (
	aptKey        = "/etc/apt/keyrings/kubernetes-apt-keyring.asc"
	aptRepository = "/etc/apt/sources.list.d/kubernetes.list"
	dnfKey        = "/etc/pki/rpm-gpg/RPM-GPG-KEY-kubernetes"
	dnfRepository = "/etc/yum.repos.d/kubernetes.repo"
)

const kubeletPackage = "kubelet"

// beforePackage is, in Marks.Before, what a package was before it was installed:
// "" when it was not there, installed or held. packageManager is who installed them.
const (
	beforePackage  = "package:"
	packageManager = "package-manager"
)

// packageManagers is the manager of the host; both while that is not known.
func (n *node) packageManagers() []string {
	switch {
	case n.cluster.Install.Packages == nil:
		return nil
	case n.report == nil:
		return []string{apt, dnf}
	case n.report.Packages.Manager == "":
		return nil
	}
	return []string{n.report.Packages.Manager}
}

// packages are those that the node is to have, in order.
func (n *node) packages() []planner.Package {
	managers := n.packageManagers()
	if len(managers) == 0 {
		return nil
	}
	p, hold := n.cluster.Install.Packages, ""
	if p.Hold && slices.Contains(managers, apt) {
		hold = planner.Hold // dnf leaves out what its repository's file excludes
	}
	var out []planner.Package
	if p.Runtime != "" {
		out = append(out, planner.Package{Name: p.Runtime, Hold: hold})
	}
	for _, name := range p.Kubernetes() {
		out = append(out, planner.Package{Name: name, Version: n.cluster.KubernetesVersion, Hold: hold})
	}
	return out
}

func (n *node) packageItems() []state.Item {
	var out []state.Item
	for _, p := range n.packages() {
		pairs := []any{}
		if p.Version != "" {
			pairs = append(pairs, "version", p.Version)
		}
		if p.Hold == planner.Hold {
			pairs = append(pairs, "held", true)
		}
		out = append(out, state.Item{
			Address: item(n.target, installPhase, "package", p.Name), Kind: state.KindPackage, Attributes: attributes(pairs...),
			Origin: map[string]state.Source{"": n.cluster.origin("install.packages"), "version": n.cluster.origin("kubernetes_version")},
		})
	}
	return out
}

// observePackage is a package as far as the item speaks of it, and its status
// where it is there in part.
func observePackage(it *state.Item, p state.Package) (state.Value, bool) {
	pairs := []any{}
	if !it.Attributes.Get("version").IsNull() {
		pairs = append(pairs, "version", p.Version)
	}
	if !it.Attributes.Get("held").IsNull() {
		pairs = append(pairs, "held", p.Held)
	}
	if p.Status != packageInstalled {
		pairs = append(pairs, "status", p.Status)
	}
	return attributes(pairs...), p.Status != ""
}

const packageInstalled = "installed"

// packagesQuery asks the package manager for what is wanted, and for it the
// repository where it is not there.
func (n *node) packagesQuery(q *state.Query) {
	p := n.cluster.Install.Packages
	if p == nil {
		return
	}
	q.Packages.Versioned, q.Packages.Version = p.Kubernetes(), n.cluster.KubernetesVersion
	q.Packages.Apt, q.Packages.Dnf = p.URL(q.Packages.Version, "deb"), p.URL(q.Packages.Version, "rpm")
	for _, path := range []string{units + kubeletUnit, units + containerdUnit} {
		q.Files = append(q.Files, state.FileQuery{Path: path})
	}
}

// packagesMisfit tells that the packages are not on the host as they are wanted:
// its kubelet gets another version.
func (n *node) packagesMisfit() bool {
	return len(n.packages()) > 0 && n.report.Packages.Installed[kubeletPackage].Version != n.cluster.KubernetesVersion
}

// packageFiles are the files that go with packages.
func (n *node) packageFiles() software {
	var out software
	p := n.cluster.Install.Packages
	// nil without packages: there is no manager then.
	for _, manager := range n.packageManagers() {
		switch manager {
		case apt:
			out = append(out,
				installed{path: aptKey, part: kubeletPart, content: p.Key},
				installed{path: aptRepository, part: kubeletPart, content: aptSource(p.URL(n.cluster.KubernetesVersion, "deb"))})
		case dnf:
			out = append(out,
				installed{path: dnfKey, part: kubeletPart, content: p.Key},
				installed{path: dnfRepository, part: kubeletPart, content: dnfSource(p, n.cluster.KubernetesVersion)})
		}
	}
	if len(out) == 0 {
		return nil
	}
	if p.Runtime != "" {
		// Which version comes is not known: containerd 2 takes the format of 1 as well.
		out = append(out, installed{path: runtimeConfig, part: runtimePart, content: containerdConfig("1.", kubeadm.PauseImage(n.input()), false), digestOnly: true})
	}
	if slices.Contains(p.Tools, "kubeadm") {
		// Its package has the kubelet's drop-in, and brings crictl.
		return append(out, installed{path: crictlConfig, part: runtimePart, content: n.crictlConfig()})
	}
	return append(out, installed{path: kubeletDropIn, part: kubeletPart, content: kubeletServiceDropIn("/usr/bin/kubelet")})
}

func aptSource(url string) string {
	return fmt.Sprintf("# written by kubewright\ndeb [signed-by=%s] %s /\n", aptKey, url)
}

// dnfSource is the repository for dnf. What it excludes is installed only by
// whoever says so; that is how dnf holds packages without a plug-in.
func dnfSource(p *config.Packages, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# written by kubewright\n[kubernetes]\nname=Kubernetes\nbaseurl=%s\nenabled=1\ngpgcheck=1\ngpgkey=file://%s\n", p.URL(version, "rpm"), dnfKey)
	if p.Hold {
		b.WriteString("exclude=kubelet kubeadm kubectl cri-tools kubernetes-cni\n")
	}
	return b.String()
}

// choosePackages collects the packages among the changes. One that is only held
// anew restarts nothing.
func (i *installation) choosePackages(w work) {
	for _, p := range i.packages() {
		k := slices.IndexFunc(w.changes, func(c planner.Change) bool { return c.Kind == state.KindPackage && c.Address.ID() == p.Name })
		if k < 0 {
			continue
		}
		i.list = append(i.list, p)
		if comes(w.changes[k]) {
			i.touched[partOfPackage(p.Name)] = true
		}
	}
}

// comes tells that a package is installed, and not only held or let go.
func comes(c planner.Change) bool {
	return c.Action == planner.Create || slices.ContainsFunc(c.Attributes, func(a planner.AttributeChange) bool { return a.Path != "held" })
}

// heldNote says, where dnf installs the runtime, what upgrades of the host leave alone.
// What a repository's file excludes is left alone in that repository, and that of the
// runtime is not ours; a file of dnf's for all of them that could be added and taken
// away again is not there before dnf 5, and its plug-in for that may not be installed.
func (i *installation) heldNote() string {
	p := i.cluster.Install.Packages
	runtime := slices.ContainsFunc(i.list, func(o planner.Package) bool { return p.Runtime != "" && o.Name == p.Runtime })
	if !runtime || !p.Hold || i.report.Packages.Manager != dnf {
		return ""
	}
	return fmt.Sprintf("upgrades of the host leave %s alone, by the repository's file, and not %s", strings.Join(p.Kubernetes(), ", "), p.Runtime)
}

// partOfPackage tells with which part of the software a package goes. kubeadm
// and kubectl start nothing anew.
func partOfPackage(name string) part {
	switch name {
	case kubeletPackage:
		return kubeletPart
	case "kubeadm", "kubectl":
		return toolsPart
	}
	return runtimePart
}

// packageOperations installs what is to change, with the host's manager.
func (i *installation) packageOperations() []planner.Operation {
	if len(i.list) == 0 {
		return nil
	}
	return []planner.Operation{packagesWith(i.report.Packages.Manager, i.list)}
}

func packagesWith(manager string, list []planner.Package) planner.Packages {
	return planner.Packages{Manager: manager, Repository: map[string]string{apt: aptRepository, dnf: dnfRepository}[manager], List: list}
}

// markPackages remembers what the packages were before.
func (n *node) markPackages(m *state.Marks) {
	for _, p := range n.packages() {
		if _, known := m.Before[beforePackage+p.Name]; known {
			continue
		}
		m.Before[packageManager] = n.report.Packages.Manager
		switch was := n.report.Packages.Installed[p.Name]; {
		case was.Status == "":
			m.Before[beforePackage+p.Name] = ""
		case was.Held:
			m.Before[beforePackage+p.Name] = "held"
		default:
			m.Before[beforePackage+p.Name] = packageInstalled
		}
	}
}

// packages takes away the packages that install has brought. Others stay, in
// the version that they have by now, and are held as they were before.
func (u *uninstallation) packages() {
	var gone, free []planner.Package
	for _, key := range sortedNames(u.before) {
		name, ok := strings.CutPrefix(key, beforePackage)
		switch {
		case !ok || u.keepsPackage(name):
		case u.before[key] == "":
			gone = append(gone, planner.Package{Name: name})
		case u.before[key] == packageInstalled && u.before[packageManager] == apt:
			free = append(free, planner.Package{Name: name, Hold: planner.Unhold})
		}
	}
	if len(gone) > 0 {
		op := packagesWith(u.before[packageManager], gone)
		op.Remove = true
		u.ops = append(u.ops, op)
	}
	if len(free) > 0 {
		u.ops = append(u.ops, packagesWith(u.before[packageManager], free))
	}
}

func (u *uninstallation) keepsPackage(name string) bool {
	p := partOfPackage(name)
	if p == toolsPart {
		p = kubeletPart
	}
	return u.keeps(p)
}

// bringsRuntimePackage tells that the runtime is a package that install brought.
func (u *uninstallation) bringsRuntimePackage() bool {
	for key, was := range u.before {
		if name, ok := strings.CutPrefix(key, beforePackage); ok && was == "" && partOfPackage(name) == runtimePart {
			return true
		}
	}
	return false
}
