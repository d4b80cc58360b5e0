package config

import (
	"slices"
	"strings"
)

// Catalog is what a folder of artifacts holds. It is read and checked before
// anything is planned; package artifacts does that.
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
	// Arch is the architecture that it is for, in Go's words; empty for any.
	Arch string
	// Version is the one in its name, without v; empty where it has none.
	Version string
	// SHA256 is lower-case hex, Size in bytes.
	SHA256 string
	Size   int64
	// Programs are those in the file that are installed.
	Programs []Program
	// Images are the names of the images in an archive, as a runtime has them.
	Images []string
}

// Program is a program in an artifact.
type Program struct {
	// Name is its file name; Member its name in the archive, empty when the
	// artifact is the program.
	Name   string
	Member string
	SHA256 string
	// Version is what a program of Kubernetes says of itself, without v; empty
	// where it does not.
	Version string `json:",omitempty"`
}

// For lists the artifacts for an architecture; for an empty one all.
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

// OtherVersions lists the programs that are known to be of another version of
// Kubernetes than the wanted one, as "amd64/kubelet is 1.35.8". Builds of a
// vendor's may add to the version (1.36.3+vendor).
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

// Architectures lists those that the folder has something for.
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
