package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// IsStream reports whether a name is that of an open descriptor of this process, as a shell
// writes for <(command) and >(command), of the terminal, or of /dev/null. Other names of pipes
// and devices are no streams, since any user can create them.
func IsStream(path string) bool {
	path = filepath.Clean(path)
	_, ok := descriptor(path)
	return ok || path == os.DevNull || path == terminal
}

const terminal = "/dev/tty"

// descriptor returns the number in the name of an open descriptor.
func descriptor(path string) (int, bool) {
	switch path {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, folder := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if text, ok := strings.CutPrefix(path, folder); ok {
			n, err := strconv.Atoi(text)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}

// readerTime is how long a named pipe may lack a reader: reader and writer are started at the
// same time, and either may be first.
const readerTime = 3 * time.Second

// openPipe opens a named pipe for writing, and waits for a reader up to readerTime.
func openPipe(path string) (*os.File, error) {
	fail := func(err error) (*os.File, error) { return nil, &fs.PathError{Op: "open", Path: path, Err: err} }
	shared, err := sharedFolder(filepath.Dir(path))
	if err != nil {
		return fail(err)
	}
	var f *os.File
	for deadline := time.Now().Add(readerTime); ; time.Sleep(20 * time.Millisecond) {
		f, err = os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
		if !errors.Is(err, unix.ENXIO) {
			break
		}
		if time.Now().After(deadline) {
			return fail(errUnread)
		}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.Mode().Type() != fs.ModeNamedPipe:
		err = &NotRegular{info.Mode().Type()} // it was replaced after the check
	case shared:
		err = ours(info)
	}
	if err != nil {
		_ = f.Close()
		return fail(err)
	}
	return f, nil
}

// openStream opens a stream of IsStream. A descriptor is duplicated: opening it a second time
// would start at the beginning of a file, and is not possible for a socket.
func openStream(path string, flag int) (*os.File, error) {
	n, ok := descriptor(filepath.Clean(path))
	if !ok {
		return os.OpenFile(path, flag|unix.O_NOCTTY, 0)
	}
	fail := func(err error) (*os.File, error) { return nil, &fs.PathError{Op: "open", Path: path, Err: err} }
	fd, err := unix.FcntlInt(uintptr(n), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return fail(err)
	}
	f := os.NewFile(uintptr(fd), path)
	info, err := f.Stat()
	if err == nil {
		if mode := info.Mode(); mode.IsDir() || mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0 {
			err = &NotRegular{mode.Type()}
		}
	}
	if err != nil {
		_ = f.Close()
		return fail(err)
	}
	return f, nil
}
