package build

import (
	"archive/tar"
	"bytes"
	"cmp"
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

// An image is one layer of files, and what runs in it.
type image struct {
	ref        string
	files      map[string]string // path in the image → file on disk
	texts      map[string]string // path in the image → content
	links      map[string]string // path in the image → target
	modes      map[string]int64  // path in the image → mode, where it is not the usual one; creates folders
	entrypoint []string
	command    []string
	user       string
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
	config := map[string]any{
		"Entrypoint": i.entrypoint,
		"Env":        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	if len(i.command) > 0 {
		config["Cmd"] = i.command
	}
	if i.user != "" {
		config["User"] = i.user
	}
	return map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       config,
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{diffID}},
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
		header := &tar.Header{Name: dir + "/", Mode: cmp.Or(i.modes["/"+dir], 0o755), Typeflag: tar.TypeDir}
		if err := out.WriteHeader(header); err != nil {
			return nil, "", err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.files)) {
		if err := addFile(out, strings.TrimPrefix(name, "/"), i.files[name], i.modes[name]); err != nil {
			return nil, "", err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.texts)) {
		text := i.texts[name]
		header := &tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if err := out.WriteHeader(header); err != nil {
			return nil, "", err
		}
		if _, err := io.WriteString(out, text); err != nil {
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

// folders lists every folder above a file or link, and those that have a mode, parents first.
func (i image) folders() []string {
	seen := map[string]bool{}
	above := func(name string) {
		for dir := path.Dir(strings.TrimPrefix(name, "/")); dir != "."; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	for _, names := range []map[string]string{i.files, i.texts, i.links} {
		for name := range names {
			above(name)
		}
	}
	for name := range i.modes {
		if i.files[name] == "" {
			above(path.Join(name, "x"))
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// addFile adds a file with a mode; mode 0 keeps of the file's own whether it can be executed.
func addFile(out *tar.Writer, name, file string, mode int64) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	switch {
	case mode != 0:
	case stat.Mode()&0o111 != 0:
		mode = 0o755
	default:
		mode = 0o644
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
