package artifacts

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/kubewright/kubewright/config"
)

// SumsFile is the name of the file with the checksums.
const SumsFile = "SHA256SUMS"

// architecture is the part of a pattern that matches an architecture, as GOARCH.
const architecture = `(?P<arch>amd64|arm64|ppc64le|s390x)`

// version is the part of a pattern that matches a version, without the v.
const version = `(?P<version>[0-9]+\.[0-9]+[0-9A-Za-z.+-]*)`

// A pattern is the form of file names with a purpose.
type pattern struct {
	kind config.ArtifactKind
	form *regexp.Regexp
	// unpacked reports which members of an archive are programs to install; nil for a file that
	// is no archive of programs.
	unpacked func(member string) bool
}

// patterns returns the file names, by their purpose. They are compiled when they are first used.
var patterns = sync.OnceValue(func() []pattern {
	only := func(program string) func(string) bool {
		return func(member string) bool { return member == program }
	}
	return []pattern{
		{config.ArtifactKubernetes, regexp.MustCompile(`^(?:kubelet|kubeadm|kubectl)$`), nil},
		{config.ArtifactKubernetes, regexp.MustCompile(`^kubernetes-node-linux-` + architecture + `\.tar\.gz$`), kubernetesProgram},
		{config.ArtifactContainerd, regexp.MustCompile(`^containerd-(?:static-)?` + version + `-linux-` + architecture + `\.tar\.gz$`), inFolder("bin")},
		{config.ArtifactRunc, regexp.MustCompile(`^runc\.` + architecture + `$`), nil},
		{config.ArtifactCNI, regexp.MustCompile(`^cni-plugins-linux-` + architecture + `-v` + version + `\.tgz$`), cniPlugin},
		{config.ArtifactCrictl, regexp.MustCompile(`^crictl-v` + version + `-linux-` + architecture + `\.tar\.gz$`), only("crictl")},
		{config.ArtifactAge, regexp.MustCompile(`^age-v` + version + `-linux-` + architecture + `\.tar\.gz$`), only("age/age")},
		{config.ArtifactConfig, regexp.MustCompile(`^containerd/[A-Za-z0-9][A-Za-z0-9._-]*\.toml$`), nil},
		{config.ArtifactImages, regexp.MustCompile(`^images/[^/]+\.(?:tar|tar\.gz|tgz)$`), nil},
	}
})

// folders matches the folder of one architecture.
var folders = regexp.MustCompile(`^` + architecture + `/`)

// named is what the name of a file says about it.
type named struct {
	config.Artifact
	unpacked func(member string) bool
	// contrary reports whether folder and name refer to two architectures.
	contrary bool
}

// KnownArchitecture reports whether Kubernetes is published for an architecture, as GOARCH.
func KnownArchitecture(arch string) bool { return folders.MatchString(arch + "/") }

// recognise returns what a file is by its path below the folder; false for one that kubewright
// does not use.
func recognise(name string) (named, bool) {
	out := named{Artifact: config.Artifact{Name: name}}
	rest := name
	if m := folders.FindStringSubmatch(name); m != nil {
		out.Arch, rest = m[1], name[len(m[0]):]
	}
	for _, p := range patterns() {
		m := p.form.FindStringSubmatch(rest)
		if m == nil {
			continue
		}
		out.Kind, out.unpacked = p.kind, p.unpacked
		for i, group := range p.form.SubexpNames() {
			switch {
			case group == "version":
				out.Version = m[i]
			case group == "arch" && out.Arch != "" && out.Arch != m[i]:
				out.contrary = true
			case group == "arch":
				out.Arch = m[i]
			}
		}
		return out, true
	}
	return named{}, false
}

// inFolder matches members directly in a folder of the archive.
func inFolder(dir string) func(string) bool {
	return func(member string) bool { return path.Dir(member) == dir }
}

// cniPlugin matches every program of the archive: they are at its top level, beside LICENSE and
// README.md.
func cniPlugin(member string) bool {
	return path.Dir(member) == "." && member == strings.ToLower(member) && path.Ext(member) == ""
}

// kubernetesProgram matches the programs in Kubernetes' own archive that a node needs.
func kubernetesProgram(member string) bool {
	switch member {
	case "kubernetes/node/bin/kubelet", "kubernetes/node/bin/kubeadm", "kubernetes/node/bin/kubectl":
		return true
	}
	return false
}
