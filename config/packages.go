package config

import (
	"slices"
	"strings"
)

// DefaultRepository is where the Kubernetes project publishes its packages: one repository for
// each minor version, below the same address.
const DefaultRepository = "https://pkgs.k8s.io/core:/stable:"

// DefaultRuntimePackage is the container runtime's package in Debian, Ubuntu and Fedora.
const DefaultRuntimePackage = "containerd"

// DefaultPackageTools returns the packages that kubeadm's guide installs beside the kubelet.
func DefaultPackageTools() []string { return []string{"kubeadm", "kubectl"} }

// Packages says which packages a node gets from a repository. The kubelet is always one of
// them.
type Packages struct {
	// Repository is the address that /vMAJOR.MINOR/deb/ or /vMAJOR.MINOR/rpm/ is appended to.
	// Key is the public key that signs there, ASCII-armored.
	Repository string
	Key        string
	// Runtime is the package of containerd, from a repository that the host has; empty if a
	// runtime is preinstalled.
	Runtime string
	// Tools are kubeadm and kubectl, or one of them, or none.
	Tools []string
	// Hold keeps package upgrades of the host from changing the packages.
	Hold bool
}

// URL returns the repository of a Kubernetes version (1.36.3) for a package format: deb, rpm.
func (p *Packages) URL(version, form string) string {
	minor := strings.Join(strings.SplitN(version, ".", 3)[:2], ".")
	return strings.TrimSuffix(p.Repository, "/") + "/v" + minor + "/" + form + "/"
}

// Kubernetes lists the packages that have Kubernetes' version, in order.
func (p *Packages) Kubernetes() []string {
	names := append([]string{"kubelet"}, p.Tools...)
	slices.Sort(names)
	return slices.Compact(names)
}
