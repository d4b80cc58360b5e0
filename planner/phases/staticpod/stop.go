package staticpod

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// stoppedStep is podStep for several static pods, the API server among them.
//
// An API server does not serve without the etcd beside it, and the kubelet that is to restart etcd asks
// that API server first: for half a minute in vain. So the API server is stopped before etcd is
// touched, and has finished its last request by then. It is also stopped before the components beside
// it change together with it: they may not be newer.
func stoppedStep(n *topology.Node, w topology.PhaseWork, phase string, pods []*state.Item) planner.Step {
	c := n.Cluster
	s := planner.Step{Via: n.Target, Action: planner.Update, Limits: []string{c.Limit("control-plane-disruption")}, Gates: RestartGates()}
	if AwaitsReady(n) {
		s.Operations = append(s.Operations, planner.Wait{For: planner.WaitNodeReady, Name: n.NodeName, Timeout: c.Timeouts.KubeletHealthCheck})
	}
	var names []string
	for _, it := range pods {
		names = append(names, ComponentOf(it))
	}
	if phase == topology.ControlPlanePhase && len(podsOf(n, w.Of(topology.EtcdPhase), topology.EtcdPhase)) > 1 {
		// They were stopped together with etcd, and are up again.
		s.Operations = append(s.Operations, HealthWaits(n, names...)...)
		takeUp(n, &s, w, phase, names)
		return s
	}
	s.Operations = append(s.Operations, WhileStopped(n, pods)...)
	restarted := slices.Concat(names, takeUp(n, &s, w, phase, names))
	s.Impact = "restarts " + strings.Join(restarted, ", ") + " here"
	return s
}

// podsOf returns the static pods that a step writes: the changed ones and, where etcd is among them,
// those that go down with it.
func podsOf(n *topology.Node, w topology.PhaseWork, phase string) []*state.Item {
	var pods []*state.Item
	waypoint := ""
	for _, ch := range w.Changes {
		if it := w.Find(ch); it != nil && it.Kind == state.KindStaticPod && !ch.OnlyRereads() {
			pods = append(pods, it)
			waypoint = ch.Address.Waypoint
		}
	}
	if phase != topology.EtcdPhase || len(pods) == 0 {
		return pods
	}
	for _, c := range ControlPlaneComponents {
		a := topology.ItemAddress(n.Target, topology.ControlPlanePhase, "file", topology.Manifest(c))
		a.Waypoint = waypoint
		if it := w.Desired.Find(a); it != nil && (isAPIServer(it) || changesItem(w.Of(topology.ControlPlanePhase), a)) {
			pods = append(pods, it)
		}
	}
	return pods
}

func isAPIServer(it *state.Item) bool { return it.Address.ID() == topology.Manifest("kube-apiserver") }

// WhileStopped lets the kubelet stop static pods, runs operations that replace the kubelet, and starts the pods from their new
// manifests. The API server stops first: it has finished its requests then, and receives no more. Each
// port was observed to be closed, so that the component that answers afterwards is the new one; its
// mirror pod would show that only a minute later.
func WhileStopped(n *topology.Node, pods []*state.Item, meanwhile ...planner.Operation) []planner.Operation {
	var ops []planner.Operation
	var names []string
	for _, first := range []bool{true, false} {
		var closed []planner.Operation
		for _, it := range pods {
			if isAPIServer(it) != first {
				continue
			}
			ops = append(ops, planner.RemovePath{Path: it.Address.ID()})
			for _, w := range HealthWaits(n, ComponentOf(it)) {
				wait := w.(planner.Wait)
				wait.For, wait.Timeout = planner.WaitClosed, n.Cluster.Timeouts.UpgradeManifests
				closed = append(closed, wait)
			}
		}
		ops = append(ops, closed...)
	}
	ops = append(ops, meanwhile...)
	for _, it := range pods {
		file := host.WriteFile(it)
		file.StaticPod = len(meanwhile) == 0 // a kubelet that has started meanwhile does not have the former pod
		ops, names = append(ops, file), append(names, ComponentOf(it))
	}
	return append(ops, HealthWaits(n, names...)...)
}
