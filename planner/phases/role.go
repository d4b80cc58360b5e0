package phases

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// roleThere is what a host is in its cluster, by what its kubelet is to run; empty where
// the files do not tell, as on one that is about to become a control plane, or was emptied.
func roleThere(r *state.Report) config.Role {
	switch {
	case r.Files[manifest("kube-apiserver")].Exists:
		return config.ControlPlane
	case traceless(r), slices.ContainsFunc(tracesOfPlane, func(p string) bool { return r.Files[p].Exists }):
		return ""
	}
	return config.Worker
}

// otherRole is what the node's host is in its cluster, where that is known to be
// something else than the node's block says.
func (n *node) otherRole() config.Role {
	if there := roleThere(n.report); there != n.Role {
		return there
	}
	return ""
}
