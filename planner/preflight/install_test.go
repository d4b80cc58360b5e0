package preflight_test

import (
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/preflight"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/planner/upgrade"
	"github.com/kubewright/kubewright/state"
)

// artifacts makes these files be the folder of artifacts.
func artifacts(files ...config.Artifact) tt.Change {
	return tt.Cluster(func(c *config.Cluster) {
		c.Install.Artifacts, c.Install.Catalog = "artifacts", &config.Catalog{Files: files}
	})
}

func sockets(t state.Target, list ...string) tt.Change {
	return facts(t, func(f *state.Facts) { f.CRISocket, f.CRISockets = list[0], list })
}

// TestPreflightChecksPackages checks what is said of hosts on which packages cannot be installed.
func TestPreflightChecksPackages(t *testing.T) {
	t.Parallel()
	packages := func(change func(*state.PackageReport)) []tt.Change {
		return []tt.Change{tt.Cluster(func(c *config.Cluster) {
			c.Install.Packages = &config.Packages{Repository: config.DefaultRepository, Runtime: config.DefaultRuntimePackage}
		}), func(v *topology.Fleet) {
			for _, r := range v.Reports {
				r.Packages.Manager, r.Facts.KubeletVersion = "apt", ""
			}
			change(&v.Reports[tt.W(1)].Packages)
		}}
	}
	apt := func(*state.PackageReport) {}
	const url = "https://pkgs.k8s.io/core:/stable:/v1.36/deb/"
	check(t, []situation{
		{"apt", packages(apt), nil},
		{"neither apt nor dnf", packages(func(p *state.PackageReport) { p.Manager = "" }), [][]string{refused("Packages", `node.worker["w1"]`, "there is neither apt nor dnf")}},
		{"another program uses it", packages(func(p *state.PackageReport) { p.Locked, p.Broken = "unattended-upgr", []string{"vim (unpacked)"} }), [][]string{warned("Packages", "unattended-upgr is using the package manager")}},
		{"packages that are partly installed", packages(func(p *state.PackageReport) { p.Broken = []string{"vim (unpacked)"} }), [][]string{refused("Packages", "and the package manager installs no others: vim (unpacked)")}},
		{"a repository that does not answer", packages(func(p *state.PackageReport) { p.Unreachable = "no route to host" }), [][]string{refused("Packages", "the package repository "+url+" cannot be read from the host: no route to host")}},
		{"a repository without the version", packages(func(p *state.PackageReport) { p.Missing = []string{"kubelet"} }), [][]string{refused("Packages", "the package repository "+url+" does not have version 1.36.3 of kubelet")}},
		{"a unit of an administrator", append(packages(apt), path(tt.W(1), "/etc/systemd/system/kubelet.service", state.FileReport{Exists: true})), [][]string{refused("Packages", "/etc/systemd/system/kubelet.service would be used instead of the units of the packages")}},
		{"another runtime", append(packages(apt), sockets(tt.W(1), "unix:///run/crio/crio.sock")), [][]string{refused("CRI", "install.packages would install containerd, but the host has another container runtime")}},
	})
}

