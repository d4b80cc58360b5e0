package phases

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
)

// installCommands unpack archives on a host; runc is looked up because a
// containerd from the artifacts may rest on the host's.
var installCommands = []string{"tar", "gzip", "runc"}

// artifactsFit tells that the artifacts, where there are any, are for the
// host's architecture.
func (n *node) artifactsFit() bool {
	catalog := n.cluster.Install.Catalog
	return catalog == nil || n.facts().Arch == "" || len(catalog.Architectures()) == 0 || slices.Contains(catalog.Architectures(), n.facts().Arch)
}

func artifactsFit(n *node) []finding {
	if n.artifactsFit() {
		return nil
	}
	arch, install := n.facts().Arch, n.cluster.Install
	return []finding{{
		text:   fmt.Sprintf("the machine is %s, and %s has artifacts for %s only", arch, install.Artifacts, strings.Join(install.Catalog.Architectures(), ", ")),
		remedy: fmt.Sprintf("put those for %[1]s there as well, such as %[1]s/kubelet, containerd-VERSION-linux-%[1]s.tar.gz, runc.%[1]s and %[1]s/images/*.tar", arch),
	}}
}

// softwareFolders are those into which install writes, and those that they are in.
func (n *node) softwareFolders() []string {
	var out []string
	for _, f := range n.software() {
		for dir := path.Dir(f.path); dir != "/" && !slices.Contains(out, dir); dir = path.Dir(dir) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return out
}

// foreignFolders finds those in which others than root could exchange what root runs: of
// archives that were unpacked with the owners of then, or of a group that may install. A
// host refuses to write there.
func foreignFolders(n *node) []finding {
	var out []finding
	for _, p := range n.softwareFolders() {
		f := n.report.Files[p]
		mode, err := strconv.ParseUint(f.Mode, 8, 32)
		if f.Type != "directory" || err != nil {
			continue
		}
		user, group, _ := strings.Cut(f.Owner, ":")
		add := func(what, command string) {
			out = append(out, finding{
				text:   fmt.Sprintf("%s %s, and nothing is written where others than root could exchange it", p, what),
				remedy: fmt.Sprintf("if nobody else needs that: %s %s", command, p),
			})
		}
		switch {
		case user != "root":
			add("belongs to "+f.Owner, "chown root:root")
		case mode&0o020 != 0 && group != "root":
			add(fmt.Sprintf("can be written to by group %s (mode %s)", group, f.Mode), "chmod g-w")
		}
		if mode&0o002 != 0 {
			add(fmt.Sprintf("can be written to by everybody (mode %s)", f.Mode), "chmod o-w")
		}
	}
	return out
}

// otherRuntime tells that the host has a runtime which is not containerd.
func (n *node) otherRuntime() bool {
	return slices.ContainsFunc(n.facts().CRISockets, func(s string) bool { return !strings.Contains(s, "containerd") })
}

// sockets are those on which runtimes listen, and that of the node block.
func (n *node) sockets() []string {
	out := slices.Clone(n.facts().CRISockets)
	if n.CRISocket != "" && !slices.Contains(out, n.CRISocket) {
		out = append(out, n.CRISocket)
	}
	return out
}

// broughtRuntime checks that the containerd of the artifacts can be the host's runtime.
func (n *node) broughtRuntime() []finding {
	var out []finding
	if n.otherRuntime() || n.CRISocket != "" && !strings.Contains(n.CRISocket, "containerd") {
		out = append(out, finding{
			text:   "the artifacts hold containerd, and the host has another container runtime: " + strings.Join(n.sockets(), ", "),
			remedy: "take containerd out of the artifacts, or the other runtime off the host",
		})
	}
	if present, asked := n.report.Commands["runc"]; !n.brings(config.ArtifactRunc) && asked && !present {
		out = append(out, finding{text: "there is no runc, neither on the host nor among the artifacts", remedy: "install runc" + n.orPut("runc."+n.facts().Arch)})
	}
	return out
}

// imagesAtHand checks that all images can be had, also those of versions on the way.
func imagesAtHand(n *node) []finding {
	if !n.artifactsFit() {
		return nil
	}
	var out []finding
	wanted := n.images()
	for _, hop := range n.hops() {
		wanted = append(wanted, n.imagesAt(hop)...)
	}
	if n.otherRuntime() && slices.ContainsFunc(wanted, func(image string) bool { return !n.hasImage(image) && n.archiveOf(image) != nil }) {
		out = append(out, finding{
			text:   "image archives can be loaded into containerd only, and the host has another runtime",
			remedy: "load them there yourself, or take images/ out of the artifacts and pull",
		})
	}
	if n.pullPolicy() != "Never" {
		return out
	}
	if missing := n.missing(n.images()); len(missing) > 0 {
		out = append(out, finding{
			text:   "images are neither present nor in an archive, and image_pull_policy is Never: " + n.named(missing),
			remedy: "put an archive of them into images/ of the artifacts, with these names, or let them be pulled",
		})
	}
	for _, hop := range n.hops() {
		if missing := n.missing(n.imagesAt(hop)); len(missing) > 0 {
			out = append(out, finding{
				text:   fmt.Sprintf("control planes are upgraded by way of %s, images of which are neither present nor in an archive, and image_pull_policy is Never: %s", hop, n.named(missing)),
				remedy: "put an archive of them into images/ of the artifacts, with these names, let them be pulled" + n.cluster.otherWay(hop),
			})
		}
	}
	return out
}

// hops are the versions on the way to the wanted one that the node goes through.
func (n *node) hops() []planner.Release {
	if up := n.cluster.up; n.isControlPlane() && n.upgrades() && len(up.hops) > 1 {
		return up.hops[:len(up.hops)-1]
	}
	return nil
}

// imagesAt are the images that a control plane needs to go through a version: those
// of its static pods.
func (n *node) imagesAt(version planner.Release) []string {
	return slices.DeleteFunc(n.imagesOf(version), func(image string) bool { return !slices.Contains(n.staticPods(), path.Base(repository(image))) })
}

// imagesOf are the images that kubeadm wants on the node in a version.
func (n *node) imagesOf(version planner.Release) []string {
	in := n.input()
	there := *in.Cluster
	there.KubernetesVersion = version.String()
	in.Cluster = &there
	return kubeadm.Images(in)
}

// otherWay is what else somebody can do who has not the images of a version on the way:
// go to a patch release beside it whose images are there. Where API servers run the
// version already, the others follow to no other.
func (c *cluster) otherWay(hop planner.Release) string {
	if c.up.newest == hop {
		return ""
	}
	var best planner.Release
	for _, n := range c.controlPlanes() {
		for _, r := range n.apiServersAtHand() {
			if r.Major == hop.Major && r.Minor == hop.Minor && r.Compare(best) > 0 && c.hasImagesOf(r) {
				best = r
			}
		}
	}
	if best == (planner.Release{}) {
		return fmt.Sprintf(", or upgrade first to a patch release of %d.%d whose images are there", hop.Major, hop.Minor)
	}
	return ", or upgrade first to " + best.String() + ", whose images are there"
}

// hasImagesOf tells that every node which is upgraded has what it needs in a version.
func (c *cluster) hasImagesOf(version planner.Release) bool {
	return !slices.ContainsFunc(c.nodes, func(n *node) bool { return n.upgrades() && len(n.missing(n.imagesOf(version))) > 0 })
}

// apiServersAtHand are the versions of the API server whose images the node has, or
// can be sent.
func (n *node) apiServersAtHand() []planner.Release {
	var images []string
	if n.report != nil {
		images = append(images, n.report.Images...)
	}
	for _, a := range n.artifacts() {
		images = append(images, a.Images...)
	}
	var out []planner.Release
	for _, image := range images {
		tag, ours := strings.CutPrefix(image, n.cluster.ImageRepository+"/kube-apiserver:")
		if r, ok := planner.ParseRelease(tag); ours && ok {
			out = append(out, r)
		}
	}
	return out
}

func (n *node) hasImage(image string) bool { return slices.Contains(n.report.Images, image) }

// missing are images that the host does not have, and can be sent by nobody.
func (n *node) missing(images []string) []string {
	return slices.DeleteFunc(slices.Clone(images), func(image string) bool { return n.hasImage(image) || n.archiveOf(image) != nil })
}

// named lists images that are missing, and what archives hold of the kind.
func (n *node) named(missing []string) string {
	text := strings.Join(missing, ", ")
	var elsewhere []string
	for _, image := range missing {
		elsewhere = append(elsewhere, n.likeIn(image)...)
	}
	if len(elsewhere) > 0 {
		text += ". Archives hold them under another name: " + strings.Join(elsewhere, ", ")
	}
	return text
}

// likeIn names images of the archives that differ from one in their registry only.
func (n *node) likeIn(image string) []string {
	var out []string
	for _, a := range n.artifacts() {
		for _, i := range a.Images {
			if path.Base(i) == path.Base(image) {
				out = append(out, i+" in "+a.Name)
			}
		}
	}
	return out
}

func (n *node) norArtifacts(what string) string {
	if n.cluster.Install.Catalog == nil {
		return ""
	}
	return ", and the artifacts have no " + what
}

func (n *node) orPut(name string) string {
	if n.cluster.Install.Catalog == nil {
		return ""
	}
	return ", or put " + name + " into " + n.cluster.Install.Artifacts
}

// unpackCommands checks that the host can unpack what is sent to it.
func unpackCommands(n *node) []finding {
	var out []finding
	archives := slices.ContainsFunc(n.artifacts(), func(a config.Artifact) bool {
		return slices.ContainsFunc(a.Programs, func(p config.Program) bool { return p.Member != "" })
	})
	for _, c := range []string{"tar", "gzip"} {
		if present, asked := n.report.Commands[c]; archives && asked && !present {
			out = append(out, finding{check: "FileExisting-" + c, text: c + " is not on the path, which unpacks the artifacts", remedy: "install the package that has " + c})
		}
	}
	return out
}
