package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHostConfigs(t *testing.T) {
	t.Parallel()
	r, _ := FindRelease("v1.35.8")
	files, err := r.hostConfigs()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"units/kubelet.service":                   "ExecStart=/usr/bin/kubelet\n",
		"units/kubelet.service.d/10-kubeadm.conf": "$KUBELET_KUBEADM_ARGS",
		"units/containerd.service":                "Type=notify\n",
		"etc/containerd/config.toml":              `sandbox = "registry.k8s.io/pause:3.10.1"`,
		"etc/crictl.yaml":                         "containerd.sock",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s does not say %q:\n%s", name, want, files[name])
		}
	}
}

// TestChecksumListFormat checks that the list has the format of "sha256sum -c".
func TestChecksumListFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := writeFiles(dir, map[string]string{"b/two": "2", "a": "1"}); err != nil {
		t.Fatal(err)
	}
	if err := writeSums(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	want := digest([]byte("1")) + "  a\n" + digest([]byte("2")) + "  b/two\n"
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestHoistKeepsOnlyRootContents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := writeFiles(dir, map[string]string{"root/a/b": "x", "log": "y", "state/z": "z"}); err != nil {
		t.Fatal(err)
	}
	if err := hoist(dir); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 || entries[0].Name() != "a" {
		t.Errorf("left: %v", entries)
	}
}

// TestCloneStoreSharesContent checks that a store's copy shares content but not databases.
func TestCloneStoreSharesContent(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "host")
	if err := writeFiles(from, map[string]string{"bolt/meta.db": "db", "content/blobs/sha256/1": "blob"}); err != nil {
		t.Fatal(err)
	}
	if err := CloneStore(from, to); err != nil {
		t.Fatal(err)
	}
	for name, shared := range map[string]bool{"bolt/meta.db": false, "content/blobs/sha256/1": true} {
		a, errA := os.Stat(filepath.Join(from, name))
		b, errB := os.Stat(filepath.Join(to, name))
		if errA != nil || errB != nil || os.SameFile(a, b) != shared {
			t.Errorf("%s: shared = %v, want %v (%v, %v)", name, !shared, shared, errA, errB)
		}
	}
}
