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

// ProofStep waits for static pods that are known not to run as their manifests say, and in an upgrade
// also for those that are not known to: manifests that an earlier apply wrote before it was
// interrupted. For manifests that this plan writes, the writing steps wait.
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
			continue // no pods are shown before the API answers
		}
		wait := planner.Wait{For: planner.WaitStaticPod, Name: component + "-" + n.NodeName, Timeout: t.UpgradeManifests}
		if it.Sealed.IsZero() && podCondition(n, component) != podDoubted {
			wait.Hash = manifestHash(n, component)
		}
		ops = append(ops, wait)
	}
	if ops = append(ops, HealthWaits(n, components...)...); len(ops) == 0 {
		return planner.Step{}
	}
	s := planner.Step{Via: n.Target, Action: planner.NoOp, Impact: proofImpact(n, components), Operations: ops}
	if n.Upgrades() || slices.ContainsFunc(components, func(component string) bool { return podCondition(n, component) >= podGone }) {
		s.Action = planner.Update
	}
	return s
}

// writes reports whether the item is among the changes, including those at waypoints.
func writes(w topology.PhaseWork, it *state.Item) bool {
	return slices.ContainsFunc(w.Changes, func(c planner.Change) bool { return c.Address.Item == it.Address.Item })
}

// proofImpact says what the step waits for, and what waits for the step.
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

// proved reports whether a component needs no verification: in an upgrade because it was observed to
// run its host's manifest, otherwise because it is not known to fail.
func proved(n *topology.Node, component string) bool {
	if !n.Upgrades() {
		return !slices.Contains(n.Cluster.Failed[n.Target], component)
	}
	return podCondition(n, component) == podProved
}

// runsAnother reports whether a pod was made from another manifest than the host has.
func runsAnother(n *topology.Node, component string, pod state.StaticPodReport) bool {
	hash := manifestHash(n, component)
	return hash != "" && !slices.Contains(strings.Fields(hash), pod.Hash)
}

// condition is whether a component of a control plane runs as the manifest on its host says, by what
// the API shows of its pod and the host of its process. From podStarting on it does not, and from podGone
// on that is certain.
type condition int

const (
	// podUnknown: neither is known. The API or the kubelet is silent, or the API has no Node of the
	// kubelet, and the host has the process or was not asked.
	podUnknown condition = iota
	// podProved: the API shows the pod as ready, and no other manifest than the host's.
	podProved
	// podUnhashed: the API shows the pod as ready, and not which manifest it was made from.
	podUnhashed
	// podStarting: the kubelet reports, and the pod is not ready. The API shows a pod as ready only some
	// seconds after it is.
	podStarting
	// podDoubted: the pod shows another hash than that of the manifest, and nothing else indicates that
	// it runs another one. The kubelet may compute the hash differently than assumed here, so that the
	// expected one may never appear.
	podDoubted
	// podGone: the host has no process that was started from the manifest.
	podGone
	// podOutdated: the pod shows another hash, and its process is older than the manifest or gone.
	podOutdated
)

// podCondition returns the condition of a component of an observed control plane.
func podCondition(n *topology.Node, component string) condition {
	var pod state.StaticPodReport
	if n.Cluster.Report != nil {
		pod = n.Cluster.Report.StaticPods[component+"-"+n.NodeName]
	}
	another, ready := n.Cluster.Report != nil && runsAnother(n, component, pod), pod.Running && pod.Ready
	switch at := n.NodeCondition(); {
	case another && pod.Hash != "" && (n.Report.Outdated(component, topology.Manifest(component)) || processGone(n, component)):
		return podOutdated
	case another && pod.Hash != "":
		return podDoubted
	case ready && another:
		return podUnhashed
	case ready:
		return podProved
	case processGone(n, component):
		return podGone
	case at == state.NodeReady || at == state.NodeNotReady:
		return podStarting
	}
	return podUnknown
}

