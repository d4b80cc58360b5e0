package phases

import (
	"fmt"
	"strings"
)

// packagesFit checks, without writing anything, that the packages of install
// can be installed on the host.
func packagesFit(n *node) []finding {
	p := n.cluster.Install.Packages
	if p == nil {
		return nil
	}
	r := n.report.Packages
	if r.Manager == "" {
		return []finding{{
			text:   "there is neither apt nor dnf, which the packages of install would be installed with",
			remedy: "install from a folder of artifacts there: install { artifacts = … }",
		}}
	}
	var out []finding
	switch {
	case r.Locked != "": // and what is there in part may be so for the moment
		out = append(out, finding{
			text:   fmt.Sprintf("%s works with the package manager now, which then does nothing else", r.Locked),
			remedy: "nothing, if it ends by itself: an apply waits five minutes for it", warning: true,
		})
	case len(r.Broken) > 0 && !n.packagesBegun():
		out = append(out, finding{
			text:   "packages are there in part, and the package manager installs no others: " + strings.Join(r.Broken, ", "),
			remedy: "complete them, with dpkg --configure -a and apt-get --fix-broken install",
		})
	}
	return append(append(out, n.repositoryFits()...), n.shadowed()...)
}

// packagesBegun tells that an apply has begun to install packages: it is then
// for the next one to complete them.
func (n *node) packagesBegun() bool {
	return n.report.Marks != nil && n.report.Marks.Before[packageManager] != ""
}

func (n *node) repositoryFits() []finding {
	p, r := n.cluster.Install.Packages, n.report.Packages
	form := map[string]string{apt: "deb", dnf: "rpm"}[r.Manager]
	url := p.URL(n.cluster.KubernetesVersion, form)
	switch {
	case r.Unreachable != "":
		return []finding{{
			text:   fmt.Sprintf("the package repository %s cannot be read from the host: %s", url, r.Unreachable),
			remedy: "open the way there, name a mirror with install.packages.repository, or install from a folder of artifacts",
		}}
	case len(r.Missing) > 0:
		return []finding{{
			text:   fmt.Sprintf("the package repository %s does not have version %s of %s", url, n.cluster.KubernetesVersion, strings.Join(r.Missing, ", ")),
			remedy: "set kubernetes_version to one that it has, or bring the mirror up to date",
		}}
	}
	return nil
}

// shadowed finds units of an earlier installation from artifacts, or of
// somebody's own, which systemd takes instead of those of the packages.
func (n *node) shadowed() []finding {
	units := []string{units + kubeletUnit}
	if n.cluster.Install.Packages.Runtime != "" {
		units = append(units, "/etc/systemd/system/"+containerdUnit)
	}
	var found []string
	for _, u := range units {
		if n.report.Files[u].Exists {
			found = append(found, u)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return []finding{{
		text: strings.Join(found, " and ") + " would be used instead of the units that the packages bring",
		remedy: "take the node out of the cluster and in again where artifacts brought the software (-replace), " +
			"or remove these units and the programs that they start",
	}}
}

// packagedRuntime checks that a containerd from packages can be the host's runtime.
func (n *node) packagedRuntime() []finding {
	if !n.otherRuntime() && (n.CRISocket == "" || strings.Contains(n.CRISocket, "containerd")) {
		return nil
	}
	return []finding{{
		text:   "install.packages would bring " + n.cluster.Install.Packages.Runtime + ", and the host has another container runtime",
		remedy: `say runtime = "" in install.packages, or take the other runtime off the host`,
	}}
}

// packagesBringRuntime tells that the runtime comes as a package.
func (n *node) packagesBringRuntime() bool {
	p := n.cluster.Install.Packages
	return p != nil && p.Runtime != "" && len(n.packageManagers()) > 0
}
