package topology

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// RoleThere returns what a host is in its cluster, by what its kubelet is to run; empty where
// the files do not tell, as on one that is about to become a control plane, or was emptied.
func RoleThere(r *state.Report) config.Role {
	switch {
	case r.Files[Manifest("kube-apiserver")].Exists:
		return config.ControlPlane
	case Traceless(r), slices.ContainsFunc(tracesOfControlPlane, func(p string) bool { return r.Files[p].Exists }):
		return ""
	}
	return config.Worker
}

// OtherRole returns what the node's host is in its cluster, where that is known to be
// something else than the node's block says.
func (n *Node) OtherRole() config.Role {
	if there := RoleThere(n.Report); there != n.Role {
		return there
	}
	return ""
}
