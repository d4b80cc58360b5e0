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

// softwareFindings check that runtime and kubelet are on the host, or that the
// artifacts bring them.
func (n *node) softwareFindings() []finding {
	var out []finding
	f := n.facts()
	folder := n.cluster.Install.Artifacts
	if catalog := n.cluster.Install.Catalog; catalog != nil && f.Arch != "" && len(catalog.Architectures()) > 0 && !slices.Contains(catalog.Architectures(), f.Arch) {
		return []finding{{
			check: "Artifacts", text: fmt.Sprintf("the machine is %s, and %s has artifacts for %s only", f.Arch, folder, strings.Join(catalog.Architectures(), ", ")),
			remedy: fmt.Sprintf("put those for %[1]s there as well, such as %[1]s/kubelet, containerd-VERSION-linux-%[1]s.tar.gz, runc.%[1]s and %[1]s/images/*.tar", f.Arch),
		}}
	}
	switch brings := n.software().has(programs + "/kubelet"); {
	case !brings && f.KubeletVersion == "":
		out = append(out, finding{check: "KubeletVersion", text: "there is no kubelet" + n.norArtifacts("kubelet"), remedy: "install the kubelet " + n.cluster.KubernetesVersion + " with its systemd unit" + n.orPut("kubelet")})
	case !brings:
		out = append(out, n.kubeletSkew(f.KubeletVersion)...)
	}
	return append(out, n.runtimeFindings()...)
}

// runtimeFindings check that there is one container runtime.
func (n *node) runtimeFindings() []finding {
	var out []finding
	f := n.facts()
	brings := n.brings(config.ArtifactContainerd)
	other := slices.ContainsFunc(f.CRISockets, func(s string) bool { return !strings.Contains(s, "containerd") })
	switch {
	case brings && (other || n.CRISocket != "" && !strings.Contains(n.CRISocket, "containerd")):
		out = append(out, finding{
			check: "CRI", text: "the artifacts hold containerd, and the host has another container runtime: " + strings.Join(append(slices.Clone(f.CRISockets), n.CRISocket), ", "),
			remedy: "take containerd out of the artifacts, or the other runtime off the host",
		})
	case len(f.CRISockets) > 1 && n.CRISocket == "":
		out = append(out, finding{check: "CRI", text: "there is more than one container runtime: " + strings.Join(f.CRISockets, ", "), remedy: "say which with cri_socket in the node block"})
	case f.CRISocket == "" && n.CRISocket == "" && !brings:
		out = append(out, finding{check: "CRI", text: "no container runtime answers" + n.norArtifacts("containerd"), remedy: "install and start containerd or CRI-O" + n.orPut("containerd-VERSION-linux-"+f.Arch+".tar.gz")})
	}
	if present, asked := n.report.Commands["runc"]; brings && !n.brings(config.ArtifactRunc) && asked && !present {
		out = append(out, finding{check: "CRI", text: "there is no runc, neither on the host nor among the artifacts", remedy: "install runc" + n.orPut("runc."+f.Arch)})
	}
	return append(out, n.imageFindings(other)...)
}

// imageFindings check that all images can be had.
func (n *node) imageFindings(otherRuntime bool) []finding {
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
	if len(archived) > 0 && otherRuntime {
		out = append(out, finding{
			check: "ImagePull", text: "image archives can be loaded into containerd only, and the host has another runtime",
			remedy: "load them there yourself, or take images/ out of the artifacts and pull",
		})
	}
	if len(missing) > 0 {
		text := "images are neither present nor in an archive, and image_pull_policy is Never: " + strings.Join(missing, ", ")
		if len(elsewhere) > 0 {
			text += ". Archives hold them under another name: " + strings.Join(elsewhere, ", ")
		}
		out = append(out, finding{check: "ImagePull", text: text, remedy: "put an archive of them into images/ of the artifacts, with these names, or let them be pulled"})
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

// unpackFindings check that a blank host can take what is sent to it.
func (n *node) unpackFindings() []finding {
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