// processGone reports whether the host has no process that was started from the component's manifest
// there.
func processGone(n *topology.Node, component string) bool {
	for _, r := range ReadersOf(n, "") {
		if r.Component != component || n.Report.Started == nil {
			continue
		}
		_, runs := n.Report.Started[component]
		// The query identifies the process by an argument that the manifest may not have.
		return !runs && bytes.Contains(n.Report.Files[topology.Manifest(component)].Content, []byte(process(r, n).Argument))
	}
	return false
}

// WithoutDoubts returns the failing components of a cluster without those that may just be starting,
// unless a control plane is about to be touched. Such doubts are neither a reason for a plan nor a
// change, but reason enough to wait before another control plane is disturbed.
func WithoutDoubts(c *topology.Cluster, changes []planner.Change) map[state.Target][]string {
	if c.Up != nil || len(c.Rotating) > 0 || c.Keys.Acts() || touchesControlPlanes(c, changes) {
		return c.Failed
	}
	out := map[state.Target][]string{}
	for t, components := range c.Failed {
		n := c.Node(t)
		out[t] = slices.DeleteFunc(slices.Clone(components), func(component string) bool { return podCondition(n, component) < podGone })
	}
	return out
}

// touchesControlPlanes reports whether a control plane is changed or departs.
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
		if c.Founding || n.Joins() || n.NodeCondition() == state.NodeMissing {
			continue
		}
		for _, component := range n.StaticPods() {
			if n.Report.Files[topology.Manifest(component)].Exists && podCondition(n, component) >= podStarting {
				out[n.Target] = append(out[n.Target], component)
			}
		}
		if slices.Contains(out[n.Target], "kube-apiserver") {
			out[n.Target] = slices.DeleteFunc(out[n.Target], func(component string) bool { return livesOnAPI(n, component) })
		}
	}
	return out
}

// livesOnAPI reports whether a component may fail only because the API server beside it does: as far as
// observed, it runs as its manifest says.
func livesOnAPI(n *topology.Node, component string) bool {
	if component == "etcd" || component == "kube-apiserver" {
		return false
	}
	r := n.Cluster.Report
	return r == nil || !runsAnother(n, component, r.StaticPods[component+"-"+n.NodeName])
}

// FailingControlPlanes returns the failing control planes in their order.
func FailingControlPlanes(c *topology.Cluster) []*topology.Node {
	return slices.DeleteFunc(c.InTurn(), func(n *topology.Node) bool { return !n.Fails() })
}

// MendFirst makes a step that disturbs a control plane wait until the failing ones whose turn comes
// before are verified to run: an argument or a certificate that has broken one would break the next as
// well. Failing ones are changed one after another. While the API does not answer, none recovers
// without the others, and there is no availability to protect. Where API servers begin to verify
// kubelets, a failing one is written after the kubelets have their certificates, which restarts no pod.
func MendFirst(b *topology.Builder, c *topology.Cluster) {
	if c.Report == nil {
		return
	}
	for _, s := range b.Draft.Steps {
		if s.ID.Waypoint != "" || !disturbs(b, c, s) || s.Phase == topology.KubeletStartPhase && c.StartsVerifying() {
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

// disturbs reports whether a step stops or restarts something on a control plane, or removes one that
// still runs. In an upgrade departing ones are gone before. A control plane whose etcd member is dead
// is not counted: it serves no client, and keeps others from restarting.
func disturbs(b *topology.Builder, c *topology.Cluster, s planner.Step) bool {
	if s.Phase != topology.ResetPhase && (s.Phase != topology.DrainPhase || c.Up != nil) {
		return slices.Contains(s.Limits, c.Limit("control-plane-disruption"))
	}
	return c.Up == nil && slices.ContainsFunc(c.Fleet.Departures(), func(l topology.Departure) bool {
		return l.Cluster == c && !l.HostGone && !l.Dead() && l.Role == string(config.ControlPlane) && l.Target == s.Target
	})
}
