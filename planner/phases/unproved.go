package phases

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// Unproved are the control planes of a cluster whose API servers run and are not shown as
// ready by its API, with the names of their mirror pods. They may serve all the same: a kubelet
// that was restarted shows pods as not ready until it has probed them anew
// (https://github.com/kubernetes/kubernetes/issues/100277).
func (v *View) Unproved(label string) map[state.Target]string {
	out := map[state.Target]string{}
	for _, t := range v.planesOf(label) {
		var configured string
		for _, n := range v.Config.NodesOf(label, config.ControlPlane) {
			if n.Target == t {
				configured = n.Name
			}
		}
		name := "kube-apiserver-" + v.nameOf(t, configured)
		if pod := v.Clusters[label].StaticPods[name]; pod.Running && !pod.Ready && !pod.Stale() {
			out[t] = name
		}
	}
	return out
}
