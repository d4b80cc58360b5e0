package kubelet

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// kubeletUnit returns the desired kubelet. The version of a running kubelet is compared: both that of
// the program and that of the process. While the API does not answer, the version of the process cannot
// be observed, and the recorded version stands for both.
func kubeletUnit(n *topology.Node) state.Item {
	it := state.Item{
		Address: topology.ItemAddress(n.Target, topology.KubeletStartPhase, "unit", topology.KubeletUnit), Kind: state.KindUnit, Partial: true,
		Attributes: topology.Attributes("active", "active", "enabled", "enabled"),
	}
	v := staticpod.ComingKubelet(n)
	if n.Cluster.Report == nil {
		v = staticpod.LastKubelet(n)
	}
	if staticpod.LastKubelet(n) != "" && v != "" && !n.Joins() {
		it.Attributes = topology.Attributes("active", "active", "enabled", "enabled", "version", v)
		it.Origin = map[string]state.Source{"version": provenance.ClusterOrigin(n.Cluster, "kubernetes_version")}
	}
	if staticpod.Unregistered(n) {
		it.Attributes = topology.WithAttribute(it.Attributes, RegisteredAttr, true)
	}
	return withUnitMode(n, it)
}

// ObserveUnit returns an observed unit and, for a kubelet, the running version.
func ObserveUnit(v *topology.Fleet, it *state.Item, u state.UnitReport) state.Value {
	if it.Address.ID() != topology.KubeletUnit {
		return topology.Attributes("active", u.Active, "enabled", u.Enabled)
	}
	n, active := v.Find(it.Address.Target), u.Active
	if n == nil || n.RunningKubelet() == "" {
		active = host.KubeletActive(v.Reports[it.Address.Target])
	}
	out := topology.Attributes("active", active, "enabled", u.Enabled)
	if n != nil && staticpod.LastKubelet(n) != "" {
		out = topology.WithAttribute(out, "version", staticpod.LastKubelet(n))
	}
	if n != nil {
		out = observeUnitMode(n, it, observeRegistered(n, it.Address, out))
	}
	return out
}

// DrainStep drains a node before its kubelet is replaced. A node that an earlier apply has drained is
// not drained again. The only node of a cluster is not drained either: its pods have nowhere to go.
func DrainStep(n *topology.Node) planner.Step {
	if !pki.KubeletChanges(n) {
		return planner.Step{}
	}
	seen := n.Cluster.Report.Nodes[n.NodeName]
	if drain.Cordoned(n) && seen.Unschedulable && emptied(n) || len(n.Cluster.Report.Nodes) < 2 {
		return planner.Step{}
	}
	impact := drain.DrainImpact(n.Cluster, n.NodeName)
	if seen.Unschedulable && !drain.Cordoned(n) && !drain.WasLeaving(n) {
		impact += "; the node is already cordoned and stays cordoned"
	} else if drain.StaysCordoned(n) {
		impact += "; the node stays cordoned"
	}
	return planner.Step{
		Via: n.Cluster.Primary, Limits: []string{n.Cluster.Limit("drain")}, Gates: drain.TurnGates(n),
		Impact: impact, Pods: drain.DrainedPods(n.Cluster, n.NodeName), Operations: drain.Drain(n.Cluster, n.NodeName, drain.ForUpgrade),
	}
}

// emptied reports whether the node has no pods left that a drain would evict. Where its pods were not
// observed, only a node without any pods counts as drained.
func emptied(n *topology.Node) bool {
	all := n.Cluster.Report.Nodes[n.NodeName].Pods
	return all == 0 || len(drain.PodsOf(n.Cluster, n.NodeName)) == all && len(drain.Evicted(n.Cluster, n.NodeName)) == 0
}

// turnStep completes kubelet-start for a kubelet that gets another version: the kubelet, with the
// static pods that it restarts, has to run before the node is uncordoned.
func turnStep(n *topology.Node, s planner.Step, w topology.PhaseWork) planner.Step {
	s.Operations = append(append(s.Operations, pki.HealthWait(n)...), WaitTurned(n))
	restarted := restarts(n, w)
	var names []string
	for _, it := range restarted {
		names = append(names, staticpod.ComponentOf(it))
	}
	s.Operations = slices.Concat(s.Operations, letIn(n), stay(n))
	s.Impact = kubeletUpgradeImpact(n, names)
	if n.IsControlPlane() {
		s.Limits = []string{n.Cluster.Limit("control-plane-disruption")}
	}
	if len(restarted) > 0 {
		s.Gates = staticpod.RestartGates()
	}
	return s
}

