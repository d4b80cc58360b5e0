package artifacts_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/artifacts"
	"github.com/kubewright/kubewright/config/artifacts/artifactstest"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

const pause = "registry.k8s.io/pause:3.10.2"

func write(t *testing.T, f artifactstest.Folder) string {
	t.Helper()
	dir := t.TempDir()
	if err := f.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, dir string) *config.Catalog {
	t.Helper()
	c, diags := artifacts.Read(dir, dir, state.Source{}, &artifacts.Memory{})
	for _, d := range diags {
		t.Error(d)
	}
	if c == nil {
		t.FailNow()
	}
	return c
}

// programs lists the programs of a catalog for an architecture.
func programs(c *config.Catalog, arch string) string {
	var out []string
	for _, a := range c.For(arch) {
		for _, p := range a.Programs {
			if len(p.SHA256) != 64 {
				out = append(out, "no sum of")
			}
			out = append(out, p.Name)
		}
		out = append(out, a.Images...)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestReadArtifacts(t *testing.T) {
	t.Parallel()
	f := artifactstest.New("amd64", "1.36.3", pause, "busybox")
	f["README"] = []byte("nobody's business")
	f["containerd/mirror.toml"] = []byte("version = 3\n")
	c := read(t, write(t, f))
	want := "bridge containerd containerd-shim-runc-v2 crictl ctr docker.io/library/busybox:latest host-local kubeadm kubectl kubelet loopback " + pause + " runc"
	if got := programs(c, "amd64"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := programs(c, "arm64"); got != "" {
		t.Errorf("arm64 gets %s", got)
	}
	for _, a := range c.Files {
		if a.Kind == config.ArtifactContainerd && (a.Version != "2.1.4" || a.Arch != "amd64" || a.Programs[0].Member != "bin/containerd") ||
			a.Kind == config.ArtifactCNI && a.Programs[0].Member != "./bridge" ||
			a.Kind == config.ArtifactConfig && a.Arch != "" || a.Size == 0 || len(a.SHA256) != 64 {
			t.Errorf("got %+v", a)
		}
	}
}

// TestReadArchitectures checks that a kubelet at the top level is for the machine that it was
// built for, and an image for the one in its configuration.
func TestReadArchitectures(t *testing.T) {
	t.Parallel()
	f := artifactstest.New("arm64", "1.36.3")
	f["kubelet"] = artifactstest.Program("s390x", "kubelet")
	f["images/pause.tar"] = artifactstest.Image("ppc64le", pause)
	f["amd64/kubernetes-node-linux-amd64.tar.gz"] = artifactstest.Archive(map[string][]byte{
		"kubernetes/node/bin/kubelet": artifactstest.Program("amd64", "k"), "kubernetes/node/bin/kube-proxy": artifactstest.Program("amd64", "p"),
		"kubernetes/LICENSES": []byte("x"),
	})
	c := read(t, write(t, f))
	for arch, want := range map[string]string{"s390x": "kubelet", "ppc64le": pause, "amd64": "kubelet"} {
		if got := programs(c, arch); got != want {
			t.Errorf("%s gets %q, want %q", arch, got, want)
		}
	}
	if got := strings.Join(c.Architectures(), " "); got != "amd64 arm64 ppc64le s390x" {
		t.Errorf("architectures: %s", got)
	}
}

// TestReadLayouts checks that the images of an OCI layout are named by annotations.
func TestReadLayouts(t *testing.T) {
	t.Parallel()
	layout := func(annotation string) []byte {
		return artifactstest.Archive(map[string][]byte{
			"oci-layout":           []byte(`{"imageLayoutVersion":"1.0.0"}`),
			"index.json":           []byte(`{"manifests":[{"digest":"sha256:aa","annotations":{` + annotation + `}}]}`),
			"blobs/sha256/aa":      []byte(`{"config":{"digest":"sha256:bb"}}`),
			"./blobs/sha256/bb":    []byte(`{"architecture":"arm64","os":"linux"}`),
			"blobs/sha256/a-layer": []byte("no document"),
		})
	}
	c := read(t, write(t, artifactstest.Folder{
		"images/a.tgz":    layout(`"io.containerd.image.name":"example.com/a:1"`),
		"images/b.tar.gz": layout(`"org.opencontainers.image.ref.name":"example.com:5000/b@sha256:cc"`),
	}))
	if got := programs(c, "arm64"); got != "example.com/a:1 example.com:5000/b@sha256:cc" {
		t.Errorf("got %q", got)
	}
	if got := programs(c, "amd64"); got != "" {
		t.Errorf("amd64 gets %q", got)
	}
}

// TestInvalidArtifactsAreRefused checks that everything that is wrong is reported, with the file and what to do.
func TestInvalidArtifactsAreRefused(t *testing.T) {
	t.Parallel()
	good := artifactstest.New("amd64", "1.36.3", pause)
	for name, test := range map[string]struct {
		spoil func(t *testing.T, dir string, f artifactstest.Folder)
		want  []string
	}{
		"no sums": {func(t *testing.T, dir string, _ artifactstest.Folder) {
			must(t, os.Remove(filepath.Join(dir, "SHA256SUMS")))
		}, []string{"There is no SHA256SUMS in ", "so the files cannot be verified. Compare them with what their projects publish, and write it:\n\n  (cd ", ` && find . \( -type f -o -type l \) ! -name SHA256SUMS -exec sha256sum {} + > SHA256SUMS)`}},
		"bad sums": {func(t *testing.T, dir string, _ artifactstest.Folder) {
			must(t, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte("# comment\nabc  kubelet\n"), 0o600))
		}, []string{"line 2 is not of the form", "Write it again:\n\n  (cd "}},
		"two sums": {func(t *testing.T, dir string, _ artifactstest.Folder) {
			line := strings.Repeat("a", 64) + "  kubelet\n"
			must(t, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(line+strings.ReplaceAll(line, "a", "b")), 0o600))
		}, []string{"line 2 gives kubelet another sum than a line before it", "Write it again"}},
		"no file of sums": {func(t *testing.T, dir string, _ artifactstest.Folder) {
			must(t, os.Remove(filepath.Join(dir, "SHA256SUMS")))
			must(t, os.Mkdir(filepath.Join(dir, "SHA256SUMS"), 0o700))
		}, []string{"SHA256SUMS in ", "cannot be read: ", "is a directory, not a regular file. Write it again"}},
		"changed": {func(t *testing.T, dir string, _ artifactstest.Folder) {
			must(t, os.WriteFile(filepath.Join(dir, "runc.amd64"), artifactstest.Program("amd64", "evil"), 0o600))
			must(t, os.WriteFile(filepath.Join(dir, "amd64/kubelet"), artifactstest.Program("amd64", "evil"), 0o600))
		}, []string{"runc.amd64: its SHA-256 is ", "amd64/kubelet: its SHA-256 is ", ", and SHA256SUMS says ", ". Fetch it again, and compare it with what its project publishes."}},
		"new": {func(t *testing.T, dir string, _ artifactstest.Folder) {
			must(t, os.WriteFile(filepath.Join(dir, "amd64", "images", "x.tar"), artifactstest.Image("amd64", "example.com/x:1"), 0o600))
		}, []string{"has no line for amd64/images/x.tar. Compare what is new with what its project publishes, and write the file again:\n\n  (cd "}},
		"gone": {func(t *testing.T, dir string, _ artifactstest.Folder) {
			must(t, os.Remove(filepath.Join(dir, "runc.amd64")))
		}, []string{"runc.amd64 stands in SHA256SUMS and is not in ", "Put it there, or take its line out."}},
		"wrong architecture": {func(t *testing.T, dir string, _ artifactstest.Folder) {
			f := artifactstest.Folder{"amd64/kubelet": artifactstest.Program("arm64", "k"), "amd64/images/i.tar": artifactstest.Image("s390x", "a/b:1"), "arm64/runc.amd64": artifactstest.Program("amd64", "r")}
			must(t, f.Write(dir))
		}, []string{"amd64/kubelet: it is a program for arm64, and filed under amd64", "an image in it is for s390x, and filed under amd64", "arm64/runc.amd64: its folder says another architecture"}},
		"no program": {func(t *testing.T, dir string, _ artifactstest.Folder) {
			f := artifactstest.Folder{"runc.amd64": []byte("<html>404</html>"), "cni-plugins-linux-amd64-v1.7.1.tgz": []byte("<html>"), "crictl-v1.36.0-linux-amd64.tar.gz": artifactstest.Archive(nil)}
			must(t, f.Write(dir))
		}, []string{"runc.amd64: it is no program for Linux", "v1.7.1.tgz: it is no archive", "crictl-v1.36.0-linux-amd64.tar.gz: none of the programs"}},
		"cut": {func(t *testing.T, dir string, f artifactstest.Folder) {
			whole := f["containerd-2.1.4-linux-amd64.tar.gz"]
			must(t, artifactstest.Folder{"containerd-2.1.4-linux-amd64.tar.gz": whole[:len(whole)/2], "images/c.tar": artifactstest.Image("amd64", pause)[:560]}.Write(dir))
		}, []string{"containerd-2.1.4-linux-amd64.tar.gz: it is no whole archive", "images/c.tar: it is no whole archive of images"}},
		"twice": {func(t *testing.T, dir string, _ artifactstest.Folder) {
			must(t, artifactstest.Folder{"kubelet": artifactstest.Program("amd64", "other")}.Write(dir))
		}, []string{"amd64/kubelet and kubelet are both there. Take one of them out, and its line in SHA256SUMS."}},
		"nameless image": {func(t *testing.T, dir string, _ artifactstest.Folder) {
			must(t, artifactstest.Folder{"images/n.tar": artifactstest.Image("amd64")}.Write(dir))
		}, []string{"images/n.tar: no image in it has a name: save it by name and tag, as in docker save registry.k8s.io/pause:3.10.2."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, good)
			test.spoil(t, dir, good)
			c, diags := artifacts.Read(dir, dir, state.Source{}, &artifacts.Memory{})
			if c != nil || !diags.HasErrors() {
				t.Fatal("the folder is accepted")
			}
			var text strings.Builder
			for _, d := range diags {
				text.WriteString(d.Detail + "\n")
			}
			for _, want := range test.want {
				if !strings.Contains(text.String(), want) {
					t.Errorf("the findings lack %q:\n%s", want, text.String())
				}
			}
		})
	}
	empty := t.TempDir()
	must(t, os.WriteFile(filepath.Join(empty, "SHA256SUMS"), nil, 0o600))
	for dir, want := range map[string]string{
		"/no/such/folder": "no such file or directory. Name it in install.artifacts, relative to the configuration.",
		t.TempDir():       "There is no SHA256SUMS in ",
		empty:             "holds nothing that kubewright knows by its name, such as kubelet, containerd-2.1.4-linux-amd64.tar.gz, runc.amd64, cni-plugins-linux-amd64-v1.7.1.tgz or images/*.tar. Keep the names of the projects' releases.",
	} {
		_, diags := artifacts.Read(dir, dir, state.Source{}, &artifacts.Memory{})
		if len(diags) != 1 || diags[0].Summary != "Artifacts do not fit" || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%s: %v, want %q", dir, diags, want)
		}
	}
}

