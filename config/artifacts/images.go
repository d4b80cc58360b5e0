package artifacts

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Limits, in bytes, for the documents in an image archive that are kept.
const (
	documentCap  = 4 << 20  // for one
	documentsCap = 64 << 20 // for all
)

// readImages reads the names and the architecture of the images in an archive:
// docker's manifest.json, or index.json of an OCI layout. Newer archives have both.
func (n *named) readImages(in *bufio.Reader) error {
	documents, err := readDocuments(in)
	if err != nil {
		return err
	}
	names, configs, err := dockerImages(documents)
	if err != nil {
		return err
	}
	if _, layout := documents["index.json"]; len(names) == 0 && (layout || documents["manifest.json"] == nil) {
		if names, configs, err = layoutImages(documents); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return errors.New("no image in it has a name: save it by name and tag, as in docker save registry.k8s.io/pause:3.10.2")
	}
	for _, name := range names {
		n.Images = append(n.Images, fullName(name))
	}
	slices.Sort(n.Images)
	n.Images = slices.Compact(n.Images)
	return n.checkImages(documents, configs)
}

// readDocuments keeps the JSON documents of an archive, by name.
func readDocuments(in *bufio.Reader) (map[string][]byte, error) {
	var r io.Reader = in
	if head, _ := in.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("it is no archive: %w", err)
		}
		r = z
	}
	out := map[string][]byte{}
	total := int64(0)
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("it is no whole archive of images: %w", err)
		}
		if header.Typeflag != tar.TypeReg || header.Size > documentCap {
			continue
		}
		body := bufio.NewReader(archive)
		if first, _ := body.Peek(1); len(first) == 0 || first[0] != '{' && first[0] != '[' {
			continue
		}
		if total += header.Size; total > documentsCap {
			return nil, errors.New("it is not an archive of images: it has too many documents")
		}
		if out[path.Clean(header.Name)], err = io.ReadAll(body); err != nil {
			return nil, fmt.Errorf("it is no whole archive of images: %w", err)
		}
	}
}

// dockerImages reads manifest.json: the names of images, and the names of their configuration
// documents.
func dockerImages(documents map[string][]byte) (names, configs []string, err error) {
	content, ok := documents["manifest.json"]
	if !ok {
		return nil, nil, nil
	}
	var list []struct {
		Config   string
		RepoTags []string
	}
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, nil, fmt.Errorf("its manifest.json cannot be read: %w", err)
	}
	for _, image := range list {
		names = append(names, image.RepoTags...)
		configs = append(configs, path.Clean(image.Config))
	}
	return names, configs, nil
}

// descriptor is OCI's pointer to a document.
type descriptor struct {
	Digest      string            `json:"digest"`
	Annotations map[string]string `json:"annotations"`
	Config      *descriptor       `json:"config"`
	Manifests   []descriptor      `json:"manifests"`
}

// layoutImages reads index.json of an OCI layout. For an index with several platforms the
// architecture is left open.
func layoutImages(documents map[string][]byte) (names, configs []string, err error) {
	content, ok := documents["index.json"]
	if !ok {
		return nil, nil, errors.New("it is no archive of images: it has neither manifest.json nor index.json")
	}
	var index descriptor
	if err := json.Unmarshal(content, &index); err != nil {
		return nil, nil, fmt.Errorf("its index.json cannot be read: %w", err)
	}
	for _, m := range index.Manifests {
		name := m.Annotations["io.containerd.image.name"]
		if name == "" {
			name = m.Annotations["org.opencontainers.image.ref.name"]
		}
		if !strings.Contains(name, ":") { // a tag alone names no image
			continue
		}
		names = append(names, name)
		var manifest descriptor
		if err := json.Unmarshal(documents[blob(m.Digest)], &manifest); err == nil && manifest.Config != nil {
			configs = append(configs, blob(manifest.Config.Digest))
		}
	}
	return names, configs, nil
}

func blob(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

// checkImages requires all images to be for one architecture, the one that the file is filed
// under, as far as they declare it.
func (n *named) checkImages(documents map[string][]byte, configs []string) error {
	for _, c := range configs {
		var image struct {
			Architecture string `json:"architecture"`
		}
		if json.Unmarshal(documents[c], &image) != nil || image.Architecture == "" {
			continue
		}
		switch n.Arch {
		case "":
			n.Arch = image.Architecture
		case image.Architecture:
		default:
			return fmt.Errorf("an image in it is for %s, and filed under %s", image.Architecture, n.Arch)
		}
	}
	return nil
}

// fullName returns an image's name as runtimes store it: short names belong to docker.io, and a
// name without tag or digest is latest.
func fullName(name string) string {
	first, rest, ok := strings.Cut(name, "/")
	switch {
	case !ok:
		name = "docker.io/library/" + name
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		name = "docker.io/" + name
	default:
		name = first + "/" + rest
	}
	if !strings.Contains(path.Base(name), ":") && !strings.Contains(name, "@") {
		name += ":latest"
	}
	return name
}
