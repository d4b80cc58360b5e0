package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state/statefile"
)

// readSuffixes are those of the files that make a configuration.
var readSuffixes = []string{".hcl", ".hcl.json", ".kwvars", ".kwvars.json"}

// spares refuses to write what a flag asks for over the configuration or the
// state: a slip of the fingers must not cost them.
func (a *app) spares(flag, name string) error {
	if name == "" {
		return nil
	}
	if err := spared("-"+flag+"="+name, a.named(name), a.paths()); err != nil {
		return err
	}
	return placed("-"+flag+"="+name, name, a.named(name))
}

// placed refuses a file that has no folder to be in, or is there and no regular one.
// Folders are not made: a slip of the fingers would put what is secret where nobody
// looks for it.
func placed(asks, name, path string) error {
	if err := regular(asks, path); err != nil {
		return err
	}
	if info, err := os.Stat(filepath.Dir(path)); err == nil && info.IsDir() {
		return nil
	}
	return &diagError{diag.Diagnostics{diag.Errorf("Folder is not there", "%s is to be written into a folder, and %s is none. Nothing was written. Make that folder first (mkdir -p), or correct the name.", asks, filepath.Dir(name))}}
}

// apart refuses to write lines over the plan that the same command saves, or carries out.
func (a *app) apart(lines, plan string) error {
	if lines == "" || plan == "" || filepath.Clean(a.named(lines)) != filepath.Clean(a.named(plan)) {
		return nil
	}
	return &diagError{diag.Diagnostics{diag.Errorf("File would be written over", "-json-into=%s names the file of the plan as well. Nothing was written. Give another name.", lines)}}
}

// regular refuses what is there and is no regular file. What is written gets its name
// when it is whole: it would take the place of a device or a pipe that others use, or of
// a link, and not go where that leads.
func regular(asks, path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().IsRegular() {
		return nil // of what cannot be looked at, writing says why
	}
	mode := info.Mode()
	if to, err := os.Stat(path); err == nil && !to.Mode().IsRegular() {
		mode = to.Mode()
	}
	what, instead := "no regular file", "Name one, or a file that is not there yet."
	switch {
	case mode.IsDir():
		what, instead = "a folder", "Name a file, in it or elsewhere."
	case mode&fs.ModeSymlink != 0:
		what, instead = "a symbolic link", "Name the file that it leads to, or another one."
	}
	return &diagError{diag.Diagnostics{diag.Errorf("Not a file", "%s is %s. Nothing was written. %s", asks, what, instead)}}
}

// stream tells a pipe or a terminal, as /dev/fd/3 may be: lines go through it as they
// are written, and nothing takes its place.
func stream(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) != 0
}

// openPrivate opens a file for writing that its owner alone can read, whoever could read
// it before; flag says what becomes of what is in it. A stream stays what it is.
func openPrivate(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// spared is spares of what asks for a file, and the files of a state.
func spared(asks, path string, p statefile.Paths) error {
	path = filepath.Clean(path)
	what := ""
	if slices.ContainsFunc(readSuffixes, func(suffix string) bool { return strings.HasSuffix(path, suffix) }) {
		what = "is named as a file of a configuration"
	}
	own := []string{p.State, p.Journal, p.Lock, p.Errored}
	if slices.ContainsFunc(own, func(own string) bool { return filepath.Clean(own) == path }) || strings.HasPrefix(path, filepath.Clean(p.State)+".backup.") {
		what = "belongs to the state"
	}
	if path == filepath.Join(filepath.Dir(p.State), simFile) {
		what = "holds the simulated hosts"
	}
	if what == "" {
		return nil
	}
	return &diagError{diag.Diagnostics{diag.Errorf("File would be written over", "%s %s. Nothing was written. Give another name.", asks, what)}}
}
