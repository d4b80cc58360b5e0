package phases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// controlPlane runs the API server, the controller manager and the scheduler.
var controlPlane = phase{
	name: controlPlanePhase,
	doc:  "runs kube-apiserver, kube-controller-manager and kube-scheduler as static pods",
	nodeItems: func(n *node) []state.Item {
		if !n.isControlPlane() {
			return nil
		}
		var items []state.Item
		for _, c := range planeComponents {
			it := n.fileItem(controlPlanePhase, state.KindStaticPod, manifest(c.name), "0600", func(n *node) []byte { return must(kubeadm.StaticPod(n.input(), c.name)) })
			it.Origin = n.podOrigins(c.name, c.block+".arg")
			items = append(items, it)
		}
		return items
	},
	nodeStep: func(n *node, w work) planner.Step {
		if w.empty() {
			return planner.Step{}
		}
		if w.create() {
			return planner.Step{Operations: append([]planner.Operation{folder("/etc/kubernetes/manifests", "0700")}, fileOperations(w)...)}
		}
		return podStep(n, w, controlPlanePhase)
	},
	nodeNeeds: func(n *node) []state.Address {
		return append(n.beforeDisruption(), step(n.target, kubeconfigPhase), step(n.target, etcdPhase), step(n.target, imagesPhase))
	},
}

// planeComponents are the static pods of the control-plane phase and the
// blocks that configure them.
var planeComponents = []struct{ name, block string }{
	{"kube-apiserver", "api_server"}, {"kube-controller-manager", "controller_manager"}, {"kube-scheduler", "scheduler"},
}

// podOrigins tells which lines of the configuration a manifest's arguments come from.
func (n *node) podOrigins(component, block string) map[string]state.Source {
	c := n.cluster
	out := map[string]state.Source{"": state.DefaultSource("kubeadm " + minor(c.KubernetesVersion)), "image": c.origin("kubernetes_version")}
	var args []string
	switch component {
	case "etcd":
		args = argNames(c.Etcd.Args)
	case "kube-apiserver":
		args = argNames(c.APIServer.Component.Args)
	case "kube-controller-manager":
		args = argNames(c.ControllerManager.Args)
	case "kube-scheduler":
		args = argNames(c.Scheduler.Args)
	}
	for _, name := range args {
		if s, ok := c.Origins[fmt.Sprintf("%s[%q]", block, name)]; ok {
			out[state.JoinPath("args", name)] = s
		}
	}
	return out
}

// podStep changes static pods that run: one control plane of the cluster at a
// time, each waited for until it runs what was written and answers.
//
// An API server does not serve without the etcd beside it, and the kubelet that
// is to restart etcd asks that API server first: for half a minute in vain. So
// the API server is stopped before etcd is touched, and has done its last
// request by then. It is stopped as well before the components beside it change
// with it: they may not be newer.
func podStep(n *node, w work, phase string) planner.Step {
	c := n.cluster
	s := planner.Step{
		Via:    n.target,
		Limits: []string{c.limit("control-plane-disruption")},
		Gates:  []string{"api-served-elsewhere", "etcd-quorum"},
	}
	if n.awaitsReady() {
		s.Operations = append(s.Operations, planner.Wait{For: planner.WaitNodeReady, Name: n.name, Timeout: c.Timeouts.KubeletHealthCheck})
	}
	pods := n.podsOf(w, phase)
	var names []string
	for _, it := range pods {
		names = append(names, componentOf(it))
	}
	switch {
	case phase == controlPlanePhase && len(n.podsOf(w.of(etcdPhase), etcdPhase)) > 1:
		// They went down with etcd, and are up again.
		s.Operations = append(s.Operations, n.healthWaits(names...)...)
		return s
	case len(pods) > 1 && slices.ContainsFunc(pods, isAPIServer):
		s.Operations = append(s.Operations, n.whileStopped(pods)...)
	default:
		s.Operations = append(s.Operations, n.replaced(pods)...)
	}
	s.Impact = "restarts " + strings.Join(names, ", ") + " here"
	if phase == etcdPhase && len(n.otherPlanes()) > 0 {
		s.Impact += "; quorum is held by the other members"
	}
	if slices.ContainsFunc(pods, isAPIServer) || len(n.otherPlanes()) == 0 {
		s.Impact += n.apiMeanwhile()
	}
	return s
}

