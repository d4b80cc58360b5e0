package phases

import (
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// kubeconfigs writes the kubeconfigs of a control plane. Those of the founder
// alone matter only while they are made.
var kubeconfigs = phase{
	name: kubeconfigPhase,
	doc:  "writes the kubeconfigs of the administrator, the controllers and the founder's kubelet",
	nodeItems: func(n *node) []state.Item {
		if !n.isControlPlane() {
			return nil
		}
		var items []state.Item
		for _, k := range n.kubeconfigSpecs() {
			it := n.kubeconfigItem(kubeconfigPhase, k)
			it.CreateOnly = k.Path == superAdminConf || k.Path == kubeletConf
			items = append(items, it)
		}
		return items
	},
	nodeStep: func(n *node, w work) planner.Step {
		var ops []planner.Operation
		for _, k := range n.kubeconfigSpecs() {
			for _, c := range w.changes {
				if c.Address.ID() != k.Path {
					continue
				}
				ops = append(ops, planner.WriteKubeconfig{
					Path: k.Path, CA: n.signer("kubernetes", n.cluster.Certificates.Dir+"/ca"),
					Cluster: k.Cluster, Server: k.Server, User: k.User, CommonName: k.CommonName, Organizations: k.Organizations,
					Algorithm: n.cluster.Certificates.Algorithm, Validity: n.cluster.Certificates.Validity,
					Renew: c.Action != planner.Create,
				})
			}
		}
		return planner.Step{Operations: ops}
	},
	nodeNeeds: func(n *node) []state.Address { return []state.Address{step(n.target, certsPhase)} },
}

const (
	adminConf         = "/etc/kubernetes/admin.conf"
	superAdminConf    = "/etc/kubernetes/super-admin.conf"
	kubeletConf       = "/etc/kubernetes/kubelet.conf"
	bootstrapConf     = "/etc/kubernetes/bootstrap-kubelet.conf"
	controllerConf    = "/etc/kubernetes/controller-manager.conf"
	schedulerConf     = "/etc/kubernetes/scheduler.conf"
	kubeletClientCert = "/var/lib/kubelet/pki/kubelet-client-current.pem"
)

func (n *node) kubeconfigSpecs() []kubeadm.Kubeconfig {
	return kubeadm.Kubeconfigs(n.input(), n.isFounder())
}

func (n *node) kubeconfigItem(phase string, k kubeadm.Kubeconfig) state.Item {
	ca := n.cluster.Certificates.Dir + "/ca"
	m := map[string]any{
		"server": k.Server, "cluster": k.Cluster, "user": k.User, "common_name": k.CommonName,
		"mode": keyMode, "owner": root, "renewal_due": false, "renew_before": n.cluster.Certificates.RenewBefore.String(),
		"ca": state.PendingValue(step(n.cluster.seat, certsPhase).String(), ca),
	}
	if digest := n.cluster.cas[ca]; digest != "" {
		m["ca"] = digest
	}
	addList(m, "organizations", k.Organizations)
	return state.Item{
		Address: item(n.target, phase, "file", k.Path), Kind: state.KindKubeconfig, Attributes: state.FromGo(m),
		Classes: map[string]state.Class{"not_after": state.Shown, "renew_before": state.Shown},
		Origin:  map[string]state.Source{"server": n.cluster.origin("control_plane_endpoint")},
	}
}