// TestArchivesWithoutImagesAreRecognized checks that archives with other content are recognised as such.
func TestArchivesWithoutImagesAreRecognized(t *testing.T) {
	t.Parallel()
	many, document := map[string][]byte{}, bytes.Repeat([]byte("["), 4<<20)
	for i := range 17 {
		many["blobs/"+strconv.Itoa(i)] = document
	}
	dir := write(t, artifactstest.Folder{
		"images/a.tgz": artifactstest.Archive(map[string][]byte{"manifest.json": []byte("[1")}),
		"images/b.tgz": artifactstest.Archive(map[string][]byte{"index.json": []byte("{]")}),
		"images/c.tgz": artifactstest.Archive(map[string][]byte{"layer": []byte("x")}),
		"images/d.tgz": artifactstest.LargeArchive(many),
	})
	_, diags := artifacts.Read(dir, dir, state.Source{}, &artifacts.Memory{})
	var got []string
	for _, d := range diags {
		got = append(got, d.Detail)
	}
	if want := []string{
		"images/a.tgz: its manifest.json cannot be read: unexpected end of JSON input.",
		"images/b.tgz: its index.json cannot be read: invalid character ']' looking for beginning of object key string.",
		"images/c.tgz: it is no archive of images: it has neither manifest.json nor index.json.",
		"images/d.tgz: it is not an archive of images: it has too many documents.",
	}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestSuggestedCommandWritesChecksums checks that the suggested command writes checksums with which the folder is
// accepted, whatever its name, and also if files in it are links.
func TestSuggestedCommandWritesChecksums(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "Ann's files (new)")
	must(t, os.Mkdir(dir, 0o700))
	must(t, artifactstest.New("amd64", "1.36.3", pause).Write(dir))
	runc := filepath.Join(t.TempDir(), "elsewhere")
	must(t, os.Rename(filepath.Join(dir, "runc.amd64"), runc))
	must(t, os.Symlink(runc, filepath.Join(dir, "runc.amd64")))
	must(t, os.Remove(filepath.Join(dir, artifacts.SumsFile)))
	_, diags := artifacts.Read(dir, dir, state.Source{}, &artifacts.Memory{})
	if len(diags) != 1 {
		t.Fatalf("got %v", diags)
	}
	_, command, _ := strings.Cut(diags[0].Detail, "\n\n  ")
	if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	if got := programs(read(t, dir), "amd64"); !strings.Contains(got, "runc") {
		t.Errorf("got %s", got)
	}
}

