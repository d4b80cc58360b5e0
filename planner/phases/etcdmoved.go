package phases

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// dataOnHost is the folder of the host in which the pod of an etcd keeps its data: a
// patch can mount another one at the same path. It is empty where the data is in no
// folder of the host, and does not outlive the container.
func dataOnHost(pod state.Value, usual string) string {
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

// checkEtcdMoved refuses a patch of etcd's pod that puts its data into another folder of
// the host: the member would start without data. One whose folder was changed already,
// by hand or by an apply that failed, may go back to its data.
func (c *cluster) checkEtcdMoved() diag.Diagnostics {
	if c.Etcd.External != nil {
		return nil
	}
	var diags diag.Diagnostics
	for _, n := range c.controlPlanes() {
		had, wants, moved := n.etcdMoved()
		if !moved || n.goesBack(wants) {
			continue
		}
		patches := kubeadm.Patches(n.input(), "etcd")
		if len(patches) == 0 {
			continue // the argument or the setting is refused
		}
		text := fmt.Sprintf("the data of etcd on %s in %s, and the patch puts it into %s", n.target, folderName(had), folderName(wants))
		diags = append(diags, c.refuseFixed(c.view.Config.Secrets.Text(text), dependsOnIt, patches[len(patches)-1].Source))
	}
	return diags
}

// folderName is a folder in a sentence.
func folderName(dir string) string {
	if dir == "" {
		return "no folder of the host"
	}
	return fmt.Sprintf("%q", dir)
}

// etcdMoved compares the folder of a member's data on its host, by the manifest that is
// there or is remembered, with the one that it is to have.
func (n *node) etcdMoved() (had, wants string, moved bool) {
	if n.report == nil || n.joins() {
		return "", "", false
	}
	tree, err := n.manifestTree("etcd")
	if err != nil {
		return "", "", false
	}
	wants = dataOnHost(tree, n.cluster.Etcd.DataDir)
	if f := n.report.Files[manifest("etcd")]; f.Exists {
		if pod, err := kubeadm.StaticPodAttributes(f.Content); err == nil {
			had = dataOnHost(pod, n.cluster.Etcd.DataDir)
			return had, wants, had != wants && !n.remembersFolder(wants)
		}
	}
	it := n.cluster.view.recorded.Find(item(n.target, etcdPhase, "file", manifest("etcd")))
	if it == nil || it.Attributes.Get("args").IsNull() {
		return "", wants, false
	}
	had = dataOnHost(it.Attributes, n.cluster.Etcd.DataDir)
	return had, wants, had != wants
}

// remembersFolder reports whether the state remembers that a member's data is in a folder:
// its manifest was changed by hand, and is put right.
func (n *node) remembersFolder(dir string) bool {
	it := n.cluster.view.recorded.Find(item(n.target, etcdPhase, "file", manifest("etcd")))
	return it != nil && !it.Attributes.Get("args").IsNull() && dataOnHost(it.Attributes, n.cluster.Etcd.DataDir) == dir
}

// goesBack reports whether a member's data is in the folder of the host that it is to have
// again, while the member that has another one is not well.
func (n *node) goesBack(wants string) bool {
	if wants != n.cluster.Etcd.DataDir || !n.report.Files[n.etcdData()].Exists {
		return false
	}
	if n.cluster.seen == nil {
		return true
	}
	own := n.cluster.view.PeerURL(n.target)
	for _, m := range n.cluster.seen.Members {
		for _, url := range m.PeerURLs {
			if url == own && m.Healthy {
				return false
			}
		}
	}
	return true
}

// patchedEtcdTag is the tag of etcd's image where a patch gives the pod another one than
// the configuration says, with the place of the patch.
func (n *node) patchedEtcdTag() (tag string, at state.Source, patched bool) {
	patches := kubeadm.Patches(n.input(), "etcd")
	if len(patches) == 0 {
		return "", state.Source{}, false
	}
	tree, err := n.manifestTree("etcd")
	if err != nil {
		return "", state.Source{}, false
	}
	tag = tagOf(tree.Get("image").AsString())
	return tag, patches[len(patches)-1].Source, tag != kubeadm.EtcdTag(n.input())
}

// tagOf is the tag of an image, without the digest behind it.
func tagOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(path.Base(image), ":")
	return tag
}

// wantedEtcdTag is a tag that etcd's image is to have, and the place that says it.
type wantedEtcdTag struct {
	tag string
	// means says where the tag comes from.
	means string
	at    state.Source
}

// patchedEtcdTags are the tags that patches give the pods of etcd, each once.
func (c *cluster) patchedEtcdTags() []wantedEtcdTag {
	var out []wantedEtcdTag
	seen := map[string]bool{}
	for _, n := range c.controlPlanes() {
		if tag, at, ok := n.patchedEtcdTag(); ok && !seen[tag] {
			seen[tag] = true
			out = append(out, wantedEtcdTag{tag, "a patch gives it the image tag", at})
		}
	}
	return out
}

// dataLeftBehind refuses an etcd that has founded one of its own because its pod has
// another folder than the one with the cluster's data, and names the way back.
func (c *cluster) dataLeftBehind() *diag.Diagnostic {
	for _, n := range c.controlPlanes() {
		if n.report == nil || !n.report.Files[n.etcdData()].Exists || !c.dataElsewhere(n.target, n.report.Files[manifest("etcd")]) {
			continue
		}
		pod, _ := kubeadm.StaticPodAttributes(n.report.Files[manifest("etcd")].Content)
		return diag.Errorf("Data of etcd left behind", "The etcd that answers for cluster %q on %s has its data in %s, where it has founded a cluster of its own with nothing in it. The data of the cluster is in %q on that host. Nothing is changed on any host. "+
			"In %s on the host let --data-dir and the volume etcd-data lead to %s again: the kubelet restarts etcd with the cluster's data. Then plan again.",
			c.Label, n.target, folderName(dataOnHost(pod, c.Etcd.DataDir)), c.Etcd.DataDir, manifest("etcd"), c.Etcd.DataDir).At(c.Source).For(n.target)
	}
	return nil
}
