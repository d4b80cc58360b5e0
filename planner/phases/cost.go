package phases

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// price says of each change what it costs of what runs.
func (v *View) price(changes []planner.Change) {
	for i := range changes {
		changes[i].Cost = v.cost(changes[i])
	}
}

func (v *View) cost(c planner.Change) planner.Cost {
	switch n := v.find(c.Address.Target); {
	case v.replaces(c.Address.Target):
		return planner.CostReplace
	case c.Kind == state.KindObject || c.Kind == state.KindNodeObject || c.Kind == state.KindEtcdMember:
		return planner.CostObject
	case n != nil && n.report != nil && !n.joins() && !c.OnlyAccess() && n.restartsFor(c):
		return planner.CostRestart
	}
	return planner.CostNone
}

// restartsFor tells that the change of an item has something restarted on a node that runs.
func (n *node) restartsFor(c planner.Change) bool {
	switch c.Address.Phase {
	case kubeletStartPhase:
		return true // the kubelet reads all of it when it starts
	case installPhase:
		return n.restartsForSoftware(c)
	case etcdPhase, controlPlanePhase:
		return c.Kind == state.KindStaticPod
	}
	path := fileOf(c)
	return path == kubeletConf || path == kubeletClientCert || slices.ContainsFunc(n.readersOf(""), func(r reader) bool {
		return n.report.Files[manifest(r.component)].Exists && slices.Contains(r.heldFiles(n, n.cluster.replacesAtOnce()), path)
	})
}

// restartsForSoftware tells that a part of what is installed is restarted when the
// item changes.
func (n *node) restartsForSoftware(c planner.Change) bool {
	if c.Kind == state.KindUnit {
		return true
	}
	if c.Kind == state.KindPackage {
		return partOfPackage(c.Address.ID()) != toolsPart && comes(c)
	}
	return slices.ContainsFunc(n.software(), func(f installed) bool { return f.path == c.Address.ID() && f.runs() })
}
