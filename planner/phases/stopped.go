package phases

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// stoppedStep is podStep for several static pods, the API server among them.
//
// An API server does not serve without the etcd beside it, and the kubelet that
// is to restart etcd asks that API server first: for half a minute in vain. So
// the API server is stopped before etcd is touched, and has done its last
// request by then. It is stopped as well before the components beside it change
// with it: they may not be newer.
func (n *node) stoppedStep(w work, phase string, pods []*state.Item) planner.Step {
	c := n.cluster
	s := planner.Step{Via: n.target, Action: planner.Update, Limits: []string{c.limit("control-plane-disruption")}, Gates: n.restartGates(phase)}
	if n.awaitsReady() {
		s.Operations = append(s.Operations, planner.Wait{For: planner.WaitNodeReady, Name: n.name, Timeout: c.Timeouts.KubeletHealthCheck})
	}
	var names []string
	for _, it := range pods {
		names = append(names, componentOf(it))
	}
	if phase == controlPlanePhase && len(n.podsOf(w.of(etcdPhase), etcdPhase)) > 1 {
		// They went down with etcd, and are up again.
		s.Operations = append(s.Operations, n.healthWaits(names...)...)
		n.takeUp(&s, w, phase, names)
		return s
	}
	s.Operations = append(s.Operations, n.whileStopped(pods)...)
	restarted := slices.Concat(names, n.takeUp(&s, w, phase, names))
	s.Impact = "restarts " + strings.Join(restarted, ", ") + " here"
	if phase == etcdPhase {
		s.Impact += n.etcdMeanwhile(phase)
	}
	if phase != etcdPhase || !n.pair(phase) {
		s.Impact += n.apiMeanwhile(phase)
	}
	return s
}

// podsOf are the static pods that a step writes: those that change and, where
// etcd does, those that go down with it.
func (n *node) podsOf(w work, phase string) []*state.Item {
	var pods []*state.Item
	waypoint := ""
	for _, ch := range w.changes {
		if it := w.find(ch); it != nil && it.Kind == state.KindStaticPod && !ch.OnlyRereads() {
			pods = append(pods, it)
			waypoint = ch.Address.Waypoint
		}
	}
	if phase != etcdPhase || len(pods) == 0 {
		return pods
	}
	for _, c := range planeComponents {
		a := item(n.target, controlPlanePhase, "file", manifest(c))
		a.Waypoint = waypoint
		if it := w.desired.Find(a); it != nil && (isAPIServer(it) || w.of(controlPlanePhase).changesItem(a)) {
			pods = append(pods, it)
		}
	}
	return pods
}

func isAPIServer(it *state.Item) bool { return it.Address.ID() == manifest("kube-apiserver") }

// whileStopped has the kubelet stop static pods, does something, and starts them
// by their new manifests. The API server is the first to stop: what it serves is
// done then, and nobody is sent to it any more. That each was seen to be gone
// proves the one that answers afterwards; its mirror pod would tell a minute later.
func (n *node) whileStopped(pods []*state.Item, meanwhile ...planner.Operation) []planner.Operation {
	var ops []planner.Operation
	var names []string
	for _, first := range []bool{true, false} {
		var closed []planner.Operation
		for _, it := range pods {
			if isAPIServer(it) != first {
				continue
			}
			ops = append(ops, planner.RemovePath{Path: it.Address.ID()})
			for _, w := range n.healthWaits(componentOf(it)) {
				wait := w.(planner.Wait)
				wait.For, wait.Timeout = planner.WaitClosed, n.cluster.Timeouts.UpgradeManifests
				closed = append(closed, wait)
			}
		}
		ops = append(ops, closed...)
	}
	ops = append(ops, meanwhile...)
	for _, it := range pods {
		ops, names = append(ops, writeFile(it)), append(names, componentOf(it))
	}
	return append(ops, n.healthWaits(names...)...)
}
