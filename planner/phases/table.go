package phases

import (
	"github.com/kubewright/kubewright/planner/phases/encryption"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// All lists the phases in kubeadm's order, with kubewright's own phases in between.
func All() []*topology.Phase {
	return []*topology.Phase{
		&host.Prepare, &host.Install, &host.HostFiles, &host.Images, &pki.Certs, &pki.Kubeconfigs, &encryption.Encryption, &staticpod.Etcd, &staticpod.ControlPlane, &kubelet.KubeletStart, &kubelet.WaitBootstrap,
		&staticpod.WaitControlPlane, &objects.UploadConfig, &objects.UploadCerts, &kubelet.MarkControlPlane, &kubelet.MarkWorker, &objects.BootstrapToken, &objects.KubeletFinalize, &objects.Addons,
	}
}

// Desired lists the items that the phases want on the node.
func Desired(n *topology.Node) []state.Item {
	out := make([]state.Item, 0, 64) // about as many as a control plane has
	for _, p := range All() {
		if p.NodeItems != nil {
			out = append(out, p.NodeItems(n)...)
		}
	}
	return out
}