// TestChecksumFormats checks that all formats of checksum files are read.
func TestChecksumFormats(t *testing.T) {
	t.Parallel()
	dir := write(t, artifactstest.Folder{"runc.amd64": artifactstest.Program("amd64", "r")})
	b, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	must(t, err)
	sum, _, _ := strings.Cut(string(b), " ")
	for _, line := range []string{sum + "  runc.amd64", sum + " *runc.amd64\r", strings.ToUpper(sum) + "  ./runc.amd64", "SHA256 (runc.amd64) = " + sum} {
		must(t, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte("\n# by hand\n"+line+"\n"), 0o600))
		if got := programs(read(t, dir), "amd64"); got != "runc" {
			t.Errorf("%q gives %q", line, got)
		}
	}
}

// TestCachedFileIsNotReadAgain checks that a cached file is not read again, and that a changed one is.
func TestCachedFileIsNotReadAgain(t *testing.T) {
	t.Parallel()
	dir := write(t, artifactstest.New("amd64", "1.36.3", pause))
	file := filepath.Join(t.TempDir(), "cache", "artifacts.json")
	again := func() (*config.Catalog, diag.Diagnostics) {
		return artifacts.Read(dir, dir, state.Source{}, &artifacts.Memory{File: file})
	}
	// Files that were just written are not cached.
	first, _ := again()
	if _, err := os.Stat(file); err == nil {
		t.Error("a file that may still change is cached")
	}
	old := time.Now().Add(-time.Hour)
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error { return errors.Join(err, os.Chtimes(path, old, old)) }))
	second, _ := again()
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	// Proof that it is not read: other bytes of the same size and time.
	kubelet := filepath.Join(dir, "amd64", "kubelet")
	content, err := os.ReadFile(kubelet)
	must(t, err)
	must(t, os.WriteFile(kubelet, bytes.Repeat([]byte("x"), len(content)), 0o600))
	must(t, os.Chtimes(kubelet, old, old))
	third, diags := again()
	if diags.HasErrors() || !reflect.DeepEqual(first, third) || !reflect.DeepEqual(second, third) {
		t.Errorf("got %+v, %v; want %+v", third, diags, first)
	}
	must(t, os.Chtimes(kubelet, old, old.Add(time.Second)))
	if _, diags := again(); !diags.HasErrors() {
		t.Error("a changed file is not read again")
	}
	must(t, os.WriteFile(file, []byte("{"), 0o600))
	if _, diags := again(); !diags.HasErrors() {
		t.Error("an invalid cache is used")
	}
}

