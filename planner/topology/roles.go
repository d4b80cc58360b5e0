package topology

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// RoleThere returns the role of a host in its cluster, according to the files of its kubelet; empty
// if they do not show it, as on a host that is about to become a control plane, or was wiped.
func RoleThere(r *state.Report) config.Role {
	switch {
	case r.Files[Manifest("kube-apiserver")].Exists:
		return config.ControlPlane
	case Traceless(r), slices.ContainsFunc(tracesOfControlPlane, func(p string) bool { return r.Files[p].Exists }):
		return ""
	}
	return config.Worker
}

// OtherRole returns the role of the node's host in its cluster, if it is known to differ from the
// node's block.
func (n *Node) OtherRole() config.Role {
	if there := RoleThere(n.Report); there != n.Role {
		return there
	}
	return ""
}
