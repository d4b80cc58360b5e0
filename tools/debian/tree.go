package debian

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// A File is a file, folder or symbolic link of an image.
type File struct {
	Path    string // without the leading slash
	Mode    int64
	Owner   int // user and group; 0 is root
	Dir     bool
	Link    string
	Content []byte
}

// A Tree is the file system of an image.
type Tree struct {
	// Without reports whether a path of a package stays out.
	Without func(path string) bool

	files map[string]File
}

// Add adds a file, and replaces an earlier one of its path.
func (t *Tree) Add(f File) {
	if t.files == nil {
		t.files = map[string]File{}
	}
	t.files[f.Path] = f
}

// Get returns the file with a path.
func (t *Tree) Get(path string) (File, bool) {
	f, there := t.files[path]
	return f, there
}

// Paths returns all paths in order.
func (t *Tree) Paths() []string { return slices.Sorted(maps.Keys(t.files)) }

// Tar writes the tree in the order of its paths, each file with the same time.
func (t *Tree) Tar(w io.Writer, when time.Time) error {
	whole := maps.Clone(t.files)
	for p := range t.files {
		for d := path.Dir(p); d != "."; d = path.Dir(d) {
			if _, there := whole[d]; !there {
				whole[d] = File{Path: d, Mode: 0o755, Dir: true}
			}
		}
	}
	out := tar.NewWriter(w)
	for _, p := range slices.Sorted(maps.Keys(whole)) {
		f := whole[p]
		h := &tar.Header{Name: p, Mode: f.Mode, Uid: f.Owner, Gid: f.Owner, ModTime: when.UTC().Truncate(time.Second), Typeflag: tar.TypeReg, Size: int64(len(f.Content)), Format: tar.FormatPAX}
		switch {
		case f.Dir:
			h.Typeflag, h.Name = tar.TypeDir, p+"/"
		case f.Link != "":
			h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.Link, 0o777
		}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := out.Write(f.Content); err != nil {
			return err
		}
	}
	return out.Close()
}

// MissingLibraries returns the shared libraries that programs and libraries of the tree need and
// that it does not have, each with the first that needs it.
func (t *Tree) MissingLibraries() []string {
	names := map[string]bool{}
	for p := range t.files {
		names[path.Base(p)] = true
	}
	missing := map[string]string{}
	for _, p := range t.Paths() {
		f, err := elf.NewFile(bytes.NewReader(t.files[p].Content))
		if err != nil {
			continue // no program
		}
		needed, err := f.ImportedLibraries()
		if err != nil {
			continue
		}
		for _, lib := range needed {
			if !names[lib] && missing[lib] == "" {
				missing[lib] = p
			}
		}
	}
	var out []string
	for _, lib := range slices.Sorted(maps.Keys(missing)) {
		out = append(out, fmt.Sprintf("%s, which %s needs", lib, missing[lib]))
	}
	return out
}

// Documentation reports whether a path holds what an image does without: manuals, translations and
// hints to packagers. Licences stay.
func Documentation(p string) bool {
	if strings.HasPrefix(p, "usr/share/doc/") {
		return path.Base(p) != "copyright" && strings.Count(p, "/") > 3
	}
	for _, folder := range []string{"usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian", "usr/share/bug", "usr/share/bash-completion", "usr/share/zsh", "usr/share/gitweb", "usr/share/git-core/contrib"} {
		if p == folder || strings.HasPrefix(p, folder+"/") {
			return true
		}
	}
	return false
}
