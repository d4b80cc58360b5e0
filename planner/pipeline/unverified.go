package pipeline

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Unproved returns the static pods of a cluster that run and that the API does not show as ready, by
// control plane. They may be ready all the same: kubelets report probe results, the first one ten seconds
// after a start, and up to 1.34 a restarted kubelet has forgotten earlier results (KEP-4781,
// kubernetes/kubernetes#100277). A kubelet that was restarted right after it made a mirror pod reports
// its first status ten seconds later. The node controller also removes the condition from pods that
// change while their node is not Ready, until the kubelet restores it (MarkPodsNotReady of Kubernetes
// 1.36).
func Unproved(v *topology.Fleet, label string) map[state.Target][]string {
	out := map[state.Target][]string{}
	for _, t := range v.ControlPlanesOf(label) {
		var configured string
		for _, n := range v.Config.NodesOf(label, config.ControlPlane) {
			if n.Target == t {
				configured = n.Name
			}
		}
		for _, component := range staticpod.PodComponents {
			name := component + "-" + v.NameOf(t, configured)
			if pod, shown := v.ClusterReports[label].StaticPods[name]; shown && !pod.Ready && runsManifest(v.Reports[t], component, pod) {
				out[t] = append(out[t], name)
			}
		}
	}
	return out
}

// runsManifest reports whether a component was started from the manifest that its mirror pod shows. While
// the pod has no status, the host shows the process.
func runsManifest(r *state.Report, component string, pod state.StaticPodReport) bool {
	if pod.Running || r == nil {
		return pod.Running && !pod.Stale()
	}
	_, runs := r.Started[component]
	return pod.Unreported() && runs && !r.Outdated(component, topology.Manifest(component))
}
