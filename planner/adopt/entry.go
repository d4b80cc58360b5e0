package adopt

import (
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Entry says why a cluster cannot be read through a host; nil for a control plane with an
// administrator's kubeconfig.
func Entry(name string, r *state.Report) *diag.Diagnostic {
	joined := r.Files[kubeletConf]
	switch {
	case r.Files[manifest("kube-apiserver")].Exists && r.Files[AdminConf].Exists:
		return nil
	case r.Files[manifest("kube-apiserver")].Exists:
		return diag.Errorf("Host has no administrator's kubeconfig", "%s is a control plane without %s, which is needed to read the cluster. "+
			"Nothing was written. Name another control plane, or create the file there: kubeadm init phase kubeconfig admin.", name, AdminConf)
	case joined.Exists:
		server := ""
		if joined.Kubeconfig != nil && joined.Kubeconfig.Server != "" {
			server = ". Its kubelet connects to " + joined.Kubeconfig.Server
		}
		return diag.Errorf("Host is a worker", "%s is a node of a cluster, but not a control plane%s. A cluster is read through a control plane, "+
			"which leads to its workers. Nothing was written. Name a control plane.", name, server)
	}
	return diag.Errorf("Host holds no cluster", "%s has neither %s nor %s: no kubeadm cluster runs there. Nothing was written. "+
		"For a new cluster write a configuration, and run %s.", name, manifest("kube-apiserver"), kubeletConf, remedy.Apply)
}

const kubeletConf = "/etc/kubernetes/kubelet.conf"

// Label returns the label of the cluster block: the cluster's own name, as far as it is a valid
// label.
func Label(objects map[state.ObjectRef]state.Value) string {
	name := kubeadm.ReadDocument(objects[clusterConfig], "ClusterConfiguration").Get("clusterName").AsString()
	label := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
	if label == "" || strings.IndexAny(label[:1], "0123456789-") == 0 {
		return config.DefaultClusterName
	}
	return label
}