// podsOf are the static pods that a step writes: those that change and, where
// etcd does, those that go down with it.
func (n *node) podsOf(w work, phase string) []*state.Item {
	var pods []*state.Item
	waypoint := ""
	for _, ch := range w.changes {
		if it := w.find(ch); it != nil && it.Kind == state.KindStaticPod {
			pods = append(pods, it)
			waypoint = ch.Address.Waypoint
		}
	}
	if phase != etcdPhase || len(pods) == 0 {
		return pods
	}
	for _, c := range planeComponents {
		a := item(n.target, controlPlanePhase, "file", manifest(c.name))
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

// replaced writes static pods over those that run, and waits for each.
func (n *node) replaced(pods []*state.Item) []planner.Operation {
	var ops, waits []planner.Operation
	var names []string
	for _, it := range pods {
		ops, waits, names = append(ops, writeFile(it)), append(waits, n.podWait(it)), append(names, componentOf(it))
	}
	return slices.Concat(ops, waits, n.healthWaits(names...))
}

// podWait waits until a static pod runs the manifest that is written.
func (n *node) podWait(it *state.Item) planner.Wait {
	name := componentOf(it)
	wait := planner.Wait{For: planner.WaitStaticPod, Name: name + "-" + n.name, Timeout: n.cluster.Timeouts.UpgradeManifests}
	if it.Sealed.IsZero() {
		wait.Hash = kubeadm.ComponentHash(n.input(), name, it.Content)
	} else {
		// The hash says something about a short secret.
		wait.HashRef = reference(it.Address, hashField)
	}
	return wait
}

// apiMeanwhile says where the API is while this control plane's restarts.
func (n *node) apiMeanwhile() string {
	if others := n.otherPlanes(); len(others) > 0 {
		return "; the API stays up on " + strings.Join(others, ", ")
	}
	return "; the API is down while it restarts, since this is the only control plane"
}

// podWaits waits until static pods run the manifests that are written, and names them.
func (n *node) podWaits(w work) (waits []planner.Operation, names []string) {
	for _, ch := range w.changes {
		it := w.find(ch)
		if it == nil || it.Kind != state.KindStaticPod {
			continue
		}
		name := componentOf(it)
		names = append(names, name)
		wait := planner.Wait{For: planner.WaitStaticPod, Name: name + "-" + n.name, Timeout: n.cluster.Timeouts.UpgradeManifests}
		if it.Sealed.IsZero() {
			wait.Hash = kubeadm.ComponentHash(n.input(), name, it.Content)
		} else {
			// The hash says something about a short secret.
			wait.HashRef = reference(it.Address, hashField)
		}
		waits = append(waits, wait)
	}
	return waits, names
}

// componentOf is the name of the pod that a manifest's item holds.
func componentOf(it *state.Item) string {
	path := it.Address.ID()
	return strings.TrimSuffix(path[strings.LastIndex(path, "/")+1:], ".yaml")
}

func (n *node) otherPlanes() []string {
	var out []string
	for _, o := range n.cluster.controlPlanes() {
		if o != n {
			out = append(out, o.short())
		}
	}
	return out
}

// short is how a node is called in a sentence: by its key, or its name.
func (n *node) short() string {
	if n.target.Keyed {
		return n.target.Key
	}
	return n.target.Name
}

func argNames(args []config.Arg) []string {
	var out []string
	for _, a := range args {
		out = append(out, a.Name)
	}
	return out
}
