package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Packages are the other source of the software that install installs. The repository and its key
// are files like any other; packages are items with their version and whether they are held, read
// from the package manager's database in the same round trip as everything else.

// The package managers.
const (
	Apt = "apt"
	Dnf = "dnf"
)

// Files of package managers. apt recognizes an armored key by its file extension, and trusts it for
// this repository alone. The names are those of Kubernetes' installation guide, so that a
// repository which a user added by that guide is replaced and not duplicated.
const (
	aptKey        = "/etc/apt/keyrings/kubernetes-apt-keyring.asc"
	aptRepository = "/etc/apt/sources.list.d/kubernetes.list"
	dnfKey        = "/etc/pki/rpm-gpg/RPM-GPG-KEY-kubernetes"
	dnfRepository = "/etc/yum.repos.d/kubernetes.repo"
)

const kubeletPackage = "kubelet"

// beforePackage prefixes, in Marks.Before, the status of a package before install touched it: ""
// when it was absent, else installed or held. PackageManager is the key of the manager that
// installed them.
const (
	beforePackage  = "package:"
	PackageManager = "package-manager"
)

// packageManagers returns the manager of the host; both while it is unknown.
func packageManagers(n *topology.Node) []string {
	switch {
	case n.Cluster.Install.Packages == nil:
		return nil
	case n.Report == nil:
		return []string{Apt, Dnf}
	case n.Report.Packages.Manager == "":
		return nil
	}
	return []string{n.Report.Packages.Manager}
}

// packages returns the packages that the node is to have, in order.
func packages(n *topology.Node) []planner.Package {
	managers := packageManagers(n)
	if len(managers) == 0 {
		return nil
	}
	p, hold := n.Cluster.Install.Packages, ""
	if p.Hold && slices.Contains(managers, Apt) {
		hold = planner.Hold // dnf skips the packages that the repository's file excludes
	}
	var out []planner.Package
	if p.Runtime != "" {
		out = append(out, planner.Package{Name: p.Runtime, Hold: hold})
	}
	for _, name := range p.Kubernetes() {
		out = append(out, planner.Package{Name: name, Version: n.Cluster.KubernetesVersion, Hold: hold})
	}
	return out
}

func packageItems(n *topology.Node) []state.Item {
	var out []state.Item
	for _, p := range packages(n) {
		pairs := []any{}
		if p.Version != "" {
			pairs = append(pairs, "version", p.Version)
		}
		if p.Hold == planner.Hold {
			pairs = append(pairs, "held", true)
		}
		out = append(out, state.Item{
			Address: topology.ItemAddress(n.Target, topology.InstallPhase, "package", p.Name), Kind: state.KindPackage, Attributes: topology.Attributes(pairs...),
			Origin: map[string]state.Source{"": provenance.ClusterOrigin(n.Cluster, "install.packages"), "version": provenance.ClusterOrigin(n.Cluster, "kubernetes_version")},
		})
	}
	return out
}

// ObservePackage returns the attributes of a package that the item refers to, and its status where
// it is only partly installed. It reports whether the package is there at all.
func ObservePackage(it *state.Item, p state.Package) (state.Value, bool) {
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
	return topology.Attributes(pairs...), p.Status != ""
}

const packageInstalled = "installed"

// PackagesQuery queries the package manager for the desired packages and, where the host lacks one in
// its version, whether the repository has it.
func PackagesQuery(n *topology.Node, q *state.Query) {
	p := n.Cluster.Install.Packages
	if p == nil {
		return
	}
	q.Packages.Versioned, q.Packages.Version = p.Kubernetes(), n.Cluster.KubernetesVersion
	q.Packages.Apt, q.Packages.Dnf = p.URL(q.Packages.Version, "deb"), p.URL(q.Packages.Version, "rpm")
	for _, path := range []string{Units + topology.KubeletUnit, Units + ContainerdUnit} {
		q.Files = append(q.Files, state.FileQuery{Path: path})
	}
}

