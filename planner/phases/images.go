package phases

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// images makes every image present before anything is disrupted: from the
// archives among the artifacts where one holds it, otherwise from its registry.
// Images of the archives that are not Kubernetes' own, such as a network
// plugin's, go to every node.
var images = phase{
	name:   imagesPhase,
	letsGo: anyItem,
	nodeItems: func(n *node) []state.Item {
		var items []state.Item
		kubernetes := kubeadm.Images(n.input())
		for _, image := range n.images() {
			items = append(items, state.Item{
				Address: item(n.target, imagesPhase, "image", image), Kind: state.KindImage, Attributes: attributes("present", true),
				Origin: map[string]state.Source{"": n.imageOrigin(image, slices.Contains(kubernetes, image))},
			})
		}
		return items
	},
	nodeStep: func(n *node, w work) planner.Step {
		var s planner.Step
		var pulled []string
		var loads loads
		for _, c := range w.changes {
			if w.find(c) == nil {
				continue
			}
			image := c.Address.ID()
			if a := n.archiveOf(image); a != nil {
				loads.add(n.image(image), a)
			} else {
				pulled = append(pulled, image)
			}
		}
		s.Operations = n.pulls(append(pulled, n.pulledAgain(w)...))
		if len(loads) > 0 {
			s.Limits = []string{n.cluster.limit(uploadsLimit)}
		}
		for _, l := range loads {
			s.Operations = append(s.Operations, l)
		}
		return s
	},
	nodeNeeds: func(n *node) []state.Address {
		if n.turns() {
			return []state.Address{step(n.target, preparePhase)}
		}
		return []state.Address{step(n.target, preparePhase), step(n.target, installPhase)}
	},
}

// imagesFirst lets CoreDNS and kube-proxy of a cluster that runs wait until their images
// are on every host of it: one that a host does not get disrupts nobody. Where a cluster
// is founded, and on nodes that join, there is nothing to disrupt.
func (b *builder) imagesFirst(c *cluster) {
	if c.founding {
		return
	}
	var all []state.Address
	for _, n := range c.nodes {
		if !n.joins() && !c.view.replaces(n.target) {
			all = append(all, step(n.target, imagesPhase))
		}
	}
	b.draft.Turns[step(c.target, addonPhase)] = all
}

// image has an image of the node's made present.
func (n *node) image(name string) planner.LoadImage {
	return planner.LoadImage{Image: name, Socket: n.criSocket(), Policy: n.pullPolicy()}
}

// pulls has images pulled one after the other, or all at once, as image_pull_serial says.
func (n *node) pulls(images []string) []planner.Operation {
	var ops []planner.Operation
	if len(images) > 0 && !n.pullSerial() {
		all := n.image(images[0])
		all.Others = images[1:]
		return append(ops, all)
	}
	for _, image := range images {
		ops = append(ops, n.image(image))
	}
	return ops
}

// pulledAgain are images that are there already and are pulled all the same, as
// image_pull_policy Always asks: once, when kubeadm would in its preflight, before the
// node joins or is upgraded. What comes from an archive is told by its digest.
func (n *node) pulledAgain(w work) []string {
	if n.pullPolicy() != "Always" || n.leavesOut(imagesPhase) || !n.joins() && !n.upgrades() {
		return nil
	}
	var again []string
	for _, image := range n.images() {
		missing := slices.ContainsFunc(w.changes, func(c planner.Change) bool { return c.Address.ID() == image })
		if !missing && n.archiveOf(image) == nil {
			again = append(again, image)
		}
	}
	return again
}

// loads are images by the archives that they come from: each travels once.
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

// images are those that kubeadm wants on the node, and those of the site.
func (n *node) images() []string {
	out := kubeadm.Images(n.input())
	if n.cluster.Install.Catalog == nil {
		return out
	}
	// A control plane has all that kubeadm knows.
	all := append(n.cluster.controlPlanes(), n)[0]
	own := map[string]bool{}
	for _, image := range kubeadm.Images(all.input()) {
		own[repository(image)] = true
	}
	for _, a := range n.artifacts() {
		for _, image := range a.Images {
			// Another version of Kubernetes' own is nobody's wish.
			if !own[repository(image)] && !slices.Contains(out, image) {
				out = append(out, image)
			}
		}
	}
	return out
}

// imageOrigin is who wants an image on the node: the setting of its registry where the
// same is there of another one, otherwise that of its tag. What Kubernetes itself does
// not need the site brings.
func (n *node) imageOrigin(image string, needed bool) state.Source {
	c := n.cluster
	if !needed {
		return c.origin("install.artifacts")
	}
	name := image[strings.LastIndex(image, "/")+1:]
	block := map[string]string{"etcd": "etcd", "coredns": "dns"}[strings.Split(name, ":")[0]]
	elsewhere := func(other string) bool { return other != image && strings.HasSuffix(other, "/"+name) }
	if n.report != nil && slices.ContainsFunc(n.report.Images, elsewhere) {
		return c.origin(block+".image_repository", "image_repository")
	}
	return c.origin(block+".image_tag", "kubernetes_version")
}

// repository is an image's name without tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}

// archiveOf is the archive among the artifacts that holds the image, or nil.
func (n *node) archiveOf(image string) *config.Artifact {
	for _, a := range n.artifacts() {
		if slices.Contains(a.Images, image) {
			return &a
		}
	}
	return nil
}

func (n *node) pullPolicy() string {
	if n.ImagePullPolicy != "" {
		return n.ImagePullPolicy
	}
	return n.cluster.ImagePullPolicy
}

func (n *node) pullSerial() bool {
	if n.ImagePullSerial != nil {
		return *n.ImagePullSerial
	}
	return n.cluster.ImagePullSerial
}
