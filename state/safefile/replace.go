package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Replace begins an own file that takes its name, and the place of a file that had it, in
// CloseAtomicallyReplace. The caller calls Cleanup in any case.
func Replace(path string, perm fs.FileMode) (*renameio.PendingFile, error) {
	if err := Replaceable(path); err != nil {
		return nil, err
	}
	return renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(perm))
}

// WriteFile puts an own file in place as a whole, with these permissions also where
// another had the name.
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

// Rename gives an own file another name, where there is none or a regular file.
func Rename(from, to string) error {
	if err := Replaceable(to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// Replaceable refuses a name at which there is anything but a regular file: a rename would
// take the place of a link or a device, and not be seen where that leads.
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

// MakeFolder makes a folder for own files unless it is there. A link in its place is
// refused, and a folder that every user can write.
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

// CheckFolder refuses a folder for own files that is a link, or that every user can write.
// One that is missing is fs.ErrNotExist.
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

// sharedFolder reports whether every user can make files in a folder, and only remove
// those of their own (sticky, as /tmp); it is Exposed where they can remove all. A folder that
// cannot be read is not judged: to open a file in it fails.
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
