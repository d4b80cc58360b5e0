package phases

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// cniConfigs is where the container runtime looks for the network of pods. A network
// addon puts its own configuration there, and nobody takes it away with the addon: a
// host that was given back would go on with a network that is not there.
const cniConfigs = "/etc/cni/net.d"

// flannelState is what flannel leaves in memory, until the next boot.
const flannelState = "/run/flannel"

// beforeEntries in Marks.Before has the names of what a folder held, with slashes
// between them, as none has one in it. A mark of before says nothing of it.
const beforeEntries = "entries:"

// cniEntries are the names of what is among the configurations of networks.
func cniEntries(r *state.Report) []string {
	var out []string
	for p, f := range r.Files {
		if name, ok := strings.CutPrefix(p, cniConfigs+"/"); ok && f.Exists {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// networkOperations take away the configurations of networks that were not there
// before us; what install brought goes with its software.
func (l leaver) networkOperations(before map[string]string) []planner.Operation {
	list, known := before[beforeEntries+cniConfigs]
	if !known {
		return nil
	}
	var ops []planner.Operation
	there := strings.Split(list, "/")
	for _, name := range cniEntries(l.report) {
		if p := cniConfigs + "/" + name; !slices.Contains(there, name) && !l.brought(p) {
			ops = append(ops, planner.RemovePath{Path: p})
		}
	}
	if before["folder:"+cniConfigs] == "" && !l.replaced && !slices.ContainsFunc(l.report.Marks.Owned, belowCNI) {
		ops = append(ops, planner.RemovePath{Path: cniConfigs})
	}
	return ops
}

// brought tells that install has put a file on the host.
func (l leaver) brought(p string) bool {
	return slices.Contains(l.report.Marks.Owned, p)
}

func belowCNI(p string) bool { return strings.HasPrefix(p, cniConfigs+"/") }
