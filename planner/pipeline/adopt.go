package pipeline

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/diff"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// importedFrom returns the host that a target is imported from; empty when the target is not imported.
func importedFrom(v *topology.Fleet, t state.Target, label string) string {
	if v.Imported.Nodes[t] == nil && (t.Type != state.TypeCluster || v.Imported.Clusters[label] == nil) {
		return ""
	}
	for _, i := range v.Config.Imports {
		if i.To.Name == label {
			return i.ID
		}
	}
	return ""
}

// OptionalWhenAdopted reports whether an adopted node may lack the item: images, which its kubelet
// fetches when it needs them, and the files that persist sysctls and modules which are already in
// effect.
func OptionalWhenAdopted(it *state.Item) bool {
	return it.Kind == state.KindImage || it.Kind == state.KindMark || it.Kind == state.KindFile && (it.Address.ID() == host.SysctlFile || it.Address.ID() == host.ModulesFile)
}

// ItemName returns an item's address on its node: images/image:REF.
func ItemName(it *state.Item) string { return it.Address.Phase + "/" + it.Address.Item }

// missed returns the items except for those that an adopted node may lack.
func missed(n *topology.Node, items []state.Item) []state.Item {
	a := pki.Adoption(n)
	if a == nil {
		return items
	}
	return slices.DeleteFunc(items, func(it state.Item) bool {
		return it.Kind == state.KindMark && pki.Unmarked(n) || OptionalWhenAdopted(&it) && slices.Contains(a.Without, ItemName(&it)) && !(it.Address.ID() == host.SysctlFile && host.HasSysctls(n))
	})
}

// markAdopted adds our marker to the hosts of adopted nodes that are about to be changed: from then on
// each host says whose it is.
func markAdopted(v *topology.Fleet, changes []planner.Change) ([]state.Item, []planner.Change) {
	marks := &state.Snapshot{}
	for _, c := range v.Clusters {
		for _, n := range c.Nodes {
			if pki.Unmarked(n) && slices.ContainsFunc(changes, func(c planner.Change) bool { return c.Address.Target == n.Target }) {
				marks.Items = append(marks.Items, host.MarkItem(n))
			}
		}
	}
	return marks.Items, diff.Changes(marks, &state.Snapshot{}, &state.Snapshot{})
}
