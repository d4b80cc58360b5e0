package pki

import (
	"maps"
	"slices"

	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// KeyMaterialPaths returns the paths of the certificates and keys of a configured node.
func KeyMaterialPaths(n *topology.Node) []string {
	return KeyMaterialFiles(append(Certs.NodeItems(n), WorkerCA(n)...))
}

// KeyMaterialFiles returns the paths of certificates and keys among items, in order.
func KeyMaterialFiles(items []state.Item) []string {
	set := map[string]bool{}
	for i := range items {
		it := &items[i]
		id := it.Address.ID()
		switch {
		case it.Kind == state.KindCertificate && it.Address.Class() == "certificate":
			set[id+".crt"], set[id+".key"] = true, true
		case it.Kind == state.KindCertificate, it.Kind == state.KindKey:
			set[id] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
