package reset

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
)

// networkOperations take away the configurations of networks that were not there
// before us and are no container engine's; what install brought goes with its software.
func networkOperations(l topology.Departure, before map[string]string) []planner.Operation {
	list, known := before[host.BeforeEntries+topology.CNIConfigs]
	if !known {
		return nil
	}
	var ops []planner.Operation
	there := strings.Split(list, "/")
	for _, name := range host.CNIEntries(l.Report) {
		if p := topology.CNIConfigs + "/" + name; !slices.Contains(there, name) && !host.IsEngineConfig(name) && !brought(l, p) {
			ops = append(ops, planner.RemovePath{Path: p})
		}
	}
	if before["folder:"+topology.CNIConfigs] == "" && !l.Replaced && !host.SharesNetworks(l) && !slices.ContainsFunc(l.Report.Marks.Owned, belowCNI) {
		ops = append(ops, planner.RemovePath{Path: topology.CNIConfigs})
	}
	return ops
}

// brought reports whether install has put a file on the host.
func brought(l topology.Departure, p string) bool {
	return slices.Contains(l.Report.Marks.Owned, p)
}

func belowCNI(p string) bool { return strings.HasPrefix(p, topology.CNIConfigs+"/") }
