package config

import (
	"slices"
	"strings"
)

// Catalog is the content of a folder of artifacts. Package artifacts reads and checks it before
// anything is planned.
type Catalog struct {
	// Files are sorted by name.
	Files []Artifact
}

// ArtifactKind says what an artifact is for.
type ArtifactKind string

// The kinds of artifacts.
const (
	// ArtifactKubernetes is kubelet, kubeadm or kubectl, or an archive with them.
	ArtifactKubernetes ArtifactKind = "kubernetes"
	ArtifactContainerd ArtifactKind = "containerd"
	ArtifactRunc       ArtifactKind = "runc"
	ArtifactCNI        ArtifactKind = "cni"
	ArtifactCrictl     ArtifactKind = "crictl"
	// ArtifactAge encrypts backups.
	ArtifactAge ArtifactKind = "age"
	// ArtifactConfig is a file that containerd's configuration imports.
	ArtifactConfig ArtifactKind = "config"
	// ArtifactImages is an archive of container images.
	ArtifactImages ArtifactKind = "images"
)

// Artifact is one file of the folder.
type Artifact struct {
	// Name is the path below the folder, with slashes.
	Name string
	Kind ArtifactKind
	// Arch is the architecture that it is for, as GOARCH; empty for any.
	Arch string
	// Version is the version in its name, without v; empty if there is none.
	Version string
	// SHA256 is lower-case hex, Size in bytes.
	SHA256 string
	Size   int64
	// Programs are the programs in the file that are installed.
	Programs []Program
	// Images are the names of the images in an archive, as a runtime lists them.
	Images []string
}

// Program is a program in an artifact.
type Program struct {
	// Name is its file name; Member its name in the archive, empty if the artifact is the
	// program itself.
	Name   string
	Member string
	SHA256 string
	// Version is the version that a program of Kubernetes reports, without v; empty if it does
	// not.
	Version string `json:",omitempty"`
}

// For lists the artifacts for an architecture; all of them if it is empty.
func (c *Catalog) For(arch string) []Artifact {
	if c == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Files), func(a Artifact) bool {
		return arch != "" && a.Arch != "" && a.Arch != arch
	})
}

// Programs lists the artifacts that have programs in them.
func (c *Catalog) Programs() []string {
	var out []string
	if c != nil {
		for _, a := range c.Files {
			if len(a.Programs) > 0 {
				out = append(out, a.Name)
			}
		}
	}
	return out
}

// OtherVersions lists the programs that are known to have another version of Kubernetes than
// the wanted one, as "amd64/kubelet is 1.35.8". A vendor's build may add a suffix to the
// version (1.36.3+vendor).
func (c *Catalog) OtherVersions(want string) []string {
	var out []string
	if c == nil {
		return nil
	}
	for _, a := range c.Files {
		for _, p := range a.Programs {
			if p.Version != "" && p.Version != want && !strings.HasPrefix(p.Version, want+"+") && !strings.HasPrefix(p.Version, want+"-") {
				name := a.Name
				if p.Member != "" {
					name += " (" + p.Name + ")"
				}
				out = append(out, name+" is "+p.Version)
			}
		}
	}
	return out
}

// Architectures lists the architectures that the folder has artifacts for.
func (c *Catalog) Architectures() []string {
	var out []string
	if c != nil {
		for _, a := range c.Files {
			if a.Arch != "" {
				out = append(out, a.Arch)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
