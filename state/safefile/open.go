package safefile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Open opens an own file for reading.
func Open(path string) (*os.File, error) { return open(path, os.O_RDONLY, 0, false) }

// OpenLinked opens a linked file for reading.
func OpenLinked(path string) (*os.File, error) { return open(path, os.O_RDONLY, 0, true) }

// Create creates an own file, and fails with fs.ErrExist if its name is taken.
func Create(path string, perm fs.FileMode) (*os.File, error) {
	return open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm, false)
}

// Edit opens an own file for reading and writing, and creates it with mode 0600 if it is missing.
func Edit(path string) (*os.File, error) { return open(path, os.O_RDWR|os.O_CREATE, 0o600, false) }

// Change opens an existing own file for writing.
func Change(path string) (*os.File, error) { return open(path, os.O_WRONLY, 0, false) }

// Append opens a file of lines, such as a log, for appending. Like Rewrite it makes the file
// private to its owner, and accepts a stream.
func Append(path string) (*os.File, error) { return private(path, os.O_APPEND) }

// Rewrite opens a file of lines and empties it. It makes the file private to its owner (0600).
// Streams are accepted: those of IsStream, and a named pipe that has a reader and, in a shared
// folder, belongs to this user or root.
func Rewrite(path string) (*os.File, error) {
	f, err := private(path, 0)
	if err != nil || IsStream(path) {
		return f, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = f.Truncate(0)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Overwrite replaces the content of an own file, in place and without waiting for the disk.
func Overwrite(path string, b []byte) error {
	f, err := Rewrite(path)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

func private(path string, flag int) (*os.File, error) {
	if IsStream(path) {
		return openStream(path, os.O_WRONLY)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeNamedPipe {
		return openPipe(path)
	}
	f, err := open(path, os.O_WRONLY|os.O_CREATE|flag, 0o600, false)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// open opens a regular file. Its errors are *fs.PathError.
func open(path string, flag int, perm fs.FileMode, follow bool) (*os.File, error) {
	fail := func(err error) (*os.File, error) { return nil, &fs.PathError{Op: "open", Path: path, Err: err} }
	stat := os.Stat
	if !follow {
		stat, flag = os.Lstat, flag|unix.O_NOFOLLOW
	}
	var shared bool
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		var err error
		if shared, err = sharedFolder(filepath.Dir(path)); err != nil {
			return fail(err)
		}
	}
	// The check comes before the open as well: an open can block, and where fs.protected_regular
	// and fs.protected_fifos apply, the kernel answers "permission denied" without the reason.
	if info, err := stat(path); err == nil && flag&os.O_EXCL == 0 {
		if err := acceptable(info, follow, shared); err != nil {
			return fail(err)
		}
	}
	f, err := os.OpenFile(path, flag|unix.O_NONBLOCK|unix.O_NOCTTY, perm)
	switch {
	case errors.Is(err, unix.ELOOP) && !follow:
		return fail(&NotRegular{fs.ModeSymlink}) // it was replaced after the check
	case err != nil:
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = acceptable(info, follow, shared)
	}
	if err != nil {
		_ = f.Close()
		return fail(err)
	}
	return f, nil
}

// acceptable refuses anything but a regular file, and in a shared folder a file of another user.
func acceptable(info fs.FileInfo, follow, shared bool) error {
	if err := usable(info, follow); err != nil || !shared {
		return err
	}
	return ours(info)
}

// usable refuses anything but a regular file. A linked file may also be /dev/null.
func usable(info fs.FileInfo, follow bool) error {
	if info.Mode().IsRegular() {
		return nil
	}
	if null, err := os.Stat(os.DevNull); follow && err == nil && os.SameFile(info, null) {
		return nil
	}
	return &NotRegular{info.Mode().Type()}
}

// ours refuses a file that belongs neither to this user nor to root.
func ours(info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 && int(s.Uid) != os.Geteuid() {
		return &Foreign{s.Uid}
	}
	return nil
}

// Read reads an own file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) { return whole(limit)(Open(path)) }

// ReadLinked reads a linked file of at most limit bytes.
func ReadLinked(path string, limit int64) ([]byte, error) { return whole(limit)(OpenLinked(path)) }

// ReadGiven reads a given file of at most limit bytes.
func ReadGiven(path string, limit int64) ([]byte, error) {
	if IsStream(path) {
		return whole(limit)(openStream(path, os.O_RDONLY))
	}
	return ReadLinked(path, limit)
}

// ReadBelow reads a regular file of at most limit bytes in a folder, by its name there. Links
// that stay in the folder are followed.
func ReadBelow(folder, name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return whole(limit)(OpenBelow(root, name))
}

// OpenBelow opens a regular file in an open folder for reading, as ReadBelow does.
func OpenBelow(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err != nil && strings.HasSuffix(err.Error(), "path escapes from parent") { // package os exports no error value for it
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("it is a symbolic link that leads out of its folder")}
	}
	if err != nil {
		return nil, err
	}
	if err := usable(info, false); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = usable(info, false)
	}
	if err != nil {
		_ = f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f, nil
}

// whole reads an opened file and closes it.
func whole(limit int64) func(*os.File, error) ([]byte, error) {
	return func(f *os.File, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		return ReadAll(f, limit)
	}
}

// ReadAll reads an open file of at most limit bytes.
func ReadAll(f *os.File, limit int64) ([]byte, error) {
	tooLarge := &fs.PathError{Op: "read", Path: f.Name(), Err: errTooLarge(limit)}
	var b bytes.Buffer
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		if info.Size() > limit {
			return nil, tooLarge
		}
		b.Grow(int(info.Size()) + bytes.MinRead) // what is there, and room to find its end
	}
	_, err := b.ReadFrom(io.LimitReader(f, limit+1))
	if err == nil && int64(b.Len()) > limit {
		return nil, tooLarge
	}
	return b.Bytes(), err
}
