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

// seenAs maps a volume's path_type to the file type in an observation. The kubelet does not start a
// static pod without such a path; for other types it creates what is missing, or requires nothing.
var seenAs = map[string]string{
	"Directory": "directory", "File": "file", "Socket": "other", "CharDevice": "other", "BlockDevice": "other",
}

// DemandedVolumes returns the extra volumes whose path must already exist on a control plane.
func DemandedVolumes(n *topology.Node) []config.Volume {
	if !n.IsControlPlane() {
		return nil
	}
	c := n.Cluster
	all := slices.Concat(c.APIServer.Volumes, c.ControllerManager.Volumes, c.Scheduler.Volumes)
	for i, v := range all {
		all[i].HostPath = path.Clean(v.HostPath) // the kubelet accepts a trailing slash
	}
	return slices.DeleteFunc(all, func(v config.Volume) bool { return seenAs[v.PathType] == "" })
}

// volumesExist reports missing extra volumes, without which the kubelet would not start the
// component, on a running control plane as well. The target of a symbolic link is unknown, and left
// to the kubelet.
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

// makes reports whether one of the items is the path, or is below it.
func makes(items []state.Item, path string) bool {
	return slices.ContainsFunc(items, func(it state.Item) bool {
		return it.Address.ID() == path || strings.HasPrefix(it.Address.ID(), path+"/")
	})
}
