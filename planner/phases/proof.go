package phases

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// proofStep waits until static pods run as their files say, of which it is known
// that they do not, and in an upgrade those of which it is not known that they do:
// what an earlier apply wrote, and did not live to see run. What this plan writes
// is waited for where it is written.
func (n *node) proofStep(w work) planner.Step {
	if !n.isControlPlane() || n.report == nil {
		return planner.Step{}
	}
	t := n.cluster.Timeouts
	var ops []planner.Operation
	var components []string
	withEtcd := n.podsOf(w.of(etcdPhase), etcdPhase)
	for _, component := range n.staticPods() {
		it := w.desired.Find(item(n.target, podPhase(component), "file", manifest(component)))
		if it == nil || w.of(podPhase(component)).writes(it) || n.proved(component) || slices.ContainsFunc(withEtcd, func(o *state.Item) bool { return componentOf(o) == component }) {
			continue
		}
		components = append(components, component)
		if n.cluster.report == nil && !n.upgrades() {
			continue // nobody shows pods before the API answers
		}
		wait := planner.Wait{For: planner.WaitStaticPod, Name: component + "-" + n.name, Timeout: t.UpgradeManifests}
		if it.Sealed.IsZero() && !n.doubtsHash(component) {
			wait.Hash = n.manifestHash(component)
		}
		ops = append(ops, wait)
	}
	if ops = append(ops, n.healthWaits(components...)...); len(ops) == 0 {
		return planner.Step{}
	}
	s := planner.Step{Via: n.target, Action: planner.NoOp, Impact: n.proofImpact(components), Operations: ops}
	if n.upgrades() || slices.ContainsFunc(components, n.surelyFails) {
		s.Action = planner.Update
	}
	return s
}

// writes tells that the item is among the changes, be it on the way to a version.
func (w work) writes(it *state.Item) bool {
	return slices.ContainsFunc(w.changes, func(c planner.Change) bool { return c.Address.Item == it.Address.Item })
}

// proofImpact says what a proof is of, and what waits for it.
func (n *node) proofImpact(components []string) string {
	verb, its := " runs", " as its file says"
	if len(components) > 1 {
		verb, its = " run", " as their files say"
	}
	impact := "waits until " + strings.Join(components, ", ") + verb + " here" + its
	if n.cluster.report != nil && len(n.otherPlanes()) > 0 {
		impact += ", before another control plane is touched"
	}
	return impact
}

// podPhase is the phase that owns a component's manifest.
func podPhase(component string) string {
	if component == "etcd" {
		return etcdPhase
	}
	return controlPlanePhase
}

// proved tells that a component needs no proof: in an upgrade because it was
// seen to run by the manifest on its host, otherwise because nobody knows better.
func (n *node) proved(component string) bool {
	if !n.upgrades() {
		return !slices.Contains(n.cluster.failed[n.target], component)
	}
	if n.cluster.report == nil {
		return false
	}
	pod := n.cluster.report.StaticPods[component+"-"+n.name]
	return pod.Running && pod.Ready && !n.runsAnother(component, pod)
}

// runsAnother tells that a pod was made from another manifest than the host has.
func (n *node) runsAnother(component string, pod state.StaticPodReport) bool {
	hash := n.manifestHash(component)
	return hash != "" && !slices.Contains(strings.Fields(hash), pod.Hash)
}

// componentFails tells that a component is known not to run as the manifest on
// its host says. What the API shows of a pod that is not ready counts as long as
// its kubelet speaks; when that is silent, or the API is, the host tells whether
// the process is there at all. Where nobody can tell, nothing is known to fail.
func (n *node) componentFails(component string) bool {
	c := n.cluster
	if c.founding || !n.runs() || n.joins() || !n.report.Files[manifest(component)].Exists {
		return false
	}
	if c.report == nil {
		return n.processGone(component)
	}
	seen, registered := c.report.Nodes[n.name]
	if !registered {
		return false
	}
	pod, shown := c.report.StaticPods[component+"-"+n.name]
	switch {
	case n.showsAnother(component):
		return true
	case shown && pod.Running && pod.Ready:
		return false
	}
	return !seen.Silent || n.processGone(component)
}

// processGone tells that the host has no process that was started as the
// component's manifest there says.
func (n *node) processGone(component string) bool {
	for _, r := range n.readersOf("") {
		if r.component != component || n.report.Started == nil {
			continue
		}
		_, runs := n.report.Started[component]
		// It was asked for by an argument that the manifest may not have.
		return !runs && bytes.Contains(n.report.Files[manifest(component)].Content, []byte(r.process(n).Argument))
	}
	return false
}

