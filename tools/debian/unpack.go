package debian

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/blakesmith/ar"
	"github.com/ulikunitz/xz"
)

// Unpack adds the files of a package file to a tree, and its description, from which scanners know
// which packages an image has.
func (t *Tree) Unpack(name string, deb []byte) error {
	files := ar.NewReader(bytes.NewReader(deb))
	found := 0
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s is no package of Debian: %w", name, err)
		}
		member := strings.TrimRight(h.Name, "/ ")
		switch {
		case strings.HasPrefix(member, "control.tar"):
			err = eachFile(member, files, func(h *tar.Header, r io.Reader) error {
				if path.Clean(h.Name) != "control" {
					return nil
				}
				found++
				control, err := io.ReadAll(r)
				t.Add(File{Path: "var/lib/dpkg/status.d/" + name, Mode: 0o644, Content: control})
				return err
			})
		case strings.HasPrefix(member, "data.tar"):
			found++
			err = eachFile(member, files, t.unpackFile)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", name, member, err)
		}
	}
	if found != 2 {
		return fmt.Errorf("%s is no package of Debian: it lacks its description or its files", name)
	}
	return nil
}

// eachFile reads a compressed tar.
func eachFile(name string, r io.Reader, do func(*tar.Header, io.Reader) error) error {
	var err error
	switch path.Ext(name) {
	case ".xz":
		r, err = xz.NewReader(r)
	case ".gz":
		r, err = gzip.NewReader(r)
	case ".tar":
	default:
		err = errors.New("the compression is neither xz nor gzip")
	}
	if err != nil {
		return err
	}
	files := tar.NewReader(r)
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := do(h, files); err != nil {
			return err
		}
	}
}

func (t *Tree) unpackFile(h *tar.Header, r io.Reader) error {
	f := File{Path: merged(path.Clean("/" + h.Name)[1:]), Mode: h.Mode & 0o777}
	if f.Path == "" || t.Without != nil && t.Without(f.Path) {
		return nil
	}
	switch h.Typeflag {
	case tar.TypeDir:
		f.Dir = true
		if t.files[f.Path].Link != "" { // /bin is a link to /usr/bin
			return nil
		}
		f.Mode = h.Mode & 0o1777 // with the sticky bit of /tmp
	case tar.TypeSymlink:
		f.Link = h.Linkname
	case tar.TypeLink:
		target, there := t.files[merged(path.Clean("/" + h.Linkname)[1:])]
		if !there {
			return fmt.Errorf("%s is a hard link to %s, which is missing", h.Name, h.Linkname)
		}
		f.Content, f.Mode = target.Content, target.Mode
	case tar.TypeReg:
		var err error
		if f.Content, err = io.ReadAll(r); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s has the type %q", h.Name, h.Typeflag)
	}
	if old, there := t.files[f.Path]; there && !old.Dir {
		return fmt.Errorf("two packages have %s", f.Path)
	}
	t.Add(f)
	return nil
}

// merged returns a path with /bin, /sbin and /lib as the links that they are in Debian.
func merged(p string) string {
	first, rest, below := strings.Cut(p, "/")
	switch first {
	case "bin", "sbin", "lib", "lib64":
		if below {
			return "usr/" + first + "/" + rest
		}
	}
	return p
}
