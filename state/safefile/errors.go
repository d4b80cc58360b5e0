package safefile

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/kubewright/kubewright/state"
)

// NotRegular is the error for a name that does not denote a regular file.
type NotRegular struct {
	// Mode is the type of the file with that name.
	Mode fs.FileMode
}

func (e *NotRegular) Error() string { return "it is " + Kind(e.Mode) + ", not a regular file" }

// Kind returns the type of a file in words, with its article.
func Kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "of an unknown type"
}

// Exposed is the error for a folder in which every user of the machine can replace files.
type Exposed struct {
	Folder string
	Mode   fs.FileMode
}

func (e *Exposed) Error() string {
	return fmt.Sprintf("every user of this machine can replace files in its folder %s (mode %04o): run chmod o-w %s, or use another folder",
		e.Folder, e.Mode.Perm(), state.ShellWord(e.Folder))
}

// Foreign is the error for a file of another user in a folder where every user can create files,
// such as /tmp.
type Foreign struct {
	// UID is the owner of the file.
	UID uint32
}

func (e *Foreign) Error() string {
	return fmt.Sprintf("it belongs to another user (uid %d), in a folder where every user of this machine can make files: use another file", e.UID)
}

// errUnread is the error for a named pipe without a reader.
var errUnread = errors.New("it is a named pipe that no process reads")

// errTooLarge is the error for a file that exceeds the limit for reading it.
type errTooLarge int64

func (e errTooLarge) Error() string {
	if e >= 1<<20 {
		return fmt.Sprintf("it is larger than %d MiB", int64(e)>>20)
	}
	return fmt.Sprintf("it is larger than %d bytes", int64(e))
}

// IsTooLarge reports whether a file was not read because of its size.
func IsTooLarge(err error) bool {
	_, ok := errors.AsType[errTooLarge](err)
	return ok
}

// Cause returns the error of this package in err, without operation and path; nil when there is
// none.
func Cause(err error) error {
	if e, ok := errors.AsType[*NotRegular](err); ok {
		return e
	}
	if e, ok := errors.AsType[*Exposed](err); ok {
		return e
	}
	if e, ok := errors.AsType[*Foreign](err); ok {
		return e
	}
	if e, ok := errors.AsType[errTooLarge](err); ok {
		return e
	}
	return nil
}
