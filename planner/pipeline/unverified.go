package pipeline

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Unproved returns the control planes of a cluster whose API servers run but are not shown as ready by
// the API, with the names of their mirror pods. They may serve all the same: kubelets report probe
// results, the first one ten seconds after a start, and up to 1.34 a restarted kubelet has forgotten
// earlier results (KEP-4781, kubernetes/kubernetes#100277). The node controller also removes the
// condition from pods that change while their node is not Ready, until the kubelet restores it
// (MarkPodsNotReady of Kubernetes 1.36).
func Unproved(v *topology.Fleet, label string) map[state.Target]string {
	out := map[state.Target]string{}
	for _, t := range v.ControlPlanesOf(label) {
		var configured string
		for _, n := range v.Config.NodesOf(label, config.ControlPlane) {
			if n.Target == t {
				configured = n.Name
			}
		}
		name := "kube-apiserver-" + v.NameOf(t, configured)
		if pod := v.ClusterReports[label].StaticPods[name]; pod.Running && !pod.Ready && !pod.Stale() {
			out[t] = name
		}
	}
	return out
}
