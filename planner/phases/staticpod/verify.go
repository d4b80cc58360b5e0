package staticpod

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// ProofStep waits until static pods run as their files say, of which it is known
// that they do not, and in an upgrade those of which it is not known that they do:
// what an earlier apply wrote, and did not live to see run. What this plan writes
// is waited for where it is written.
func ProofStep(n *topology.Node, w topology.PhaseWork) planner.Step {
	if !n.IsControlPlane() || n.Report == nil {
		return planner.Step{}
	}
	t := n.Cluster.Timeouts
	var ops []planner.Operation
	var components []string
	withEtcd := podsOf(n, w.Of(topology.EtcdPhase), topology.EtcdPhase)
	for _, component := range n.StaticPods() {
		it := w.Desired.Find(topology.ItemAddress(n.Target, PodPhase(component), "file", topology.Manifest(component)))
		if it == nil || writes(w.Of(PodPhase(component)), it) || proved(n, component) || slices.ContainsFunc(withEtcd, func(o *state.Item) bool { return ComponentOf(o) == component }) {
			continue
		}
		components = append(components, component)
		if n.Cluster.Report == nil && !n.Upgrades() {
			continue // nobody shows pods before the API answers
		}
		wait := planner.Wait{For: planner.WaitStaticPod, Name: component + "-" + n.NodeName, Timeout: t.UpgradeManifests}
		if it.Sealed.IsZero() && !doubtsHash(n, component) {
			wait.Hash = manifestHash(n, component)
		}
		ops = append(ops, wait)
	}
	if ops = append(ops, HealthWaits(n, components...)...); len(ops) == 0 {
		return planner.Step{}
	}
	s := planner.Step{Via: n.Target, Action: planner.NoOp, Impact: proofImpact(n, components), Operations: ops}
	if n.Upgrades() || slices.ContainsFunc(components, func(component string) bool { return surelyFails(n, component) }) {
		s.Action = planner.Update
	}
	return s
}

// writes reports whether the item is among the changes, be it on the way to a version.
func writes(w topology.PhaseWork, it *state.Item) bool {
	return slices.ContainsFunc(w.Changes, func(c planner.Change) bool { return c.Address.Item == it.Address.Item })
}

// proofImpact says what a proof is of, and what waits for it.
func proofImpact(n *topology.Node, components []string) string {
	verb, its := " runs", " as in its manifest"
	if len(components) > 1 {
		verb, its = " run", " as in their manifests"
	}
	impact := "waits until " + strings.Join(components, ", ") + verb + " here" + its
	if n.Cluster.Report != nil && len(n.OtherControlPlanes()) > 0 {
		impact += ", before another control plane is changed"
	}
	return impact
}

// PodPhase returns the phase that owns a component's manifest.
func PodPhase(component string) string {
	if component == "etcd" {
		return topology.EtcdPhase
	}
	return topology.ControlPlanePhase
}

// proved reports whether a component needs no proof: in an upgrade because it was
// seen to run by the manifest on its host, otherwise because nobody knows better.
func proved(n *topology.Node, component string) bool {
	if !n.Upgrades() {
		return !slices.Contains(n.Cluster.Failed[n.Target], component)
	}
	if n.Cluster.Report == nil {
		return false
	}
	pod := n.Cluster.Report.StaticPods[component+"-"+n.NodeName]
	return pod.Running && pod.Ready && !runsAnother(n, component, pod)
}

// runsAnother reports whether a pod was made from another manifest than the host has.
func runsAnother(n *topology.Node, component string, pod state.StaticPodReport) bool {
	hash := manifestHash(n, component)
	return hash != "" && !slices.Contains(strings.Fields(hash), pod.Hash)
}

// componentFails reports whether a component is known not to run as the manifest on
// its host says. What the API shows of a pod that is not ready counts as long as
// its kubelet speaks; when that is silent, or the API is, the host tells whether
// the process is there at all. Where nobody can tell, nothing is known to fail.
func componentFails(n *topology.Node, component string) bool {
	c := n.Cluster
	if c.Founding || !n.Runs() || n.Joins() || !n.Report.Files[topology.Manifest(component)].Exists {
		return false
	}
	if c.Report == nil {
		return processGone(n, component)
	}
	seen, registered := c.Report.Nodes[n.NodeName]
	if !registered {
		return false
	}
	pod, shown := c.Report.StaticPods[component+"-"+n.NodeName]
	switch {
	case showsAnother(n, component):
		return true
	case shown && pod.Running && pod.Ready:
		return false
	}
	return !seen.Silent || processGone(n, component)
}

// processGone reports whether the host has no process that was started as the
// component's manifest there says.
func processGone(n *topology.Node, component string) bool {
	for _, r := range ReadersOf(n, "") {
		if r.Component != component || n.Report.Started == nil {
			continue
		}
		_, runs := n.Report.Started[component]
		// It was asked for by an argument that the manifest may not have.
		return !runs && bytes.Contains(n.Report.Files[topology.Manifest(component)].Content, []byte(process(r, n).Argument))
	}
	return false
}

