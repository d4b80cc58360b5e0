package reset

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
)

// networkOperations removes network configurations that did not exist before kubewright and belong
// to no container engine; the files of install are removed with its software.
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

// brought reports whether install has created a file on the host.
func brought(l topology.Departure, p string) bool {
	return slices.Contains(l.Report.Marks.Owned, p)
}

func belowCNI(p string) bool { return strings.HasPrefix(p, topology.CNIConfigs+"/") }
