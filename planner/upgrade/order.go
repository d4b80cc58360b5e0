package upgrade

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// afterKubelets returns the steps after which every kubelet has its version: the addons come last.
func afterKubelets(c *topology.Cluster) []state.Address {
	var needs []state.Address
	for _, n := range c.Nodes {
		if n.Upgrades() {
			needs = append(needs, topology.StepAddress(n.Target, topology.KubeletStartPhase))
		}
	}
	return needs
}

// beforeDrain returns the steps before the drain of a node for its kubelet: all control planes have
// the version, and earlier batches are Ready.
func beforeDrain(n *topology.Node) []state.Address {
	needs := append(kubelet.AfterControlPlanes(n.Cluster), topology.StepAddress(n.Target, topology.ImagesPhase))
	if i := kubelet.BatchOf(n.Cluster, n); i >= 0 && !n.IsControlPlane() {
		needs = append(needs, pause(n.Cluster, i))
	}
	return needs
}

// beforeTurn returns the steps of the kubelets that are upgraded before a node is drained for its
// own: those of the control planes one after another, then those of the workers; within a batch,
// the node as many places before as may be down at once. Absent workers return first.
func beforeTurn(n *topology.Node) []state.Address {
	c := n.Cluster
	planes := kubelet.KubeletsToUpgrade(c, config.ControlPlane)
	turn := []*topology.Node{staticpod.NodeBefore(planes, n, 1)}
	if !n.IsControlPlane() {
		turn = planes
		if i := kubelet.BatchOf(c, n); i >= 0 {
			turn = append(turn, staticpod.NodeBefore(kubelet.UpgradeBatches(c)[i].Nodes, n, kubelet.UpgradeBatches(c)[i].Lanes))
		}
	}
	var needs []state.Address
	for _, o := range turn {
		if o != nil {
			needs = append(needs, topology.StepAddress(o.Target, topology.KubeletStartPhase))
		}
	}
	if !n.IsControlPlane() {
		needs = append(needs, workersBack(c)...)
	}
	return needs
}

// workersBack returns the steps after which all absent workers have returned and are Ready.
func workersBack(c *topology.Cluster) []state.Address {
	var out []state.Address
	for _, n := range c.Nodes {
		if n.ComesBack() {
			out = append(out, kubelet.JoinProved(n))
		}
	}
	return out
}

// OrderUpgrade adds the steps that only an upgrade has to the draft: the drains of nodes whose
// kubelets get another version, pauses, and intermediate versions.
func OrderUpgrade(b *topology.Builder, c *topology.Cluster) {
	if c.Up == nil {
		return
	}
	for _, n := range c.Nodes {
		if !n.Upgrades() {
			continue
		}
		b.Draft.Turns[topology.StepAddress(n.Target, topology.EtcdPhase)], b.Draft.Turns[topology.StepAddress(n.Target, topology.ControlPlanePhase)] = allImages(c), allImages(c)
		id := topology.StepAddress(n.Target, topology.DrainPhase)
		b.Draft.Edges[id], b.Draft.Turns[id] = beforeDrain(n), beforeTurn(n)
		if s := kubelet.DrainStep(n); len(s.Operations) > 0 {
			s.ID, s.Phase, s.Target, s.Action = id, topology.DrainPhase, n.Target, planner.Update
			b.Draft.Steps = append(b.Draft.Steps, s)
		}
	}
	b.Draft.Turns[topology.StepAddress(c.Target, topology.AddonPhase)] = afterKubelets(c)
	configured, gone := objects.AddonTargets(c)
	for _, t := range slices.Concat(configured, gone) {
		b.Draft.Turns[topology.StepAddress(t, topology.AddonPhase)] = afterKubelets(c)
	}
	pauses(b, c)
	before := staticpod.StepsBeforeUpgrade(c)
	for _, w := range c.Up.Way {
		waypoint(b, c, w, before)
		before = w.AllProved()
	}
}

// TaintsFirst moves the step that marks a node between the drain and the step of the kubelet, which
// uncordons the node, if it sets a taint or keeps the node cordoned: otherwise a pod that is to be kept
// away could be scheduled in between, and be killed if the effect of the taint is NoExecute. A partial plan has both steps or
// none, unless the user skips the mark by name.
func TaintsFirst(b *topology.Builder, c *topology.Cluster) {
	restricted := planner.Options{Excludes: c.Fleet.Excluded, SkipPhases: c.Fleet.Skipped}
	for _, n := range c.Nodes {
		mark, start := topology.StepAddress(n.Target, drain.MarkPhase(n)), topology.StepAddress(n.Target, topology.KubeletStartPhase)
		if !opens(n) || !restricted.Selects(mark) || !keepsPodsOff((topology.PhaseWork{Changes: b.Changes[mark]})) {
			continue
		}
		b.Draft.Edges[mark] = slices.Clone(b.Draft.Edges[start])
		b.After(start, mark)
		b.Draft.Closes[start] = []state.Address{mark}
	}
}

// opens reports whether the kubelet step of the node uncordons it.
func opens(n *topology.Node) bool {
	if n.Cluster.Report == nil || n.Report == nil || n.Joins() || staticpod.Unregistered(n) {
		return false
	}
	return kubelet.CordonedForUpgrade(n) || drain.WasLeaving(n)
}

// keepsPodsOff reports whether a change adds a taint to a node, or cordons it.
func keepsPodsOff(w topology.PhaseWork) bool {
	return slices.ContainsFunc(w.Changes, func(c planner.Change) bool {
		return slices.ContainsFunc(c.Attributes, func(a planner.AttributeChange) bool {
			keys := state.SplitPath(a.Path)
			return len(keys) == 2 && keys[0] == "taints" && !a.After.IsNull() || a.Path == "schedulable" && a.After.Equal(state.Bool(false))
		})
	})
}

// RiskySteps returns the steps that replace etcd, or move the cluster to another minor version, in
// which the API may store objects in another form. Where an etcd is replaced, all other changes
// there come after the snapshot, too.
func RiskySteps(b *topology.Builder, c *topology.Cluster) []state.Address {
	var out []state.Address
	replaced := c.Up != nil || slices.ContainsFunc(c.ControlPlanes(), func(n *topology.Node) bool { return etcd.ReplacesEtcd(b, n) })
	if c.Up != nil {
		for _, w := range c.Up.Way {
			out = append(out, w.AllProved()...)
		}
	}
	for _, n := range c.ControlPlanes() {
		etcd, plane := topology.StepAddress(n.Target, topology.EtcdPhase), topology.StepAddress(n.Target, topology.ControlPlanePhase)
		if len(b.Changes[etcd]) > 0 && replaced {
			out = append(out, etcd)
		}
		if len(b.Changes[plane]) > 0 && c.Up != nil && c.Up.Raises && c.Up.Oldest.Minor != c.Up.Want.Minor {
			out = append(out, plane)
		}
	}
	return out
}
