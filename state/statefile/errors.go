package statefile

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/safefile"
)

// Kinds of failure; test for them with errors.Is on an *Error. In each of these cases the file is
// left as it is.
var (
	// ErrDamaged: the file was truncated, changed by hand, or its disk failed.
	ErrDamaged = errors.New("damaged")
	// ErrNewer: a newer kubewright wrote the file.
	ErrNewer = errors.New("written by a newer kubewright")
	// ErrForeign: the file belongs to another lineage.
	ErrForeign = errors.New("of another lineage")
	// ErrMoved: the file is not the one that was read; another run wrote in between.
	ErrMoved = backend.ErrMoved
	// ErrLocked: another run holds the lock; the error is a *LockedError.
	ErrLocked = backend.ErrLocked
)

// Error is a failure of one of the files.
type Error struct {
	// Op is the failed operation: "read state", "write state", "append to journal" …
	Op   string
	Path string
	// Line counts from 1; 0 stands for the whole file.
	Line int
	// Kind is one of the Err values, or nil for a failure of the file system.
	Kind error
	// Problem says what is wrong and why, Remedy what to do about it. Without a Remedy the text
	// suggests one for a permission error, or for a name that does not denote a regular file.
	Problem string
	Remedy  string
	// Err is the cause, or nil.
	Err error
}

// Error returns all of it in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("cannot " + e.Op + " " + e.Path)
	if e.Problem != "" {
		b.WriteString(": " + e.Problem)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	switch {
	case e.Remedy != "":
		b.WriteString("; " + e.Remedy)
	case errors.Is(e.Err, fs.ErrPermission):
		b.WriteString("; run kubewright as a user who may do that, or let this one with chown or chmod")
	case errors.As(e.Err, new(*safefile.NotRegular)):
		b.WriteString("; kubewright makes this file itself: find out where that comes from, and remove it")
	}
	return b.String()
}

// Unwrap makes the kind and the cause visible to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	var out []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}
