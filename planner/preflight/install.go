package preflight

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/planner/topology"
)

// InstallCommands unpack archives on a host; runc is included because a containerd from the
// artifacts may use the host's.
var InstallCommands = []string{"tar", "gzip", "runc"}

// nodeArtifactsFit reports whether the artifacts, if any, match the host's architecture.
func nodeArtifactsFit(n *topology.Node) bool {
	catalog := n.Cluster.Install.Catalog
	return catalog == nil || n.Facts().Arch == "" || len(catalog.Architectures()) == 0 || slices.Contains(catalog.Architectures(), n.Facts().Arch)
}

func artifactsFit(n *topology.Node) []finding {
	if nodeArtifactsFit(n) {
		return nil
	}
	arch, install := n.Facts().Arch, n.Cluster.Install
	return []finding{{
		text:   fmt.Sprintf("the machine is %s, but %s has artifacts for %s only", arch, install.Artifacts, strings.Join(install.Catalog.Architectures(), ", ")),
		remedy: fmt.Sprintf("add those for %[1]s there as well, such as %[1]s/kubelet, containerd-VERSION-linux-%[1]s.tar.gz, runc.%[1]s and %[1]s/images/*.tar", arch),
	}}
}

// SoftwareFolders returns the folders that install writes to, and their parents.
func SoftwareFolders(n *topology.Node) []string {
	var out []string
	for _, f := range host.Software(n) {
		for dir := path.Dir(f.Path); dir != "/" && !slices.Contains(out, dir); dir = path.Dir(dir) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return out
}

// foreignFolders reports folders in which users other than root could replace programs that root
// runs: from archives unpacked with their original owners, or of a group that may install software.
// A host refuses to write there.
func foreignFolders(n *topology.Node) []finding {
	var out []finding
	for _, p := range SoftwareFolders(n) {
		f := n.Report.Files[p]
		mode, err := strconv.ParseUint(f.Mode, 8, 32)
		if f.Type != "directory" || err != nil {
			continue
		}
		user, group, _ := strings.Cut(f.Owner, ":")
		add := func(what, command string) {
			out = append(out, finding{
				text:   fmt.Sprintf("%s %s, and nothing is written where users other than root could replace it", p, what),
				remedy: fmt.Sprintf("if no other user needs that: %s %s", command, p),
			})
		}
		switch {
		case user != "root":
			add("belongs to "+f.Owner, "chown root:root")
		case mode&0o020 != 0 && group != "root":
			add(fmt.Sprintf("is writable by group %s (mode %s)", group, f.Mode), "chmod g-w")
		}
		if mode&0o002 != 0 {
			add(fmt.Sprintf("is writable by everyone (mode %s)", f.Mode), "chmod o-w")
		}
	}
	return out
}

// otherRuntime reports whether the host has a runtime other than containerd.
func otherRuntime(n *topology.Node) bool {
	return slices.ContainsFunc(n.Facts().CRISockets, func(s string) bool { return !strings.Contains(s, "containerd") })
}

// sockets returns the sockets on which runtimes listen, and the one of the node block.
func sockets(n *topology.Node) []string {
	out := slices.Clone(n.Facts().CRISockets)
	if n.CRISocket != "" && !slices.Contains(out, n.CRISocket) {
		out = append(out, n.CRISocket)
	}
	return out
}

// broughtRuntime checks that the containerd of the artifacts can be the host's runtime.
func broughtRuntime(n *topology.Node) []finding {
	var out []finding
	if otherRuntime(n) || n.CRISocket != "" && !strings.Contains(n.CRISocket, "containerd") {
		out = append(out, finding{
			text:   "the artifacts include containerd, but the host has another container runtime: " + strings.Join(sockets(n), ", "),
			remedy: "remove containerd from the artifacts, or the other runtime from the host",
		})
	}
	if present, asked := n.Report.Commands["runc"]; !host.HasArtifact(n, config.ArtifactRunc) && asked && !present {
		out = append(out, finding{text: "runc is missing, both on the host and among the artifacts", remedy: "install runc" + orPut(n, "runc."+n.Facts().Arch)})
	}
	return out
}

// imagesAtHand checks that all images are available, including those of intermediate versions.
func imagesAtHand(n *topology.Node) []finding {
	if !nodeArtifactsFit(n) {
		return nil
	}
	var out []finding
	wanted := host.NodeImages(n)
	for _, hop := range hops(n) {
		wanted = append(wanted, imagesAt(n, hop)...)
	}
	if otherRuntime(n) && slices.ContainsFunc(wanted, func(image string) bool { return !hasImage(n, image) && host.ArchiveOf(n, image) != nil }) {
		out = append(out, finding{
			text:   "image archives can be loaded into containerd only, but the host has another runtime",
			remedy: "load them there yourself, or remove images/ from the artifacts and pull",
		})
	}
	if host.PullPolicy(n) != "Never" {
		return out
	}
	if missing := nodeMissing(n, host.NodeImages(n)); len(missing) > 0 {
		out = append(out, finding{
			text:   "images are neither present nor in an archive, and image_pull_policy is Never: " + named(n, missing),
			remedy: "put an archive of them into images/ of the artifacts, with these names, or let them be pulled",
		})
	}
	for _, hop := range hops(n) {
		if missing := nodeMissing(n, imagesAt(n, hop)); len(missing) > 0 {
			out = append(out, finding{
				text:   fmt.Sprintf("the upgrade of control planes passes through %s, of which these images are neither present nor in an archive, and image_pull_policy is Never: %s", hop, named(n, missing)),
				remedy: "put an archive of them into images/ of the artifacts, with these names, let them be pulled" + otherWay(n.Cluster, hop),
			})
		}
	}
	return out
}

// hops returns the intermediate versions that the node goes through.
func hops(n *topology.Node) []skew.Release {
	if up := n.Cluster.Up; n.IsControlPlane() && n.Upgrades() && len(up.Hops) > 1 {
		return up.Hops[:len(up.Hops)-1]
	}
	return nil
}

// imagesAt returns the images that a control plane needs to go through a version: those of its
// static pods.
func imagesAt(n *topology.Node, version skew.Release) []string {
	return slices.DeleteFunc(imagesOf(n, version), func(image string) bool { return !slices.Contains(n.StaticPods(), path.Base(host.Repository(image))) })
}

// imagesOf returns the images of kubeadm that the node needs in a version.
func imagesOf(n *topology.Node, version skew.Release) []string {
	in := n.Input()
	there := *in.Cluster
	there.KubernetesVersion = version.String()
	in.Cluster = &there
	return kubeadm.Images(in)
}

// otherWay returns an alternative for missing images of an intermediate version: another patch
// release of it whose images are available. If API servers already run the version, the others have
// to use the same.
func otherWay(c *topology.Cluster, hop skew.Release) string {
	if c.Up.Newest == hop {
		return ""
	}
	var best skew.Release
	for _, n := range c.ControlPlanes() {
		for _, r := range apiServersAtHand(n) {
			if r.Major == hop.Major && r.Minor == hop.Minor && r.Compare(best) > 0 && hasImagesOf(c, r) {
				best = r
			}
		}
	}
	if best == (skew.Release{}) {
		return fmt.Sprintf(", or upgrade first to a patch release of %d.%d whose images are there", hop.Major, hop.Minor)
	}
	return ", or upgrade first to " + best.String() + ", whose images are there"
}

// hasImagesOf reports whether every upgraded node has the images of a version.
func hasImagesOf(c *topology.Cluster, version skew.Release) bool {
	return !slices.ContainsFunc(c.Nodes, func(n *topology.Node) bool { return n.Upgrades() && len(nodeMissing(n, imagesOf(n, version))) > 0 })
}

// apiServersAtHand returns the versions of the API server whose images the node has, or can get
// from the artifacts.
func apiServersAtHand(n *topology.Node) []skew.Release {
	var images []string
	if n.Report != nil {
		images = append(images, n.Report.Images...)
	}
	for _, a := range host.Artifacts(n) {
		images = append(images, a.Images...)
	}
	var out []skew.Release
	for _, image := range images {
		tag, ours := strings.CutPrefix(image, n.Cluster.ImageRepository+"/kube-apiserver:")
		if r, ok := skew.ParseRelease(tag); ours && ok {
			out = append(out, r)
		}
	}
	return out
}

func hasImage(n *topology.Node, image string) bool { return slices.Contains(n.Report.Images, image) }

// nodeMissing returns the images that neither the host nor the artifacts have.
func nodeMissing(n *topology.Node, images []string) []string {
	return slices.DeleteFunc(slices.Clone(images), func(image string) bool { return hasImage(n, image) || host.ArchiveOf(n, image) != nil })
}

// named lists missing images, and similar images in the archives.
func named(n *topology.Node, missing []string) string {
	text := strings.Join(missing, ", ")
	var elsewhere []string
	for _, image := range missing {
		elsewhere = append(elsewhere, likeIn(n, image)...)
	}
	if len(elsewhere) > 0 {
		text += ". Archives hold them under another name: " + strings.Join(elsewhere, ", ")
	}
	return text
}

// likeIn returns the images of the archives that differ from an image only in the registry.
func likeIn(n *topology.Node, image string) []string {
	var out []string
	for _, a := range host.Artifacts(n) {
		for _, i := range a.Images {
			if path.Base(i) == path.Base(image) {
				out = append(out, i+" in "+a.Name)
			}
		}
	}
	return out
}

func norArtifacts(n *topology.Node, what string) string {
	if n.Cluster.Install.Catalog == nil {
		return ""
	}
	return ", and the artifacts have no " + what
}

func orPut(n *topology.Node, name string) string {
	if n.Cluster.Install.Catalog == nil {
		return ""
	}
	return ", or put " + name + " into " + n.Cluster.Install.Artifacts
}

// unpackCommands checks that the host can unpack the artifacts.
func unpackCommands(n *topology.Node) []finding {
	var out []finding
	archives := slices.ContainsFunc(host.Artifacts(n), func(a config.Artifact) bool {
		return slices.ContainsFunc(a.Programs, func(p config.Program) bool { return p.Member != "" })
	})
	for _, c := range []string{"tar", "gzip"} {
		if present, asked := n.Report.Commands[c]; archives && asked && !present {
			out = append(out, finding{check: "FileExisting-" + c, text: c + " is not in the PATH, and is needed to unpack the artifacts", remedy: "install the package that has " + c})
		}
	}
	return out
}
