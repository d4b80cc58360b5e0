package preflight

import (
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
)

// packagesFit checks, without writing anything, that the packages of install
// can be installed on the host.
func packagesFit(n *topology.Node) []finding {
	p := n.Cluster.Install.Packages
	if p == nil {
		return nil
	}
	r := n.Report.Packages
	if r.Manager == "" {
		return []finding{{
			text:   "there is neither apt nor dnf, which install needs for its packages",
			remedy: "install from a folder of artifacts instead: install { artifacts = … }",
		}}
	}
	var out []finding
	switch {
	case r.Locked != "": // and a partial installation may be temporary
		out = append(out, finding{
			text:   fmt.Sprintf("%s is using the package manager, which does nothing else meanwhile", r.Locked),
			remedy: "nothing, if it finishes by itself: an apply waits five minutes for it", warning: true,
		})
	case len(r.Broken) > 0 && !packagesBegun(n):
		out = append(out, finding{
			text:   "packages are partly installed, and the package manager installs no others: " + strings.Join(r.Broken, ", "),
			remedy: "complete them, with dpkg --configure -a and apt-get --fix-broken install",
		})
	}
	return append(append(out, repositoryFits(n)...), shadowed(n)...)
}

// packagesBegun reports whether an apply has begun to install packages: the next one completes
// them.
func packagesBegun(n *topology.Node) bool {
	return n.Report.Marks != nil && n.Report.Marks.Before[host.PackageManager] != ""
}

func repositoryFits(n *topology.Node) []finding {
	p, r := n.Cluster.Install.Packages, n.Report.Packages
	form := map[string]string{host.Apt: "deb", host.Dnf: "rpm"}[r.Manager]
	url := p.URL(n.Cluster.KubernetesVersion, form)
	switch {
	case r.Unreachable != "":
		return []finding{{
			text:   fmt.Sprintf("the package repository %s cannot be read from the host: %s", url, r.Unreachable),
			remedy: "open network access to it, name a mirror with install.packages.repository, or install from a folder of artifacts",
		}}
	case len(r.Missing) > 0:
		return []finding{{
			text:   fmt.Sprintf("the package repository %s does not have version %s of %s", url, n.Cluster.KubernetesVersion, strings.Join(r.Missing, ", ")),
			remedy: "set kubernetes_version to one that it has, or update the mirror",
		}}
	}
	return nil
}

// shadowed reports units of an earlier installation from artifacts, or of an administrator, which
// systemd uses instead of those of the packages.
func shadowed(n *topology.Node) []finding {
	units := []string{host.Units + topology.KubeletUnit}
	if n.Cluster.Install.Packages.Runtime != "" {
		units = append(units, "/etc/systemd/system/"+host.ContainerdUnit)
	}
	var found []string
	for _, u := range units {
		if n.Report.Files[u].Exists {
			found = append(found, u)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return []finding{{
		text:   strings.Join(found, " and ") + " would be used instead of the units of the packages",
		remedy: "where artifacts installed the software, replace the node, which removes it from the cluster and joins it again, or remove these units and the programs that they start",
	}}
}

// packagedRuntime checks that a containerd from packages can be the host's runtime.
func packagedRuntime(n *topology.Node) []finding {
	if !otherRuntime(n) && (n.CRISocket == "" || strings.Contains(n.CRISocket, "containerd")) {
		return nil
	}
	return []finding{{
		text:   "install.packages would install " + n.Cluster.Install.Packages.Runtime + ", but the host has another container runtime",
		remedy: `set runtime = "" in install.packages, or remove the other runtime from the host`,
	}}
}
