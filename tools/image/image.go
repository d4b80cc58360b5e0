package image

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/kubewright/kubewright/tools/debian"
)

// A Release is what images are made of.
type Release struct {
	Version string
	Commit  string
	// Time is the time of every file, and when the images say that they were created.
	Time time.Time
	// Programs are the paths of the program for Linux by architecture.
	Programs map[string]string
	// Licences are files by name, which stand in /usr/share/doc/kubewright.
	Licences map[string][]byte
}

// A kind is an image that differs from the other in its base and in how it starts.
type kind struct {
	suffix, title string
	base          func(context.Context, debian.Source, string) (*debian.Tree, error)
	config        v1.Config
}

var kinds = []kind{
	{"image", "kubewright", scratchTree, v1.Config{
		Entrypoint: []string{"/usr/bin/kubewright"}, Cmd: []string{"help"}, WorkingDir: "/work", User: "65532:65532",
		Env: []string{"PATH=/usr/bin", "HOME=/home/kubewright", "SSL_CERT_FILE=/" + bundle},
	}},
	// Runners clone as root into folders of root, and start a shell themselves.
	{"image-ci", "kubewright for CI", ciTree, v1.Config{
		Cmd: []string{"bash"}, WorkingDir: "/work",
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"},
	}},
}

// Write writes the archives of all images into a folder, and returns their names.
func (r Release) Write(ctx context.Context, source debian.Source, folder string) ([]string, error) {
	var names []string
	for _, k := range kinds {
		index, err := r.index(ctx, source, k)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.suffix, err)
		}
		name := fmt.Sprintf("kubewright_%s_%s.tar", r.Version, k.suffix)
		if err := r.archive(index, filepath.Join(folder, name)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		names = append(names, name)
	}
	return names, nil
}

// index makes an image for each architecture.
func (r Release) index(ctx context.Context, source debian.Source, k kind) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range slices.Sorted(maps.Keys(r.Programs)) {
		base, err := k.base(ctx, source, arch)
		if err != nil {
			return nil, err
		}
		img, err := r.image(base, arch, k)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return index, nil
}

// image makes an image of two layers: the base, which releases share, and the program.
func (r Release) image(base *debian.Tree, arch string, k kind) (v1.Image, error) {
	program, err := os.ReadFile(r.Programs[arch])
	if err != nil {
		return nil, err
	}
	var own debian.Tree
	own.Add(debian.File{Path: "usr/bin/kubewright", Mode: 0o755, Content: program})
	for name, text := range r.Licences {
		own.Add(debian.File{Path: "usr/share/doc/kubewright/" + name, Mode: 0o644, Content: text})
	}
	// The base has a time that does not change with the release, so that its layer stays the same.
	img, err := withLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		layer{base, time.Unix(0, 0), "base"}, layer{&own, r.Time, "kubewright " + r.Version})
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created, file.Config = "linux", arch, v1.Time{Time: r.Time.UTC()}, k.config
	file.Config.Labels = r.annotations(k)
	if img, err = mutate.ConfigFile(img, file); err != nil {
		return nil, err
	}
	return mutate.Annotations(img, r.annotations(k)).(v1.Image), nil
}

func (r Release) annotations(k kind) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    k.title,
		"org.opencontainers.image.version":  r.Version,
		"org.opencontainers.image.revision": r.Commit,
		"org.opencontainers.image.created":  r.Time.UTC().Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
}

type layer struct {
	tree *debian.Tree
	time time.Time
	what string
}

func withLayers(img v1.Image, layers ...layer) (v1.Image, error) {
	for _, l := range layers {
		var b bytes.Buffer
		if err := l.tree.Tar(&b, l.time); err != nil {
			return nil, err
		}
		content := b.Bytes()
		made, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
			tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
		if err != nil {
			return nil, err
		}
		img, err = mutate.Append(img, mutate.Addendum{Layer: made, History: v1.History{CreatedBy: l.what, Created: v1.Time{Time: l.time.UTC()}}})
		if err != nil {
			return nil, err
		}
	}
	return img, nil
}

// archive writes an OCI layout with the index, which is tagged with the version, as one file.
func (r Release) archive(index v1.ImageIndex, name string) error {
	folder, err := os.MkdirTemp(filepath.Dir(name), ".layout")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path, err := layout.Write(folder, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return err
	}
	tag := map[string]string{"org.opencontainers.image.ref.name": r.Version}
	if err := path.AppendIndex(index, layout.WithAnnotations(tag)); err != nil {
		return err
	}
	var t debian.Tree
	err = filepath.WalkDir(folder, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(folder, p)
		t.Add(debian.File{Path: filepath.ToSlash(rel), Mode: 0o644, Content: content})
		return err
	})
	if err != nil {
		return err
	}
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := t.Tar(out, r.Time); err != nil {
		return err
	}
	return out.Close()
}
