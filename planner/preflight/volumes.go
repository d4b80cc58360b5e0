package preflight

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/phases"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// seenAs is what an observation calls that which a volume's path_type demands.
// The kubelet does not start a static pod without it; of the other types it
// makes what is missing, or demands nothing.
var seenAs = map[string]string{
	"Directory": "directory", "File": "file", "Socket": "other", "CharDevice": "other", "BlockDevice": "other",
}

// DemandedVolumes returns the extra volumes whose path has to be on a control plane already.
func DemandedVolumes(n *topology.Node) []config.Volume {
	if !n.IsControlPlane() {
		return nil
	}
	c := n.Cluster
	all := slices.Concat(c.APIServer.Volumes, c.ControllerManager.Volumes, c.Scheduler.Volumes)
	for i, v := range all {
		all[i].HostPath = path.Clean(v.HostPath) // a slash at its end is the kubelet's affair
	}
	return slices.DeleteFunc(all, func(v config.Volume) bool { return seenAs[v.PathType] == "" })
}

// volumesExist finds extra volumes without which the kubelet would leave the
// component down, on a running control plane as well. What a symbolic link
// leads to is not known, and is left to the kubelet.
func volumesExist(n *topology.Node) []finding {
	var out []finding
	var own []state.Item
	for i, v := range DemandedVolumes(n) {
		f, asked := n.Report.Files[v.HostPath]
		if i == 0 {
			own = phases.Desired(n)
		}
		if !asked || f.Exists && (f.Type == seenAs[v.PathType] || f.Type == "link") || !f.Exists && makes(own, v.HostPath) {
			continue
		}
		text := fmt.Sprintf("there is no %s", v.HostPath)
		remedy := "create it on every control plane, or remove path_type if it may be missing"
		switch {
		case f.Exists && f.Type == "other":
			text = v.HostPath + " is neither a file nor a directory"
		case f.Exists:
			text = fmt.Sprintf("%s is a %s", v.HostPath, f.Type)
		case n.Cluster.Fleet.Replaces(n.Target) && n.Cluster.Fleet.OriginalReports[n.Target].Files[v.HostPath].Exists:
			text = v.HostPath + " is deleted when the node is replaced, like everything in folders of Kubernetes' own"
			remedy = "keep it in another folder on every control plane, such as /etc/kubernetes/extra, and set that as host_path; or remove path_type if it may be missing"
		}
		out = append(out, finding{
			check:  "HostPath-" + strings.ReplaceAll(v.HostPath, "/", "-"),
			text:   fmt.Sprintf("%s, but the volume %s requires one of type %s: the kubelet would not start the component", text, v.Name, v.PathType),
			remedy: remedy,
		})
	}
	return out
}

// makes reports whether one of the items is the path, or lies below it.
func makes(items []state.Item, path string) bool {
	return slices.ContainsFunc(items, func(it state.Item) bool {
		return it.Address.ID() == path || strings.HasPrefix(it.Address.ID(), path+"/")
	})
}