// surelyFails tells that a component that fails does not merely start: it has no
// process, or one of another manifest. The API shows a pod as ready only some
// seconds after it is. A hash alone is not enough, for the kubelet reckons it and
// may do it otherwise than is known here: the process has to be older than the
// manifest, too.
func (n *node) surelyFails(component string) bool {
	return n.showsAnother(component) && n.report.Outdated(component, manifest(component)) || n.processGone(component)
}

// showsAnother tells that the API shows a pod by another hash than that of the
// manifest on the host.
func (n *node) showsAnother(component string) bool {
	if n.cluster.report == nil {
		return false
	}
	pod := n.cluster.report.StaticPods[component+"-"+n.name]
	return pod.Hash != "" && n.runsAnother(component, pod)
}

// doubtsHash tells that a pod shows another hash, and nothing else says that it
// runs another manifest. The hash that is expected may never come, so that the
// pod is waited for by being ready and healthy.
func (n *node) doubtsHash(component string) bool {
	return n.showsAnother(component) && !n.surelyFails(component)
}

// weighDoubts drops what may merely start from what fails, unless a control plane
// is about to be touched: it is no reason for a plan and no change by itself, and
// reason enough to wait before another one is disturbed.
func (c *cluster) weighDoubts(changes []planner.Change) {
	if c.up != nil || len(c.rotating) > 0 || c.keys.acts() || c.touchesPlanes(changes) {
		return
	}
	for t, components := range c.failed {
		n := c.node(t)
		c.failed[t] = slices.DeleteFunc(components, func(component string) bool { return !n.surelyFails(component) })
	}
}

// touchesPlanes tells that something is changed on a control plane, or that one leaves.
func (c *cluster) touchesPlanes(changes []planner.Change) bool {
	return slices.ContainsFunc(changes, func(change planner.Change) bool {
		n := c.node(change.Address.Target)
		return n != nil && n.isControlPlane()
	}) || slices.ContainsFunc(c.view.leavers(), func(l leaver) bool {
		return l.cluster == c && !l.gone && l.Role == string(config.ControlPlane)
	})
}

// failures are the components that are known to fail, by control plane.
func (c *cluster) failures() map[state.Target][]string {
	out := map[state.Target][]string{}
	for _, n := range c.running() {
		for _, component := range n.staticPods() {
			if n.componentFails(component) {
				out[n.target] = append(out[n.target], component)
			}
		}
		if slices.Contains(out[n.target], "kube-apiserver") {
			out[n.target] = slices.DeleteFunc(out[n.target], n.livesOnAPI)
		}
	}
	return out
}

// livesOnAPI tells that a component fails because the API server beside it does,
// as far as can be seen: it runs as its file says.
func (n *node) livesOnAPI(component string) bool {
	if component == "etcd" || component == "kube-apiserver" {
		return false
	}
	r := n.cluster.report
	return r == nil || !n.runsAnother(component, r.StaticPods[component+"-"+n.name])
}

// fails tells that some component of a control plane is known to fail.
func (n *node) fails() bool { return len(n.cluster.failed[n.target]) > 0 }

// failing are the control planes that fail, in their order.
func (c *cluster) failing() []*node {
	return slices.DeleteFunc(c.inTurn(), func(n *node) bool { return !n.fails() })
}

// mendFirst has whatever disturbs a control plane wait until those that fail, and whose
// turn comes before, are proved to run: what has broken one, by an argument that it does
// not take or a certificate that it does not like, would break the next as well. Those
// that fail are changed one after another. Where nobody answers for the cluster none
// gets well without the others, and there is nothing to keep.
func (b *builder) mendFirst(c *cluster) {
	if c.report == nil {
		return
	}
	for _, s := range b.draft.Steps {
		if s.ID.Waypoint != "" || !b.disturbs(c, s) {
			continue
		}
		n := c.node(s.Target)
		for _, o := range c.preceding(n) {
			switch {
			case !o.fails():
			case n != nil && n.fails():
				b.after(s.ID, step(o.target, controlPlanePhase))
			default:
				b.after(s.ID, step(o.target, waitPlanePhase))
			}
		}
	}
}

// disturbs tells that a step stops or restarts something of a control plane, or
// takes one out that is still there. In an upgrade those that leave are gone before. So
// are those whose member of etcd is dead: they serve nobody, and keep others from restarting.
func (b *builder) disturbs(c *cluster, s planner.Step) bool {
	if s.Phase != resetPhase && (s.Phase != drainPhase || c.up != nil) {
		return slices.Contains(s.Limits, c.limit("control-plane-disruption"))
	}
	return c.up == nil && slices.ContainsFunc(c.view.leavers(), func(l leaver) bool {
		return l.cluster == c && !l.gone && !l.dead() && l.Role == string(config.ControlPlane) && l.target == s.Target
	})
}
