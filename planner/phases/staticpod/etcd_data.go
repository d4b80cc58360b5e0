package staticpod

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// DataOnHost returns the host's folder in which an etcd pod keeps its data: a patch can mount another
// one at the same path. It is empty where the data is in no folder of the host and does not outlive the
// container.
func DataOnHost(pod state.Value, usual string) string {
	dir := path.Clean(cmp.Or(pod.Get("args.data-dir").AsString(), usual))
	mount, host := "", ""
	for name, m := range pod.Get("mounts").AsMap() {
		at := path.Clean(m.Get("mountPath").AsString())
		if len(at) < len(mount) || !strings.HasPrefix(dir+"/", strings.TrimSuffix(at, "/")+"/") {
			continue
		}
		mount, host = at, ""
		if p := pod.Get("volumes").AsMap()[name].Get("hostPath").Get("path").AsString(); p != "" {
			host = path.Join(p, m.Get("subPath").AsString(), strings.TrimPrefix(dir, at))
		}
	}
	return host
}

// FolderName formats a folder for a sentence.
func FolderName(dir string) string {
	if dir == "" {
		return "no folder of the host"
	}
	return fmt.Sprintf("%q", dir)
}

// EtcdMoved compares the host's folder of a member's data, according to the manifest on the host or the
// recorded one, with the desired folder.
func EtcdMoved(n *topology.Node) (had, wants string, moved bool) {
	if n.Report == nil || n.Joins() {
		return "", "", false
	}
	tree, err := ManifestTree(n, "etcd")
	if err != nil {
		return "", "", false
	}
	wants = DataOnHost(tree, n.Cluster.Etcd.DataDir)
	if f := n.Report.Files[topology.Manifest("etcd")]; f.Exists {
		if pod, err := kubeadm.StaticPodAttributes(f.Content); err == nil {
			had = DataOnHost(pod, n.Cluster.Etcd.DataDir)
			return had, wants, had != wants && !remembersFolder(n, wants)
		}
	}
	it := n.Cluster.Fleet.RecordedItems.Find(topology.ItemAddress(n.Target, topology.EtcdPhase, "file", topology.Manifest("etcd")))
	if it == nil || it.Attributes.Get("args").IsNull() {
		return "", wants, false
	}
	had = DataOnHost(it.Attributes, n.Cluster.Etcd.DataDir)
	return had, wants, had != wants
}

// remembersFolder reports whether the state records that folder for a member's data: its manifest was
// changed by hand, and the plan corrects it.
func remembersFolder(n *topology.Node, dir string) bool {
	it := n.Cluster.Fleet.RecordedItems.Find(topology.ItemAddress(n.Target, topology.EtcdPhase, "file", topology.Manifest("etcd")))
	return it != nil && !it.Attributes.Get("args").IsNull() && DataOnHost(it.Attributes, n.Cluster.Etcd.DataDir) == dir
}

// ReturnsToFormerData reports whether a member's data is in the host's folder that it is to have again,
// while the member in the other folder is not healthy.
func ReturnsToFormerData(n *topology.Node, wants string) bool {
	if wants != n.Cluster.Etcd.DataDir || !n.Report.Files[n.EtcdData()].Exists {
		return false
	}
	at := n.Cluster.MemberCondition(n.Cluster.Fleet.PeerURL(n.Target))
	return at != quorum.Learner && at != quorum.Voter
}

// patchedEtcdTag returns the tag of etcd's image where a patch sets another one than the configuration,
// with the place of the patch.
func patchedEtcdTag(n *topology.Node) (tag string, at state.Source, patched bool) {
	patches := kubeadm.Patches(n.Input(), "etcd")
	if len(patches) == 0 {
		return "", state.Source{}, false
	}
	tree, err := ManifestTree(n, "etcd")
	if err != nil {
		return "", state.Source{}, false
	}
	tag = tagOf(tree.Get("image").AsString())
	return tag, patches[len(patches)-1].Source, tag != kubeadm.EtcdTag(n.Input())
}

// tagOf returns the tag of an image, without a digest after it.
func tagOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(path.Base(image), ":")
	return tag
}

// WantedEtcdTag is a desired tag of etcd's image, and the place that sets it.
type WantedEtcdTag struct {
	Tag string
	// Means says where the tag comes from.
	Means string
	At    state.Source
}

// PatchedEtcdTags returns the tags that patches give the pods of etcd, each once.
func PatchedEtcdTags(c *topology.Cluster) []WantedEtcdTag {
	var out []WantedEtcdTag
	seen := map[string]bool{}
	for _, n := range c.ControlPlanes() {
		if tag, at, ok := patchedEtcdTag(n); ok && !seen[tag] {
			seen[tag] = true
			out = append(out, WantedEtcdTag{tag, "a patch sets the image tag", at})
		}
	}
	return out
}