// PackagesMisfit reports whether the host's packages differ from the desired version, so that its
// kubelet gets another one.
func PackagesMisfit(n *topology.Node) bool {
	return len(packages(n)) > 0 && n.Report.Packages.Installed[kubeletPackage].Version != n.Cluster.KubernetesVersion
}

// packageFiles returns the files that accompany packages.
func packageFiles(n *topology.Node) software {
	var out software
	p := n.Cluster.Install.Packages
	// There is no manager without packages, so p is not nil here.
	for _, manager := range packageManagers(n) {
		switch manager {
		case Apt:
			out = append(out,
				Installed{Path: aptKey, part: topology.KubeletPart, content: p.Key},
				Installed{Path: aptRepository, part: topology.KubeletPart, content: aptSource(p.URL(n.Cluster.KubernetesVersion, "deb"))})
		case Dnf:
			out = append(out,
				Installed{Path: dnfKey, part: topology.KubeletPart, content: p.Key},
				Installed{Path: dnfRepository, part: topology.KubeletPart, content: dnfSource(p, n.Cluster.KubernetesVersion)})
		}
	}
	if len(out) == 0 {
		return nil
	}
	if p.Runtime != "" {
		// The version of the runtime is unknown here: containerd 2 reads the format of 1 as well.
		out = append(out, Installed{Path: RuntimeConfig, part: topology.RuntimePart, content: containerdConfig("1.", kubeadm.PauseImage(n.Input()), false), digestOnly: true})
	}
	if slices.Contains(p.Tools, "kubeadm") {
		// Its package contains the kubelet's drop-in and depends on crictl.
		return append(out, Installed{Path: crictlConfig, part: topology.RuntimePart, content: nodeCrictlConfig(n)})
	}
	return append(out, Installed{Path: kubeletDropIn, part: topology.KubeletPart, content: kubeletServiceDropIn("/usr/bin/kubelet")})
}

func aptSource(url string) string {
	return fmt.Sprintf("# written by kubewright\ndeb [signed-by=%s] %s /\n", aptKey, url)
}

// dnfSource returns the repository for dnf. Excluded packages are installed only where the command
// disables the exclusion; that is how dnf holds packages without a plug-in.
func dnfSource(p *config.Packages, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# written by kubewright\n[kubernetes]\nname=Kubernetes\nbaseurl=%s\nenabled=1\ngpgcheck=1\ngpgkey=file://%s\n", p.URL(version, "rpm"), dnfKey)
	if p.Hold {
		b.WriteString("exclude=kubelet kubeadm kubectl cri-tools kubernetes-cni\n")
	}
	return b.String()
}

// choosePackages collects the packages among the changes. A package that only has to be held
// restarts nothing.
func (i *installation) choosePackages(w topology.PhaseWork) {
	for _, p := range packages(i.Node) {
		k := slices.IndexFunc(w.Changes, func(c planner.Change) bool { return c.Kind == state.KindPackage && c.Address.ID() == p.Name })
		if k < 0 {
			continue
		}
		i.list = append(i.list, p)
		if InstallsPackage(w.Changes[k]) {
			i.touched[PartOfPackage(p.Name)] = true
		}
	}
}

// InstallsPackage reports whether a package is installed, and not only held or unheld.
func InstallsPackage(c planner.Change) bool {
	return c.Action == planner.Create || slices.ContainsFunc(c.Attributes, func(a planner.AttributeChange) bool { return a.Path != "held" })
}

