package build

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// A source is a Go module that programs of the lab are built from.
type source struct {
	name     string // folder in the cache, with the version
	module   string
	version  string
	tags     string
	staging  string            // version that local replacements of k8s.io libraries become
	instead  map[string]string // library → version, where that one cannot be had
	variable func(info moduleInfo) map[string]string
	programs []program
}

// A program is one binary of a source: of one of its packages, or of our own main package that
// imports several.
type program struct {
	name    string
	pkg     string
	imports []string
	test    bool // the tests of the package
}

// ofOurs returns a program whose main calls Run of the first package, and imports the others for
// their side effects.
func ofOurs(name string, imports ...string) program {
	return program{name: name, pkg: path.Join(labModule, name), imports: imports}
}

// labModule is the module in which the programs of a source are built.
const labModule = "kubewright.test/lab"

// writeMain writes our own main package of a program, if it has one, into the module in dir.
func (p program) writeMain(dir string) error {
	if p.imports == nil {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "package main\n\nimport (\n\tfirst %q\n", p.imports[0])
	for _, i := range p.imports[1:] {
		fmt.Fprintf(&b, "\t_ %q\n", i)
	}
	b.WriteString(")\n\nfunc main() { first.Run() }\n")
	if err := os.MkdirAll(filepath.Join(dir, p.name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, p.name, "main.go"), []byte(b.String()), 0o644)
}

// moduleInfo is the module proxy's information about a version.
type moduleInfo struct {
	Version string
	Time    time.Time
	GoMod   string // file
	Origin  struct{ Hash string }
}

// commit returns the revision of the module, if the proxy reports it.
func (i moduleInfo) commit() string {
	if i.Origin.Hash == "" {
		return "unknown"
	}
	return i.Origin.Hash
}

// sources returns everything that a release is built from, in a useful build order: parts that
// are needed first come first, the most expensive ones last.
func (r Release) sources() []source {
	return []source{r.containerd(), r.crictl(), r.etcd(), r.etcdctl(), r.etcdutl(), r.coreDNS(), r.kubernetes()}
}

// Programs returns the names of all programs of a release.
func (r Release) Programs() []string {
	var names []string
	for _, s := range r.sources() {
		for _, p := range s.programs {
			names = append(names, p.name)
		}
	}
	return names
}

func (r Release) kubernetes() source {
	s := source{
		name: "kubernetes", module: "k8s.io/kubernetes", version: r.Kubernetes, staging: r.Staging(),
		instead: unavailable()[r.Kubernetes], variable: r.kubernetesVariables,
	}
	for _, name := range []string{
		"kubeadm", "kubelet", "kubectl",
		"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy",
	} {
		s.programs = append(s.programs, program{name: name, pkg: path.Join("k8s.io/kubernetes/cmd", name)})
	}
	return s
}

// unavailable returns, by version of Kubernetes, the libraries whose version the module proxy
// does not serve, with the nearest version that it does. Both contain only types, of a
// configuration and of a protocol, which patch releases do not change.
func unavailable() map[string]map[string]string {
	return map[string]map[string]string{
		"v1.34.9": {"k8s.io/externaljwt": "v0.34.10", "k8s.io/kube-proxy": "v0.34.10"},
	}
}

// kubernetesVariables stamps the version as Kubernetes' own build does (hack/lib/version.sh);
// kubeadm compares these between components. The date is the version's, so that builds are
// reproducible.
func (r Release) kubernetesVariables(info moduleInfo) map[string]string {
	vars := map[string]string{}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		vars[pkg+".gitVersion"] = r.Kubernetes
		vars[pkg+".gitMajor"] = "1"
		vars[pkg+".gitMinor"] = r.Minor()
		vars[pkg+".gitCommit"] = info.commit()
		vars[pkg+".gitTreeState"] = "clean"
		vars[pkg+".buildDate"] = info.Time.UTC().Format("2006-01-02T15:04:05Z")
	}
	return vars
}

func (r Release) etcd() source {
	return source{
		name: "etcd", module: "go.etcd.io/etcd/server/v3", version: r.Etcd,
		variable: etcdVariables,
		programs: []program{{name: "etcd", pkg: "go.etcd.io/etcd/server/v3"}},
	}
}

func (r Release) etcdctl() source {
	return source{
		name: "etcdctl", module: "go.etcd.io/etcd/etcdctl/v3", version: r.Etcd,
		variable: etcdVariables,
		programs: []program{{name: "etcdctl", pkg: "go.etcd.io/etcd/etcdctl/v3"}},
	}
}

func (r Release) etcdutl() source {
	return source{
		name: "etcdutl", module: "go.etcd.io/etcd/etcdutl/v3", version: r.Etcd,
		variable: etcdVariables,
		programs: []program{{name: "etcdutl", pkg: "go.etcd.io/etcd/etcdutl/v3"}},
	}
}

func etcdVariables(info moduleInfo) map[string]string {
	return map[string]string{"go.etcd.io/etcd/api/v3/version.GitSHA": info.commit()}
}

// containerd is built without btrfs: its snapshotter needs C headers.
func (r Release) containerd() source {
	const module = "github.com/containerd/containerd/v2"
	s := source{
		name: "containerd", module: module, version: containerdVersion, tags: "no_btrfs",
		variable: func(info moduleInfo) map[string]string {
			return map[string]string{
				module + "/version.Version":  containerdVersion,
				module + "/version.Revision": info.commit(),
			}
		},
	}
	for _, name := range []string{"containerd", "ctr", "containerd-shim-runc-v2"} {
		s.programs = append(s.programs, program{name: name, pkg: path.Join(module, "cmd", name)})
	}
	return s
}

// coreDNS has the plugins of kubeadm's Corefile, and the ones that users most often add. With the
// plugins of every cloud provider 1330 packages would have to be built instead of 776 (CoreDNS
// 1.14.2).
func (r Release) coreDNS() source {
	const module = "github.com/coredns/coredns"
	imports := []string{module + "/coremain"}
	for _, plugin := range []string{
		"cache", "errors", "forward", "health", "hosts", "kubernetes", "loadbalance", "log", "loop", "metrics", "ready", "reload", "rewrite",
	} {
		imports = append(imports, path.Join(module, "plugin", plugin))
	}
	return source{
		name: "coredns", module: module, version: r.CoreDNS,
		variable: func(info moduleInfo) map[string]string {
			return map[string]string{module + "/coremain.GitCommit": info.commit()}
		},
		programs: []program{ofOurs("coredns", imports...)},
	}
}

func (r Release) crictl() source {
	const module = "sigs.k8s.io/cri-tools"
	return source{
		name: "crictl", module: module, version: crictlVersion,
		variable: func(moduleInfo) map[string]string {
			return map[string]string{module + "/pkg/version.Version": crictlVersion}
		},
		programs: []program{{name: "crictl", pkg: module + "/cmd/crictl"}},
	}
}

// sourceOf returns the source and program with a name.
func (r Release) sourceOf(name string) (source, program, error) {
	for _, s := range r.sources() {
		for _, p := range s.programs {
			if p.name == name {
				return s, p, nil
			}
		}
	}
	return source{}, program{}, fmt.Errorf("cannot build %s: no such program; there are %v", name, r.Programs())
}
