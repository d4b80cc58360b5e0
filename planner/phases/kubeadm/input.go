package kubeadm

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// Input is one node of one cluster, seen by a phase.
type Input struct {
	Cluster *config.Cluster
	Node    *config.Node
	// NodeName is the Kubernetes node name.
	NodeName string
	// Facts are CADirs, SystemdResolved, CRISocket, Hostname and Arch of the host.
	Facts *state.Facts
	// ExternalCA tells that no CA key lies in the cluster.
	ExternalCA bool
}

// controlPlane tells that the node is a control plane.
func (in Input) controlPlane() bool { return in.Node.Role == config.ControlPlane }