// TestPreflightChecksArtifacts checks what is said of hosts for which the artifacts do not fit.
func TestPreflightChecksArtifacts(t *testing.T) {
	t.Parallel()
	kubelet := config.Artifact{Name: "amd64/kubelet", Kind: config.ArtifactKubernetes, Arch: "amd64", Programs: []config.Program{{Name: "kubelet", SHA256: "k"}}}
	containerd := config.Artifact{Name: "containerd-2.1.4-linux-amd64.tar.gz", Kind: config.ArtifactContainerd, Arch: "amd64", Version: "2.1.4", Programs: []config.Program{{Name: "containerd", Member: "bin/containerd", SHA256: "c"}}}
	lacks := func(command string) tt.Change {
		return tt.Host(tt.W(1), func(r *state.Report) { r.Commands = map[string]bool{command: false} })
	}
	never := tt.Cluster(func(c *config.Cluster) { c.ImagePullPolicy, c.KubeProxy.Disabled, c.DNS.Disabled = "Never", true, true })
	images := func(names ...string) config.Artifact {
		return config.Artifact{Name: "images/all.tar", Kind: config.ArtifactImages, Images: names}
	}
	plane := func(v *topology.Fleet) {
		v.Reports[tt.CP(1)].Images = []string{
			"registry.k8s.io/kube-apiserver:v1.36.3", "registry.k8s.io/kube-controller-manager:v1.36.3", "registry.k8s.io/kube-scheduler:v1.36.3", "registry.k8s.io/pause:3.10.2", "registry.k8s.io/etcd:3.6.8-0",
		}
	}
	check(t, []situation{
		{"artifacts that fit", []tt.Change{artifacts(kubelet, containerd)}, nil},
		{"they bring the kubelet", []tt.Change{artifacts(kubelet), facts(tt.W(1), func(f *state.Facts) { f.KubeletVersion = "" })}, nil},
		{"they do not bring the kubelet", []tt.Change{artifacts(containerd), facts(tt.W(1), func(f *state.Facts) { f.KubeletVersion = "" })}, [][]string{refused("KubeletVersion", "there is no kubelet, and the artifacts have no kubelet")}},
		{"another architecture", []tt.Change{artifacts(kubelet, containerd), facts(tt.W(1), func(f *state.Facts) { f.Arch = "arm64" })}, [][]string{refused("Artifacts", "the machine is arm64, but artifacts has artifacts for amd64 only")}},
		{"another runtime", []tt.Change{artifacts(containerd), sockets(tt.W(1), "unix:///run/crio/crio.sock")}, [][]string{refused("CRI", "the artifacts include containerd, but the host has another container runtime: unix:///run/crio/crio.sock")}},
		{"no runc", []tt.Change{artifacts(containerd), lacks("runc")}, [][]string{refused("CRI", "runc is missing, both on the host and among the artifacts")}},
		{"no tar", []tt.Change{artifacts(containerd), lacks("tar")}, [][]string{refused("FileExisting-tar", "tar is not in the PATH")}},
		{"no tar, and nothing to unpack", []tt.Change{artifacts(kubelet), lacks("tar")}, nil},
		{"images in an archive", []tt.Change{never, plane, artifacts(images("registry.k8s.io/pause:3.10.2"))}, nil},
		{"images of another name in an archive", []tt.Change{never, plane, artifacts(images("mirror.example.com/pause:3.10.2"))}, [][]string{refused("ImagePull", `node.worker["w1"]`, "image_pull_policy is Never: registry.k8s.io/pause:3.10.2. Archives hold them under another name: mirror.example.com/pause:3.10.2 in images/all.tar.")}},
		{"a socket on which nothing listens", []tt.Change{func(v *topology.Fleet) { v.Config.Nodes[1].CRISocket = "unix:///run/crio/crio.sock" }}, [][]string{refused("CRI", "no container runtime listens on cri_socket unix:///run/crio/crio.sock", "the host has unix:///run/containerd/containerd.sock")}},
		{"the same socket by another path", []tt.Change{func(v *topology.Fleet) {
			v.Config.Nodes[1].CRISocket = "unix:///var/run/containerd/containerd.sock"
		}}, nil},
	})
}

// TestPreflightChecksImagesOnTheWay checks that a control plane that cannot pull images has those of the
// versions that it passes through.
func TestPreflightChecksImagesOnTheWay(t *testing.T) {
	t.Parallel()
	of := func(release, etcd string) []string {
		return []string{"registry.k8s.io/kube-apiserver:v" + release, "registry.k8s.io/kube-controller-manager:v" + release, "registry.k8s.io/kube-scheduler:v" + release, "registry.k8s.io/etcd:" + etcd}
	}
	never := tt.Cluster(func(c *config.Cluster) { c.ImagePullPolicy, c.KubeProxy.Disabled, c.DNS.Disabled = "Never", true, true })
	for _, c := range []struct {
		name   string
		images []string
		want   [][]string
	}{
		{"it has them", of("1.35.8", "3.6.6-0"), nil},
		{"it has none", nil, [][]string{refused("ImagePull", "passes through 1.35.8, of which these images are neither present nor in an archive", "kube-scheduler:v1.35.8", "or upgrade first to a patch release of 1.35 whose images are there")}},
		{"it has those of another patch release", append(of("1.35.5", "3.6.6-0"), "registry.k8s.io/pause:3.10.1"), [][]string{refused("ImagePull", "passes through 1.35.8", "or upgrade first to 1.35.5, whose images are there")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Running(1, 0, tt.From("1.34.9"), never, tt.Host(tt.CP(1), func(r *state.Report) {
				r.Images = append(append(of("1.36.3", "3.6.8-0"), "registry.k8s.io/pause:3.10.2"), c.images...)
			}))
			v.Clusters[0].Up = upgrade.AnalyzeUpgrade(v.Clusters[0])
			wantFindings(t, preflight.Preflight(v), c.want...)
		})
	}
}
