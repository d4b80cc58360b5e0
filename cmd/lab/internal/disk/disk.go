// Package disk links and copies trees of files.
package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// LinkFile creates a hard link, and the folders above it.
func LinkFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.Link(from, to)
}

// LinkTree copies a tree with modes and owners. Regular files become hard links to the same
// content, except those for which copied (if given) returns true.
func LinkTree(from, to string, copied func(rel string) bool) error {
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case entry.IsDir():
			return copyDir(name, target)
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case copied != nil && copied(rel):
			return copyFile(name, target)
		}
		return os.Link(name, target)
	})
}

// copyDir creates a folder with the mode and owner of another.
func copyDir(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	return CopyAttributes(from, to)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return CopyAttributes(from, to)
}

// CopyAttributes gives a file the owner and mode of another.
func CopyAttributes(from, to string) error {
	stat, err := os.Stat(from)
	if err != nil {
		return err
	}
	if owner, ok := stat.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		if err := os.Chown(to, int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	return os.Chmod(to, stat.Mode()) // after chown, which clears setuid and setgid bits
}

// CopyOwner gives a file the owner of another.
func CopyOwner(from, to string) error {
	stat, err := os.Stat(from)
	if err != nil {
		return err
	}
	owner := stat.Sys().(*syscall.Stat_t)
	return os.Chown(to, int(owner.Uid), int(owner.Gid))
}

// Exists reports whether a path exists, even as a dangling link.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// Digest returns the SHA-256 of a file in hexadecimal.
func Digest(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}