// TestKubernetesProgramVersions checks that the version of a Kubernetes program is the one that the linker
// wrote, anywhere in the file, and no other text.
func TestKubernetesProgramVersions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"linked":       {"protobuf v1.36.5 v1.20.0.go\x00xv1.36.3\x00" + strings.Repeat("y", 100), "1.36.3"},
		"at the end":   {strings.Repeat("x", 200) + "v1.36.3\x00", "1.36.3"},
		"over a chunk": {strings.Repeat("x", 1<<16-64-3) + "v1.36.12+vendor.1\x00" + strings.Repeat("y", 1<<16), "1.36.12+vendor.1"},
		"in a large":   {strings.Repeat("x", 3<<20) + "v1.36.3\x00" + strings.Repeat("y", 3<<20), "1.36.3"},
		"none":         {"v1.36.3 v1.2.3", ""},
		"two":          {"v1.36.3\x00v1.36.4\x00", ""},
	} {
		program := artifactstest.Program("amd64", test.text)
		c := read(t, write(t, artifactstest.Folder{"amd64/kubelet": program, "kubernetes-node-linux-s390x.tar.gz": artifactstest.Archive(map[string][]byte{"kubernetes/node/bin/kubelet": artifactstest.Program("s390x", test.text)}), "amd64/kubeadm": artifactstest.Program("amd64", "v1.36.3\x00")}))
		for _, a := range c.Files {
			if p := a.Programs[0]; p.Name == "kubelet" && p.Version != test.want {
				t.Errorf("%s: %q, want %q", name, p.Version, test.want)
			}
		}
		if got := c.OtherVersions("1.36.3"); (len(got) > 0) != (test.want != "" && test.want != "1.36.3") {
			t.Errorf("%s: of another version: %v", name, got)
		}
		if got := c.OtherVersions("1.35.8"); !slices.Contains(got, "amd64/kubeadm is 1.36.3") {
			t.Errorf("%s: of another version than 1.35.8: %v", name, got)
		}
	}
}
