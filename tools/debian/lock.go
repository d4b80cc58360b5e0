// Package debian unpacks packages of Debian into the file system of an image without running
// anything of them: so an image of any architecture is made on any machine, without root, and has
// the same bytes each time. A lock names each package with its digest.
package debian

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Package is a locked package file.
type Package struct {
	// Arch is the architecture of the image, which differs from that of a package for all.
	Arch string
	// SHA256 is the digest of the file in hex, and Size its length in bytes.
	SHA256 string
	Size   int64
	// Path is where mirrors have the file, such as debian/pool/main/b/bash/bash_5_amd64.deb.
	Path string
}

// Name returns the name of the package.
func (p Package) Name() string {
	name, _, _ := strings.Cut(path.Base(p.Path), "_")
	return name
}

// ParseLock reads a lock: a line per package with architecture, digest, size and path. Lines that
// begin with # are comments.
func ParseLock(r io.Reader) ([]Package, error) {
	var out []Package
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 4 {
			return nil, fmt.Errorf("line %d has %d fields instead of 4: architecture, SHA-256, size, path", n, len(f))
		}
		size, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil || len(f[1]) != 64 {
			return nil, fmt.Errorf("line %d: %q is no SHA-256, or %q no size", n, f[1], f[2])
		}
		out = append(out, Package{Arch: f[0], SHA256: f[1], Size: size, Path: f[3]})
	}
	return out, lines.Err()
}

// Of returns the packages of an architecture; with names only those.
func Of(all []Package, arch string, names ...string) ([]Package, error) {
	var out []Package
	for _, p := range all {
		if p.Arch == arch && (len(names) == 0 || slices.Contains(names, p.Name())) {
			out = append(out, p)
		}
	}
	if len(out) < max(1, len(names)) {
		return nil, fmt.Errorf("the lock has %d of the packages %v for %s", len(out), names, arch)
	}
	return out, nil
}
