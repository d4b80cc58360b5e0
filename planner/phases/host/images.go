package host

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Images makes every image present before anything is disrupted: from an archive among the
// artifacts that holds it, otherwise from its registry. Images in archives that are not Kubernetes'
// own, such as those of a network plugin, are loaded on every node.
var Images = topology.Phase{
	Name:    topology.ImagesPhase,
	Retains: anyItem,
	NodeItems: func(n *topology.Node) []state.Item {
		var items []state.Item
		kubernetes := kubeadm.Images(n.Input())
		for _, image := range NodeImages(n) {
			items = append(items, state.Item{
				Address: topology.ItemAddress(n.Target, topology.ImagesPhase, "image", image), Kind: state.KindImage, Attributes: topology.Attributes("present", true),
				Origin: map[string]state.Source{"": imageOrigin(n, image, slices.Contains(kubernetes, image))},
			})
		}
		return items
	},
	NodeStep: func(n *topology.Node, w topology.PhaseWork) planner.Step {
		var s planner.Step
		var pulled []string
		var loaded loads
		for _, c := range w.Changes {
			if w.Find(c) == nil {
				continue
			}
			image := c.Address.ID()
			if a := ArchiveOf(n, image); a != nil {
				loaded.add(nodeImage(n, image), a)
			} else {
				pulled = append(pulled, image)
			}
		}
		s.Operations = pulls(n, append(pulled, pulledAgain(n, w)...))
		if len(loaded) > 0 {
			s.Limits = []string{n.Cluster.Limit(UploadsLimit)}
		}
		for _, l := range loaded {
			s.Operations = append(s.Operations, l)
		}
		return s
	},
	NodeNeeds: func(n *topology.Node) []state.Address {
		if pki.KubeletChanges(n) {
			return []state.Address{topology.StepAddress(n.Target, topology.PreparePhase)}
		}
		needs := []state.Address{topology.StepAddress(n.Target, topology.PreparePhase), topology.StepAddress(n.Target, topology.InstallPhase)}
		if n.Joins() { // files may configure registries
			needs = append(needs, topology.StepAddress(n.Target, topology.HostFilesPhase))
		}
		return needs
	},
}

// ImagesFirst makes the addon step of a running cluster wait until the images of CoreDNS and
// kube-proxy are on every host, so that an image that a host cannot get disrupts nothing. During a
// bootstrap, and on nodes that join, there is nothing to disrupt.
func ImagesFirst(b *topology.Builder, c *topology.Cluster) {
	if c.Founding {
		return
	}
	var all []state.Address
	for _, n := range c.Nodes {
		if !n.Joins() && !c.Fleet.Replaces(n.Target) {
			all = append(all, topology.StepAddress(n.Target, topology.ImagesPhase))
		}
	}
	b.Draft.Turns[topology.StepAddress(c.Target, topology.AddonPhase)] = all
}

// nodeImage returns the operation that makes an image present on the node.
func nodeImage(n *topology.Node, name string) planner.LoadImage {
	return planner.LoadImage{Image: name, Socket: n.RuntimeSocket(), Policy: PullPolicy(n)}
}

// pulls pulls images one after the other, or all at once, as image_pull_serial says.
func pulls(n *topology.Node, images []string) []planner.Operation {
	var ops []planner.Operation
	if len(images) > 0 && !pullSerial(n) {
		all := nodeImage(n, images[0])
		all.Others = images[1:]
		return append(ops, all)
	}
	for _, image := range images {
		ops = append(ops, nodeImage(n, image))
	}
	return ops
}

// pulledAgain returns the images that are present and are pulled all the same, as image_pull_policy
// Always asks: once, when kubeadm's preflight would, before the node joins or is upgraded. An image
// from an archive is not pulled: its digest identifies it.
func pulledAgain(n *topology.Node, w topology.PhaseWork) []string {
	if PullPolicy(n) != "Always" || SkipsPhase(n, topology.ImagesPhase) || !n.Joins() && !n.Upgrades() {
		return nil
	}
	var again []string
	for _, image := range NodeImages(n) {
		missing := slices.ContainsFunc(w.Changes, func(c planner.Change) bool { return c.Address.ID() == image })
		if !missing && ArchiveOf(n, image) == nil {
			again = append(again, image)
		}
	}
	return again
}

// loads groups images by the archive that they come from, so that each archive is sent once.
type loads []planner.LoadImage

func (l *loads) add(op planner.LoadImage, from *config.Artifact) {
	for i := range *l {
		if (*l)[i].Artifact == from.Name {
			(*l)[i].Others = append((*l)[i].Others, op.Image)
			return
		}
	}
	op.Artifact, op.SHA256 = from.Name, from.SHA256
	*l = append(*l, op)
}

// NodeImages returns the images that kubeadm wants on the node, and those of the site's archives.
func NodeImages(n *topology.Node) []string {
	out := kubeadm.Images(n.Input())
	if n.Cluster.Install.Catalog == nil {
		return out
	}
	// A control plane has every image that kubeadm knows.
	all := append(n.Cluster.ControlPlanes(), n)[0]
	own := map[string]bool{}
	for _, image := range kubeadm.Images(all.Input()) {
		own[Repository(image)] = true
	}
	for _, a := range Artifacts(n) {
		for _, image := range a.Images {
			// Archives may hold Kubernetes' own images in another version, which is not desired.
			if !own[Repository(image)] && !slices.Contains(out, image) {
				out = append(out, image)
			}
		}
	}
	return out
}

// imageOrigin returns the setting that an image on the node comes from: the registry's where the
// same image is present from another registry, otherwise the tag's. An image that Kubernetes itself
// does not need comes from the artifacts.
func imageOrigin(n *topology.Node, image string, needed bool) state.Source {
	c := n.Cluster
	if !needed {
		return provenance.ClusterOrigin(c, "install.artifacts")
	}
	name := image[strings.LastIndex(image, "/")+1:]
	block := map[string]string{"etcd": "etcd", "coredns": "dns"}[strings.Split(name, ":")[0]]
	elsewhere := func(other string) bool { return other != image && strings.HasSuffix(other, "/"+name) }
	if n.Report != nil && slices.ContainsFunc(n.Report.Images, elsewhere) {
		return provenance.ClusterOrigin(c, block+".image_repository", "image_repository")
	}
	return provenance.ClusterOrigin(c, block+".image_tag", "kubernetes_version")
}

// Repository returns an image's name without tag and digest.
func Repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}

// ArchiveOf returns the archive among the artifacts that holds the image, or nil.
func ArchiveOf(n *topology.Node, image string) *config.Artifact {
	for _, a := range Artifacts(n) {
		if slices.Contains(a.Images, image) {
			return &a
		}
	}
	return nil
}

func PullPolicy(n *topology.Node) string {
	if n.ImagePullPolicy != "" {
		return n.ImagePullPolicy
	}
	return n.Cluster.ImagePullPolicy
}

func pullSerial(n *topology.Node) bool {
	if n.ImagePullSerial != nil {
		return *n.ImagePullSerial
	}
	return n.Cluster.ImagePullSerial
}