// heldNote returns, where dnf installs the runtime, which packages upgrades of the host skip. An
// exclusion in a repository's file applies to that repository only, and the runtime's repository is
// not ours. Before dnf 5 there is no drop-in file that could be added for all repositories and
// removed again, and dnf's plug-in for that may not be installed.
func (i *installation) heldNote() string {
	p := i.Cluster.Install.Packages
	runtime := slices.ContainsFunc(i.list, func(o planner.Package) bool { return p.Runtime != "" && o.Name == p.Runtime })
	if !runtime || !p.Hold || i.Report.Packages.Manager != Dnf {
		return ""
	}
	return fmt.Sprintf("host upgrades skip %s, which the repository's file excludes, but not %s", strings.Join(p.Kubernetes(), ", "), p.Runtime)
}

// PartOfPackage returns the part of the software that a package belongs to. kubeadm and kubectl
// restart nothing.
func PartOfPackage(name string) topology.Part {
	switch name {
	case kubeletPackage:
		return topology.KubeletPart
	case "kubeadm", "kubectl":
		return topology.ToolsPart
	}
	return topology.RuntimePart
}

// packageOperations installs the changed packages with the host's manager.
func (i *installation) packageOperations() []planner.Operation {
	if len(i.list) == 0 {
		return nil
	}
	return []planner.Operation{packagesWith(i.Report.Packages.Manager, i.list)}
}

func packagesWith(manager string, list []planner.Package) planner.Packages {
	return planner.Packages{Manager: manager, Repository: map[string]string{Apt: aptRepository, Dnf: dnfRepository}[manager], List: list}
}

// markPackages records the status of the packages before install touches them.
func markPackages(n *topology.Node, m *state.Marks) {
	for _, p := range packages(n) {
		if _, known := m.Before[beforePackage+p.Name]; known {
			continue
		}
		m.Before[PackageManager] = n.Report.Packages.Manager
		switch was := n.Report.Packages.Installed[p.Name]; {
		case was.Status == "":
			m.Before[beforePackage+p.Name] = ""
		case was.Held:
			m.Before[beforePackage+p.Name] = "held"
		default:
			m.Before[beforePackage+p.Name] = packageInstalled
		}
	}
}

// packages removes the packages that install added. Others stay in their current version, and are
// held as they were before.
func (u *uninstallation) packages() {
	var gone, free []planner.Package
	for _, key := range SortedNames(u.before) {
		name, ok := strings.CutPrefix(key, beforePackage)
		switch {
		case !ok || u.keepsPackage(name):
		case u.before[key] == "":
			gone = append(gone, planner.Package{Name: name})
		case u.before[key] == packageInstalled && u.before[PackageManager] == Apt:
			free = append(free, planner.Package{Name: name, Hold: planner.Unhold})
		}
	}
	if len(gone) > 0 {
		op := packagesWith(u.before[PackageManager], gone)
		op.Remove = true
		u.ops = append(u.ops, op)
	}
	if len(free) > 0 {
		u.ops = append(u.ops, packagesWith(u.before[PackageManager], free))
	}
}

func (u *uninstallation) keepsPackage(name string) bool {
	p := PartOfPackage(name)
	if p == topology.ToolsPart {
		p = topology.KubeletPart
	}
	return u.keeps(p)
}

// bringsRuntimePackage reports whether install added the runtime as a package.
func (u *uninstallation) bringsRuntimePackage() bool {
	for key, was := range u.before {
		if name, ok := strings.CutPrefix(key, beforePackage); ok && was == "" && PartOfPackage(name) == topology.RuntimePart {
			return true
		}
	}
	return false
}

// KubeletActive returns the state of a host's kubelet in systemd's words. A kubelet that packages
// have enabled starts every ten seconds without a configuration and exits at once: either moment
// counts as "activating".
func KubeletActive(r *state.Report) string {
	active := r.Units[topology.KubeletUnit].Active
	if active == "active" && !r.Files[topology.KubeletConfig].Exists {
		return "activating"
	}
	return active
}

// PackagesBringRuntime reports whether the runtime comes as a package.
func PackagesBringRuntime(n *topology.Node) bool {
	p := n.Cluster.Install.Packages
	return p != nil && p.Runtime != "" && len(packageManagers(n)) > 0
}
