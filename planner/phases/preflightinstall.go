package phases

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
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

// otherRuntime tells that the host has a runtime which is not containerd.
func (n *node) otherRuntime() bool {
	return slices.ContainsFunc(n.facts().CRISockets, func(s string) bool { return !strings.Contains(s, "containerd") })
}

// broughtRuntime checks that the containerd of the artifacts can be the host's runtime.
func (n *node) broughtRuntime() []finding {
	var out []finding
	if n.otherRuntime() || n.CRISocket != "" && !strings.Contains(n.CRISocket, "containerd") {
		out = append(out, finding{
			text:   "the artifacts hold containerd, and the host has another container runtime: " + strings.Join(append(slices.Clone(n.facts().CRISockets), n.CRISocket), ", "),
			remedy: "take containerd out of the artifacts, or the other runtime off the host",
		})
	}
	if present, asked := n.report.Commands["runc"]; !n.brings(config.ArtifactRunc) && asked && !present {
		out = append(out, finding{text: "there is no runc, neither on the host nor among the artifacts", remedy: "install runc" + n.orPut("runc."+n.facts().Arch)})
	}
	return out
}

// imagesAtHand checks that all images can be had.
func imagesAtHand(n *node) []finding {
	if !n.artifactsFit() {
		return nil
	}
	var missing, elsewhere, archived []string
	for _, image := range n.images() {
		switch {
		case slices.Contains(n.report.Images, image):
		case n.archiveOf(image) != nil:
			archived = append(archived, image)
		case n.pullPolicy() == "Never":
			missing = append(missing, image)
			elsewhere = append(elsewhere, n.likeIn(image)...)
		}
	}
	var out []finding
	if len(archived) > 0 && n.otherRuntime() {
		out = append(out, finding{
			text:   "image archives can be loaded into containerd only, and the host has another runtime",
			remedy: "load them there yourself, or take images/ out of the artifacts and pull",
		})
	}
	if len(missing) > 0 {
		text := "images are neither present nor in an archive, and image_pull_policy is Never: " + strings.Join(missing, ", ")
		if len(elsewhere) > 0 {
			text += ". Archives hold them under another name: " + strings.Join(elsewhere, ", ")
		}
		out = append(out, finding{text: text, remedy: "put an archive of them into images/ of the artifacts, with these names, or let them be pulled"})
	}
	return out
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
