package bundle_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/artifacts"
	"github.com/kubewright/kubewright/config/artifacts/artifactstest"
	"github.com/kubewright/kubewright/providers/bundle"
	"github.com/kubewright/kubewright/providers/bundle/bundletest"
	"github.com/kubewright/kubewright/state"
)

// site is a place where everything is published, and a folder.
type site struct {
	t     *testing.T
	place *bundletest.Place
	host  string
	dir   string
	wish  bundle.Wish
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, place: bundletest.New("1.36.3", "2.4.2", "1.5.2", "1.9.1", "1.36.0"), dir: filepath.Join(t.TempDir(), "artifacts")}
	server := httptest.NewServer(s.place)
	t.Cleanup(server.Close)
	s.host = strings.TrimPrefix(server.URL, "http://")
	for _, image := range []string{"pause:3.10.2", "kube-proxy:v1.36.3"} {
		if err := s.place.Image(s.host, image); err != nil {
			t.Fatal(err)
		}
	}
	s.wish = bundle.Wish{
		Kubernetes: "1.36.3", Architectures: []string{"amd64"}, Releases: bundle.Releases{Containerd: "2.4.2", Runc: "1.5.2", CNIPlugins: "1.9.1", Crictl: "1.36.0"},
		Images: []bundle.Image{{Name: "registry.k8s.io/pause:3.10.2", From: s.host + "/pause:3.10.2"}, {Name: "registry.k8s.io/kube-proxy:v1.36.3", From: s.host + "/kube-proxy:v1.36.3"}},
	}
	return s
}

// make returns what became of each file.
func (s *site) make() (map[string]string, error) {
	s.t.Helper()
	out := map[string]string{}
	err := bundle.Make(s.t.Context(), s.dir, s.wish, bundle.Sources{Kubernetes: "http://" + s.host + "/k8s", GitHub: "http://" + s.host + "/github", Client: http.DefaultClient},
		func(file, what string) { out[file] = what })
	return out, err
}

func (s *site) must(want map[string]string) {
	s.t.Helper()
	got, err := s.make()
	if err != nil {
		s.t.Fatal(err)
	}
	for file, what := range got {
		if w := want[file]; w != what && (w != "" || what != want["*"]) {
			s.t.Errorf("%s was %s, want %s", file, what, w+want["*"])
		}
	}
	for file := range want {
		if file != "*" && got[file] == "" {
			s.t.Errorf("there was no result for %s", file)
		}
	}
}

func (s *site) refused(words ...string) {
	s.t.Helper()
	_, err := s.make()
	if err == nil {
		s.t.Fatal("the bundle is complete")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			s.t.Errorf("%q is not in %q", word, err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(s.dir, "*", "*.part"))
	if len(left) > 0 {
		s.t.Errorf("left behind: %v", left)
	}
}

func (s *site) write(file, content string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, file), []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) read() *config.Catalog {
	s.t.Helper()
	c, diags := artifacts.Read(s.dir, "artifacts", state.Source{}, &artifacts.Memory{})
	if diags.HasErrors() {
		s.t.Fatal(diags)
	}
	return c
}

const (
	kubelet    = "amd64/kubelet"
	pause      = "amd64/images/registry.k8s.io_pause_3.10.2.tar"
	containerd = "containerd-2.4.2-linux-amd64.tar.gz"
)

// TestBundleFetchesOnlyWhatIsMissing checks that an installation can use the folder, and that a second run fetches
// only what is missing of an interrupted bundle.
func TestBundleFetchesOnlyWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.must(map[string]string{"*": bundle.Fetched, kubelet: bundle.Fetched, pause: bundle.Fetched})
	var images []string
	for _, a := range s.read().Files {
		images = append(images, a.Images...)
		if a.Name == kubelet && a.Programs[0].Version != "1.36.3" {
			t.Errorf("the kubelet is %q", a.Programs[0].Version)
		}
	}
	if want := []string{"registry.k8s.io/kube-proxy:v1.36.3", "registry.k8s.io/pause:3.10.2"}; !slices.Equal(images, want) {
		t.Errorf("images %v, want %v", images, want)
	}
	if got := s.place.Asked(); len(got) != 9 {
		t.Errorf("asked for %v", got)
	}
	s.must(map[string]string{"*": bundle.Present})
	if got := s.place.Asked(); len(got) != 0 {
		t.Errorf("asked again for %v", got)
	}
	// Interrupted: one file is missing, another was not recorded yet.
	if err := os.Remove(filepath.Join(s.dir, pause)); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(s.dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	kept := slices.DeleteFunc(strings.SplitAfter(string(sums), "\n"), func(l string) bool { return strings.Contains(l, kubelet) || strings.Contains(l, "kube-proxy") })
	s.write("SHA256SUMS", strings.Join(kept, ""))
	s.must(map[string]string{"*": bundle.Present, pause: bundle.Fetched, "amd64/images/registry.k8s.io_kube-proxy_v1.36.3.tar": bundle.Fetched})
	s.read()
}

