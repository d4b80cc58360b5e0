package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/kubewright/kubewright/tools/debian"
)

// TestArchive checks that an archive is a valid OCI layout with an image for each architecture, and
// has the same bytes again.
func TestArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := Release{Version: "1.2.3", Commit: "c0ffee", Time: time.Unix(1e9, 0), Programs: map[string]string{}, Licences: map[string][]byte{"LICENSE": []byte("text")}}
	for _, arch := range []string{"amd64", "arm64"} {
		r.Programs[arch] = filepath.Join(dir, arch)
		if err := os.WriteFile(r.Programs[arch], []byte("program for "+arch), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	base := func(_ context.Context, _ debian.Source, arch string) (*debian.Tree, error) {
		var tree debian.Tree
		tree.Add(debian.File{Path: "etc/arch", Mode: 0o644, Content: []byte(arch)})
		return &tree, nil
	}
	var archives [][]byte
	for range 2 {
		index, err := r.index(t.Context(), debian.Source{}, kind{"image", "kubewright", base, v1.Config{Cmd: []string{"help"}}})
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "image.tar")
		if err := r.archive(index, name); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, b)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two archives differ")
	}
	check(t, extracted(t, archives[0]))
}

// check reads an OCI layout as a client does.
func check(t *testing.T, folder string) {
	t.Helper()
	outer, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.3" {
		t.Fatalf("got %+v, %v", manifest, err)
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	if manifest, err = index.IndexManifest(); err != nil || len(manifest.Manifests) != 2 {
		t.Fatalf("got %+v, %v", manifest, err)
	}
	for _, m := range manifest.Manifests {
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		file, err := img.ConfigFile()
		if err != nil || file.Architecture != m.Platform.Architecture || file.OS != "linux" || file.Config.Labels["org.opencontainers.image.version"] != "1.2.3" {
			t.Errorf("got %+v, %v", file, err)
		}
		if layers, err := img.Layers(); err != nil || len(layers) != 2 {
			t.Errorf("%d layers, %v", len(layers), err)
		}
	}
}

func extracted(t *testing.T, archive []byte) string {
	t.Helper()
	dir := t.TempDir()
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLockIsComplete checks that the lock has the same packages for each architecture, and that
// every package that stays out is one of them.
func TestLockIsComplete(t *testing.T) {
	t.Parallel()
	all, err := debian.ParseLock(bytes.NewReader(lockFile))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]map[string]bool{}
	for _, p := range all {
		if names[p.Arch] == nil {
			names[p.Arch] = map[string]bool{}
		}
		names[p.Arch][p.Name()] = true
	}
	if len(names) != 2 || len(names["amd64"]) < 50 {
		t.Fatalf("%d architectures, %d packages for amd64", len(names), len(names["amd64"]))
	}
	for name := range names["amd64"] {
		if !names["arm64"][name] {
			t.Errorf("arm64 lacks %s", name)
		}
	}
	for _, name := range unneeded {
		if !names["amd64"][name] {
			t.Errorf("%s stays out, and Debian does not install it: remove it from the list", name)
		}
	}
}
