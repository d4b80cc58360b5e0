package build

import (
	"context"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
)

// TestBuildModuleReplacements checks that the building module repeats what go honors in the main module only,
// and requires staging libraries as modules.
func TestBuildModuleReplacements(t *testing.T) {
	t.Parallel()
	const upstream = `module k8s.io/kubernetes

go 1.24.0

godebug default=go1.24

require k8s.io/api v0.0.0

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/kube-proxy => ./staging/src/k8s.io/kube-proxy
	example.com/old => example.com/new v1.2.3
)
`
	r, err := FindRelease("v1.34.9")
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.kubernetes().buildModule([]byte(upstream))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"go 1.24.0",
		"godebug default=go1.24",
		"require k8s.io/kubernetes v1.34.9",
		"replace k8s.io/api => k8s.io/api v0.34.9",
		"replace k8s.io/kube-proxy => k8s.io/kube-proxy v0.34.10",
		"replace example.com/old => example.com/new v1.2.3",
	} {
		if !strings.Contains(string(got), line+"\n") {
			t.Errorf("no line %q in\n%s", line, got)
		}
	}
}

func TestLocalReplacementsWithoutStagingAreDropped(t *testing.T) {
	t.Parallel()
	r, _ := FindRelease("")
	got, err := r.containerd().buildModule([]byte("module m\n\ngo 1.25\n\nreplace m/api => ./api\n"))
	if err != nil || strings.Contains(string(got), "replace") {
		t.Errorf("got %s, %v; want no replacement", got, err)
	}
}

func TestKubernetesVariables(t *testing.T) {
	t.Parallel()
	r, _ := FindRelease("v1.36.3")
	info := moduleInfo{Time: time.Date(2026, 7, 22, 18, 7, 38, 0, time.UTC)}
	got := r.kubernetesVariables(info)
	for name, want := range map[string]string{
		"k8s.io/component-base/version.gitVersion":   "v1.36.3",
		"k8s.io/component-base/version.gitMinor":     "36",
		"k8s.io/client-go/pkg/version.gitTreeState":  "clean",
		"k8s.io/client-go/pkg/version.buildDate":     "2026-07-22T18:07:38Z",
		"k8s.io/component-base/version.gitTreeState": "clean",
	} {
		if got[name] != want {
			t.Errorf("%s = %q, want %q", name, got[name], want)
		}
	}
}

// TestOwnMainPackageIsBuilt checks that our own main package is a Go program in the built folder, with every
// plugin that kubeadm's Corefile names.
func TestOwnMainPackageIsBuilt(t *testing.T) {
	t.Parallel()
	r, _ := FindRelease("")
	dir := t.TempDir()
	p := r.coreDNS().programs[0]
	if err := p.writeMain(dir); err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, "coredns", "main.go"), nil, 0)
	if err != nil || p.pkg != "kubewright.test/lab/coredns" {
		t.Fatalf("package %s: %v", p.pkg, err)
	}
	var got []string
	for _, i := range file.Imports {
		got = append(got, strings.Trim(i.Path.Value, `"`))
	}
	for _, plugin := range []string{"errors", "health", "ready", "kubernetes", "metrics", "forward", "cache", "loop", "reload", "loadbalance"} {
		if want := "github.com/coredns/coredns/plugin/" + plugin; !slices.Contains(got, want) {
			t.Errorf("no import of %s in %q", want, got)
		}
	}
}

func TestUnknownProgramIsAnError(t *testing.T) {
	t.Parallel()
	r, _ := FindRelease("")
	_, err := (&Cache{Dir: t.TempDir()}).Programs(context.Background(), r, "kubedam")
	if err == nil || !strings.Contains(err.Error(), "kubeadm") {
		t.Errorf("got %v; want an error that lists the programs", err)
	}
}

// TestCachedProgramsAreNotBuilt checks that asking for existing programs builds nothing, and returns every
// path.
func TestCachedProgramsAreNotBuilt(t *testing.T) {
	t.Parallel()
	c := &Cache{Dir: t.TempDir()}
	r, _ := FindRelease("")
	for _, name := range []string{"kubeadm", "kubelet"} {
		if err := writeFiles(c.Path("programs/kubernetes-"+r.Kubernetes), map[string]string{name: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := c.Programs(t.Context(), r, "kubeadm", "kubelet")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubeadm", "kubelet"} {
		if !strings.HasSuffix(paths[name], "/kubernetes-"+r.Kubernetes+"/"+name) {
			t.Errorf("path of %s = %q", name, paths[name])
		}
	}
}

// TestFetchLeavesBuildAlone checks that fetching does not remove the folder in which another process
// builds the same programs.
func TestFetchLeavesBuildAlone(t *testing.T) {
	t.Parallel()
	c := &Cache{Dir: t.TempDir()}
	s := source{name: "etcd", version: "v3.6.8"}
	unlock, err := c.Lock(t.Context(), "programs/etcd-v3.6.8")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	half := filepath.Join(c.Path("tmp"), "programs_etcd-v3.6.8", "go.mod")
	if err := writeFiles(filepath.Dir(half), map[string]string{"go.mod": "module m"}); err != nil {
		t.Fatal(err)
	}
	if err := c.fetch(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if !disk.Exists(half) {
		t.Error("the folder of the build is gone")
	}
}