// turned runs the operations that restart the node's static pods while these are stopped.
func turned(n *topology.Node, w topology.PhaseWork, ops []planner.Operation) []planner.Operation {
	pods := restarts(n, w)
	if len(pods) == 0 {
		return ops
	}
	return staticpod.WhileStopped(n, pods, append(slices.Clone(ops), pki.HealthWait(n)...)...)
}

// letsIn ends the impact of a step on a node that was cordoned before.
const letsIn = "; then uncordons the node"

func kubeletUpgradeImpact(n *topology.Node, restarted []string) string {
	impact := "restarts the kubelet here"
	if len(restarted) > 0 {
		impact += ", and with it " + strings.Join(restarted, ", ")
	}
	return impact + lettingIn(n)
}

// lettingIn ends the impact of a step after which the node gets pods again; empty for one that stays
// cordoned, or was not.
func lettingIn(n *topology.Node) string {
	if (CordonedForUpgrade(n) || drain.WasLeaving(n)) && !drain.StaysCordoned(n) {
		return letsIn
	}
	return ""
}

// CordonedForUpgrade reports whether the node is cordoned when its kubelet is replaced or gives up what
// it has committed itself to.
func CordonedForUpgrade(n *topology.Node) bool {
	seen := n.Cluster.Report.Nodes[n.NodeName]
	drained := drainsForCommitments(n) || pki.KubeletChanges(n) && len(n.Cluster.Report.Nodes) > 1 && !slices.Contains(n.Cluster.Fleet.Skipped, topology.DrainPhase)
	return drain.Cordoned(n) || drained && !seen.Unschedulable && !drain.StaysCordoned(n)
}

// letIn uncordons a node that was cordoned for the upgrade.
func letIn(n *topology.Node) []planner.Operation {
	if !CordonedForUpgrade(n) {
		return nil
	}
	undo := planner.Cordon{Node: n.NodeName, Undo: true, For: drain.ForUpgrade}
	if pauseBehind(n) > 0 {
		undo.Remember = staticpod.ComingKubelet(n)
	}
	return []planner.Operation{undo}
}

// WaitTurned waits until the API shows the kubelet in its new version. A Ready before that may be the
// old kubelet's last heartbeat.
func WaitTurned(n *topology.Node) planner.Wait {
	return planner.Wait{For: planner.WaitNodeReady, Name: n.NodeName, Version: staticpod.ComingKubelet(n), Timeout: n.Cluster.Timeouts.KubeletHealthCheck}
}

// resumeStep uncordons a node where an earlier apply was interrupted just before that: the kubelet has
// its version already.
func resumeStep(n *topology.Node) planner.Step {
	s := planner.Step{
		Via: n.Cluster.Primary, Impact: "uncordons the node, where an earlier apply was interrupted",
		Operations: append(planner.Operations{WaitTurned(n)}, letIn(n)...),
	}
	if drain.StaysCordoned(n) {
		s.Impact = "completes the upgrade of the node, where an earlier apply was interrupted; it stays cordoned"
	}
	return s
}

// stayStep uncordons a node whose removal was begun, and that stays.
func stayStep(n *topology.Node) planner.Step {
	s := planner.Step{Via: n.Cluster.Primary, Impact: "uncordons the node, which an earlier apply began to remove", Operations: stay(n)}
	if drain.StaysCordoned(n) {
		s.Impact = "keeps the node, which an earlier apply began to remove; it stays cordoned"
	}
	return s
}

// stay uncordons a node that was cordoned for its removal. A node that a user has cordoned stays
// cordoned.
func stay(n *topology.Node) planner.Operations {
	if !drain.WasLeaving(n) {
		return nil
	}
	return planner.Operations{planner.Cordon{Node: n.NodeName, Undo: true, For: drain.ForLeaving}}
}

// restarts returns the static pods that the node's new kubelet restarts: a kubelet identifies a pod by
// a hash over its own version of the pod's type.
func restarts(n *topology.Node, w topology.PhaseWork) []*state.Item {
	var out []*state.Item
	if !n.IsControlPlane() {
		return nil
	}
	for _, component := range n.StaticPods() {
		it := w.Desired.Find(topology.ItemAddress(n.Target, staticpod.PodPhase(component), "file", topology.Manifest(component)))
		if it == nil {
			continue
		}
		in := n.Input()
		before := kubeadm.ComponentHash(in, component, it.Content)
		in.RunningKubelet = pki.NewKubeletVersion(n)
		if after := kubeadm.ComponentHash(in, component, it.Content); before == "" || before != after {
			out = append(out, it)
		}
	}
	return out
}
