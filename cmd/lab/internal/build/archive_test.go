package build

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// testImage returns an image of two files created at the given time.
func testImage(t *testing.T, made time.Time) image {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"program": 0o700, "library": 0o600} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(name), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, made, made); err != nil {
			t.Fatal(err)
		}
	}
	return image{
		ref:        "registry.test/x:1",
		files:      map[string]string{"/bin/program": filepath.Join(dir, "program"), "/lib/a/library": filepath.Join(dir, "library")},
		links:      map[string]string{"/bin/alias": "program"},
		entrypoint: []string{"/bin/program"},
	}
}

func archive(t *testing.T, i image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := i.write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArchivesAreDeterministic(t *testing.T) {
	t.Parallel()
	one := archive(t, testImage(t, time.Unix(1, 0)))
	other := archive(t, testImage(t, time.Now()))
	if !bytes.Equal(one, other) {
		t.Error("the same files give different archives")
	}
}

func TestArchiveHoldsWhatRuntimesImport(t *testing.T) {
	t.Parallel()
	members := untar(t, bytes.NewReader(archive(t, testImage(t, time.Now()))))
	var manifest []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(members["manifest.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 1 || !slices.Equal(manifest[0].RepoTags, []string{"registry.test/x:1"}) {
		t.Fatalf("manifest %+v", manifest)
	}
	var config struct {
		Config struct{ Entrypoint []string }
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := json.Unmarshal(members[manifest[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	if manifest[0].Config != digest(members[manifest[0].Config])+".json" {
		t.Error("the configuration is not named by its digest")
	}
	zip, err := gzip.NewReader(bytes.NewReader(members[manifest[0].Layers[0]]))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"sha256:" + digest(layer)}; !slices.Equal(config.RootFS.DiffIDs, want) {
		t.Errorf("diff ids %v, want %v", config.RootFS.DiffIDs, want)
	}
	checkLayer(t, layer)
}

func checkLayer(t *testing.T, layer []byte) {
	t.Helper()
	var got []string
	for r := tar.NewReader(bytes.NewReader(layer)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%s has owner %d:%d and time %v", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		got = append(got, h.FileInfo().Mode().String()+" "+h.Name)
	}
	want := []string{
		"drwxr-xr-x bin/", "drwxr-xr-x lib/", "drwxr-xr-x lib/a/",
		"-rwxr-xr-x bin/program", "-rw-r--r-- lib/a/library", "Lrwxrwxrwx bin/alias",
	}
	if !slices.Equal(got, want) {
		t.Errorf("layer\n got %q\nwant %q", got, want)
	}
}

func untar(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	members := map[string][]byte{}
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if err == io.EOF {
			return members
		}
		if err != nil {
			t.Fatal(err)
		}
		if members[h.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInRootFollowsLinksInsideRoot(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"usr/lib/multi", "lib64"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	real := filepath.Join(root, "usr/lib/multi/ld.so.1")
	if err := os.WriteFile(real, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"lib64/ld.so":         "/usr/lib/multi/ld.so",
		"usr/lib/multi/ld.so": "ld.so.1",
		"loop":                "/loop",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := inRoot(root, "/lib64/ld.so"); err != nil || got != real {
		t.Errorf("got %s, %v; want %s", got, err, real)
	}
	if _, err := inRoot(root, "/loop"); err == nil {
		t.Error("a link to itself was followed")
	}
}
