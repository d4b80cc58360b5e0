package phases

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// controlPlane runs the API server, the controller manager and the scheduler.
var controlPlane = phase{
	name: controlPlanePhase,
	nodeItems: func(n *node) []state.Item {
		if !n.isControlPlane() {
			return nil
		}
		var items []state.Item
		for _, component := range planeComponents {
			it := n.fileItem(controlPlanePhase, state.KindStaticPod, manifest(component), "0600", func(n *node) []byte { return must(n.staticPod(component)) })
			n.podOrigins(&it, component, func(in kubeadm.Input) ([]byte, error) { return kubeadm.StaticPod(in, component) })
			items = append(items, it)
		}
		return items
	},
	nodeStep: func(n *node, w work) planner.Step {
		if w.create() || !w.empty() && n.enters() {
			return planner.Step{Operations: append([]planner.Operation{folder("/etc/kubernetes/manifests", "0700")}, fileOperations(w)...)}
		}
		return podStep(n, w, controlPlanePhase)
	},
	nodeNeeds: func(n *node) []state.Address {
		needs := []state.Address{step(n.target, kubeconfigPhase), step(n.target, etcdPhase), step(n.target, imagesPhase)}
		return slices.Concat(needs, n.afterAll(), n.beforeDisruption())
	},
}

// planeComponents are the static pods of the control-plane phase.
var planeComponents = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// podStep changes static pods that run, and restarts those that have to read
// something anew: one control plane of the cluster at a time, each waited for
// until it runs what was written and answers.
func podStep(n *node, w work, phase string) planner.Step {
	if pods := n.podsOf(w, phase); len(pods) > 1 && slices.ContainsFunc(pods, isAPIServer) {
		return n.stoppedStep(w, phase, pods)
	}
	s := planner.Step{Via: n.target, Action: planner.Update, Operations: fileOperations(w)}
	rewritten := n.awaitPods(&s, w)
	reread := n.takeUp(&s, w, phase, rewritten)
	return n.disrupts(s, phase, rewritten, reread)
}

// disrupts completes a step that restarts the components of static pods that are
// rewritten or have to read something anew.
func (n *node) disrupts(s planner.Step, phase string, rewritten, reread []string) planner.Step {
	c := n.cluster
	restarted := slices.Concat(rewritten, reread)
	if len(restarted) == 0 {
		if len(s.Operations) > 0 {
			s.Impact = "takes up the new certificates without a restart"
		}
		return s
	}
	if n.blind(phase, restarted) {
		s.Impact = "restarts etcd here, which nobody can reach"
		return s
	}
	s.Operations = append(s.Operations, n.healthWaits(restarted...)...)
	s.Limits = []string{c.limit("control-plane-disruption")}
	serving := slices.Contains(restarted, "etcd") || slices.Contains(restarted, "kube-apiserver")
	if serving || len(rewritten) > 0 {
		s.Gates = n.restartGates(phase)
	}
	s.Impact = "restarts " + strings.Join(restarted, ", ") + " here"
	switch {
	case c.report == nil && phase == controlPlanePhase: // no API answers: none stays up
	case !serving:
		s.Impact += "; the API stays up"
	case phase == controlPlanePhase || len(c.votersAt(n.moment(phase))) == 1:
		s.Impact += n.apiMeanwhile(phase)
	default:
		s.Impact += n.etcdMeanwhile(phase)
		if slices.Contains(restarted, "kube-apiserver") && !n.pair(phase) {
			s.Impact += n.apiMeanwhile(phase)
		}
	}
	return s
}

// awaitPods waits for the static pods that the changes rewrite, and returns
// their components.
func (n *node) awaitPods(s *planner.Step, w work) []string {
	var rewritten []string
	for _, ch := range w.changes {
		it := w.find(ch)
		if it == nil || it.Kind != state.KindStaticPod || ch.OnlyRereads() {
			continue
		}
		name := componentOf(it)
		rewritten = append(rewritten, name)
		wait := planner.Wait{For: planner.WaitStaticPod, Name: name + "-" + n.name, Timeout: n.cluster.Timeouts.UpgradeManifests}
		if it.Sealed.IsZero() {
			wait.Hash = n.podHash(name, it.Content)
		} else {
			// The hash says something about a short secret.
			wait.HashRef = reference(it.Address, hashField)
		}
		s.Operations = append(s.Operations, wait)
	}
	return rewritten
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
func (n *node) short() string { return shortName(n.target) }

func shortName(t state.Target) string {
	if t.Keyed {
		return t.Key
	}
	return t.Name
}