// surelyFails reports whether a component that fails does not merely start: it has no
// process, or one of another manifest. The API shows a pod as ready only some
// seconds after it is. A hash alone is not enough, for the kubelet reckons it and
// may do it otherwise than is known here: the process has to be older than the
// manifest, too.
func surelyFails(n *topology.Node, component string) bool {
	return showsAnother(n, component) && n.Report.Outdated(component, topology.Manifest(component)) || processGone(n, component)
}

// showsAnother reports whether the API shows a pod by another hash than that of the
// manifest on the host.
func showsAnother(n *topology.Node, component string) bool {
	if n.Cluster.Report == nil {
		return false
	}
	pod := n.Cluster.Report.StaticPods[component+"-"+n.NodeName]
	return pod.Hash != "" && runsAnother(n, component, pod)
}

// doubtsHash reports whether a pod shows another hash, and nothing else says that it
// runs another manifest. The hash that is expected may never come, so that the
// pod is waited for by being ready and healthy.
func doubtsHash(n *topology.Node, component string) bool {
	return showsAnother(n, component) && !surelyFails(n, component)
}

// WeighDoubts drops what may merely start from what fails, unless a control plane
// is about to be touched: it is no reason for a plan and no change by itself, and
// reason enough to wait before another one is disturbed.
func WeighDoubts(c *topology.Cluster, changes []planner.Change) {
	if c.Up != nil || len(c.Rotating) > 0 || c.Keys.Acts() || touchesControlPlanes(c, changes) {
		return
	}
	for t, components := range c.Failed {
		n := c.Node(t)
		c.Failed[t] = slices.DeleteFunc(components, func(component string) bool { return !surelyFails(n, component) })
	}
}

// touchesControlPlanes reports whether something is changed on a control plane, or that one leaves.
func touchesControlPlanes(c *topology.Cluster, changes []planner.Change) bool {
	return slices.ContainsFunc(changes, func(change planner.Change) bool {
		n := c.Node(change.Address.Target)
		return n != nil && n.IsControlPlane()
	}) || slices.ContainsFunc(c.Fleet.Departures(), func(l topology.Departure) bool {
		return l.Cluster == c && !l.HostGone && l.Role == string(config.ControlPlane)
	})
}

// FailingComponents returns the components that are known to fail, by control plane.
func FailingComponents(c *topology.Cluster) map[state.Target][]string {
	out := map[state.Target][]string{}
	for _, n := range c.Running() {
		for _, component := range n.StaticPods() {
			if componentFails(n, component) {
				out[n.Target] = append(out[n.Target], component)
			}
		}
		if slices.Contains(out[n.Target], "kube-apiserver") {
			out[n.Target] = slices.DeleteFunc(out[n.Target], func(component string) bool { return livesOnAPI(n, component) })
		}
	}
	return out
}

// livesOnAPI reports whether a component fails because the API server beside it does,
// as far as can be seen: it runs as its file says.
func livesOnAPI(n *topology.Node, component string) bool {
	if component == "etcd" || component == "kube-apiserver" {
		return false
	}
	r := n.Cluster.Report
	return r == nil || !runsAnother(n, component, r.StaticPods[component+"-"+n.NodeName])
}

// FailingControlPlanes returns the control planes that fail, in their order.
func FailingControlPlanes(c *topology.Cluster) []*topology.Node {
	return slices.DeleteFunc(c.InTurn(), func(n *topology.Node) bool { return !n.Fails() })
}

// MendFirst has whatever disturbs a control plane wait until those that fail, and whose
// turn comes before, are proved to run: what has broken one, by an argument that it does
// not take or a certificate that it does not like, would break the next as well. Those
// that fail are changed one after another. Where nobody answers for the cluster none
// gets well without the others, and there is nothing to keep.
func MendFirst(b *topology.Builder, c *topology.Cluster) {
	if c.Report == nil {
		return
	}
	for _, s := range b.Draft.Steps {
		if s.ID.Waypoint != "" || !disturbs(b, c, s) {
			continue
		}
		n := c.Node(s.Target)
		for _, o := range c.Preceding(n) {
			switch {
			case !o.Fails():
			case n != nil && n.Fails():
				b.After(s.ID, topology.StepAddress(o.Target, topology.ControlPlanePhase))
			default:
				b.After(s.ID, topology.StepAddress(o.Target, topology.WaitControlPlanePhase))
			}
		}
	}
}

// disturbs reports whether a step stops or restarts something of a control plane, or
// takes one out that is still there. In an upgrade those that leave are gone before. So
// are those whose member of etcd is dead: they serve nobody, and keep others from restarting.
func disturbs(b *topology.Builder, c *topology.Cluster, s planner.Step) bool {
	if s.Phase != topology.ResetPhase && (s.Phase != topology.DrainPhase || c.Up != nil) {
		return slices.Contains(s.Limits, c.Limit("control-plane-disruption"))
	}
	return c.Up == nil && slices.ContainsFunc(c.Fleet.Departures(), func(l topology.Departure) bool {
		return l.Cluster == c && !l.HostGone && !l.Dead() && l.Role == string(config.ControlPlane) && l.Target == s.Target
	})
}
