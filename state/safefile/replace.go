package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Replace begins an own file that takes its name in CloseAtomicallyReplace, replacing a file with
// that name. The caller calls Cleanup in any case.
func Replace(path string, perm fs.FileMode) (*renameio.PendingFile, error) {
	if err := Replaceable(path); err != nil {
		return nil, err
	}
	return renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(perm))
}

// WriteFile writes an own file atomically, with these permissions even if it replaces another
// one.
func WriteFile(path string, b []byte, perm fs.FileMode) error {
	f, err := Replace(path, perm)
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }()
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// Rename renames an own file. The new name must be free, or that of a regular file.
func Rename(from, to string) error {
	if err := Replaceable(to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// Replaceable refuses a name that belongs to anything but a regular file: a rename would replace
// a link or a device itself, and not what it leads to.
func Replaceable(path string) error {
	_, err := sharedFolder(filepath.Dir(path))
	if info, missing := os.Lstat(path); err == nil && missing == nil {
		err = usable(info, false)
	}
	if err != nil {
		return &fs.PathError{Op: "replace", Path: path, Err: err}
	}
	return nil
}

// MakeFolder creates a folder for own files if it is missing. It refuses a link in its place, and
// a folder that every user can write.
func MakeFolder(path string, perm fs.FileMode) error {
	if _, err := sharedFolder(filepath.Dir(path)); err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if err := CheckFolder(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(path, perm); err != nil {
		return err
	}
	return CheckFolder(path)
}

// CheckFolder refuses a folder for own files that is a link, or that every user can write. A
// missing one is fs.ErrNotExist.
func CheckFolder(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		err = errors.New("it is " + Kind(info.Mode()) + ", not a directory")
	default:
		_, err = sharedFolder(path)
	}
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}

// sharedFolder reports whether every user can create files in a folder, and only remove their own
// (sticky, as /tmp); the error is Exposed if every user can remove all files. An unreadable
// folder passes: opening a file in it fails anyway.
func sharedFolder(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&0o002 == 0 {
		return false, nil
	}
	if info.Mode()&fs.ModeSticky == 0 {
		return true, &Exposed{path, info.Mode()}
	}
	return true, nil
}