// TestBundleReplacesOtherRelease checks that an intact file of another release is replaced.
func TestBundleReplacesOtherRelease(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.must(map[string]string{"*": bundle.Fetched})
	all := artifactstest.New("amd64", "1.36.4")
	for _, program := range []string{"kubelet", "kubeadm", "kubectl"} {
		s.place.Publish("/k8s/release/v1.36.4/bin/linux/amd64/"+program, all["amd64/"+program], ".sha256", "")
	}
	newer := strings.ReplaceAll(containerd, "2.4.2", "2.4.3")
	s.place.Publish("/github/containerd/containerd/releases/download/v2.4.3/"+newer, all["containerd-2.1.4-linux-amd64.tar.gz"], ".sha256sum", "  "+newer)
	s.wish.Kubernetes, s.wish.Containerd = "1.36.4", "2.4.3"
	s.must(map[string]string{"*": bundle.Present, kubelet: bundle.Replaced, "amd64/kubeadm": bundle.Replaced, "amd64/kubectl": bundle.Replaced, newer: bundle.Fetched, containerd: bundle.Removed})
	if got := s.read().OtherVersions("1.36.4"); got != nil {
		t.Errorf("left of the former version: %v", got)
	}
}

// TestBundleRefusesUnpublishedFiles checks that only published files stay in the folder, and that a file
// which was changed there is not taken for one.
func TestBundleRefusesUnpublishedFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	at := "/github/opencontainers/runc/releases/download/v1.5.2/runc.amd64"
	s.place.Publish(at, []byte("evil"), ".other", "")
	s.refused("cannot bundle runc.amd64", "has SHA-256", "Nothing was kept of it")
	s.wish.Runc = "1.0.0"
	s.refused("runc.amd64", "404")
	s.wish.Runc = ""
	s.must(map[string]string{"*": bundle.Present, containerd: bundle.Present, "crictl-v1.36.0-linux-amd64.tar.gz": bundle.Fetched, "cni-plugins-linux-amd64-v1.9.1.tgz": bundle.Fetched, pause: bundle.Fetched, "amd64/images/registry.k8s.io_kube-proxy_v1.36.3.tar": bundle.Fetched})
	s.write(kubelet, "changed")
	s.refused("cannot bundle amd64/kubelet", "the file that is there has SHA-256 ", ": it was changed or is cut off. Remove it, and run the command again")
	if err := os.Remove(filepath.Join(s.dir, kubelet)); err != nil {
		t.Fatal(err)
	}
	s.write(pause, "changed")
	s.refused("cannot bundle image registry.k8s.io/pause:3.10.2 for amd64", "is not what SHA256SUMS says")
	if err := os.Remove(filepath.Join(s.dir, pause)); err != nil {
		t.Fatal(err)
	}
	s.wish.Images = append(s.wish.Images, bundle.Image{Name: "registry.k8s.io/none:1", From: s.host + "/none:1"})
	s.refused("cannot bundle image registry.k8s.io/none:1")
	s.wish.Images, s.wish.Architectures = s.wish.Images[:2], []string{"arm64"}
	s.refused("arm64/kubelet", "404")
	s.wish.Architectures, s.wish.Runc = []string{"amd64"}, "1.5.2"
	s.place.Publish("/github/opencontainers/runc/releases/download/v1.5.2/runc.sha256sum", []byte(strings.Repeat("0", 64)+"  runc.arm64\n"), ".other", "")
	s.refused("cannot bundle runc.amd64: ", "/runc.sha256sum has no SHA-256 of it")
}
