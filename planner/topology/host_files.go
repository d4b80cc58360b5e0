package topology

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// RestartsAttr is the attribute of a file of the user that lists what restarts when it changes. It is
// recorded, so that a file that leaves the configuration still restarts it, and never compared.
const RestartsAttr = "restarts"

// HostFiles returns the files of the user on the node, and the drop-ins of its kubelet and runtime, for which
// these restart in the same way.
func HostFiles(n *Node) []config.File {
	return append(n.Cluster.FilesOn(n.Node), n.Cluster.ComponentDropIns(n.Node)...)
}

// HostDirectories returns the directories of the user on the node.
func HostDirectories(n *Node) []config.Directory { return n.Cluster.DirectoriesOn(n.Node) }

// FilesFor returns the files of the user for which a component restarts on the node.
func FilesFor(n *Node, component string) []string {
	var out []string
	for _, f := range HostFiles(n) {
		if slices.Contains(n.Cluster.Readers(n.Node, f), component) {
			out = append(out, f.Path)
		}
	}
	return out
}

// RuntimeUnits are the units of container runtimes that files of the user may restart, by the name in
// restarts.
var RuntimeUnits = map[string]string{config.RestartsContainerd: "containerd.service", config.RestartsCRIO: "crio.service"}

// ReadersOfFile returns what restarts on the node for a file of the user: as configured or, once its
// block is gone, as recorded.
func ReadersOfFile(n *Node, path string) []string {
	for _, f := range HostFiles(n) {
		if f.Path == path {
			return n.Cluster.Readers(n.Node, f)
		}
	}
	return RecordedReaders(n.Cluster.Fleet.RecordedItems, n.Target, path)
}

// RecordedReaders returns what restarted for a file of the user, as the state records it.
func RecordedReaders(recorded *state.Snapshot, t state.Target, path string) []string {
	var out []string
	if recorded == nil {
		return nil
	}
	if it := recorded.Find(ItemAddress(t, HostFilesPhase, "file", path)); it != nil {
		for _, name := range it.Attributes.Get(RestartsAttr).AsList() {
			out = append(out, name.AsString())
		}
	}
	return out
}
