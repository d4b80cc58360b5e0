package build

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
)

// An image is one layer of files and an entrypoint.
type image struct {
	ref        string
	files      map[string]string // path in the image → file on disk
	links      map[string]string // path in the image → target
	entrypoint []string
}

// write writes the image as an archive in the format of "docker save", which every runtime
// imports. The same files give the same bytes: it contains no time, names are sorted, and
// everything belongs to root.
func (i image) write(w io.Writer) error {
	layer, diffID, err := i.layer()
	if err != nil {
		return fmt.Errorf("cannot write image %s: %w", i.ref, err)
	}
	config, err := json.Marshal(i.config(diffID))
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]any{map[string]any{
		"Config":   digest(config) + ".json",
		"RepoTags": []string{i.ref},
		"Layers":   []string{"layer.tar.gz"},
	}})
	if err != nil {
		return err
	}
	archive := tar.NewWriter(w)
	for _, f := range []struct {
		name    string
		content []byte
	}{{digest(config) + ".json", config}, {"layer.tar.gz", layer}, {"manifest.json", manifest}} {
		header := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content)), Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

func (i image) config(diffID string) any {
	return map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config": map[string]any{
			"Entrypoint": i.entrypoint,
			"Env":        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{diffID}},
	}
}

// layer returns the compressed layer and the digest of the uncompressed one. It compresses fast,
// because the archives are read as often as they are written.
func (i image) layer() (compressed []byte, diffID string, err error) {
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, "", err
	}
	hash := sha256.New()
	out := tar.NewWriter(io.MultiWriter(zip, hash))
	for _, dir := range i.folders() {
		if err := out.WriteHeader(&tar.Header{Name: dir + "/", Mode: 0o755, Typeflag: tar.TypeDir}); err != nil {
			return nil, "", err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.files)) {
		if err := addFile(out, strings.TrimPrefix(name, "/"), i.files[name]); err != nil {
			return nil, "", err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.links)) {
		header := &tar.Header{Name: strings.TrimPrefix(name, "/"), Linkname: i.links[name], Mode: 0o777, Typeflag: tar.TypeSymlink}
		if err := out.WriteHeader(header); err != nil {
			return nil, "", err
		}
	}
	if err := out.Close(); err != nil {
		return nil, "", err
	}
	if err := zip.Close(); err != nil {
		return nil, "", err
	}
	return b.Bytes(), "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}

// folders lists every folder above a file or link, parents first.
func (i image) folders() []string {
	seen := map[string]bool{}
	for _, names := range []map[string]string{i.files, i.links} {
		for name := range names {
			for dir := path.Dir(strings.TrimPrefix(name, "/")); dir != "."; dir = path.Dir(dir) {
				seen[dir] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func addFile(out *tar.Writer, name, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	mode := int64(0o644)
	if stat.Mode()&0o111 != 0 {
		mode = 0o755
	}
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: stat.Size(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.Copy(out, f)
	return err
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
