package workspace

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state/safefile"
	"github.com/kubewright/kubewright/state/statefile"
)

// readSuffixes are those of the files that make a configuration.
var readSuffixes = []string{".hcl", ".hcl.json", ".kwvars", ".kwvars.json"}

// CheckOverwrite refuses to write what a flag asks for over the configuration or the
// state: a slip of the fingers must not cost them.
func (a *Workspace) CheckOverwrite(flag, name string) error {
	if name == "" {
		return nil
	}
	asks, path := "-"+flag+"="+name, a.Named(name)
	return cmp.Or(CheckRegular(asks, path), CheckNotOurs(asks, path, a.Folder(), a.Paths()), checkFolder(asks, name, path))
}

// checkFolder refuses a file that has no folder to be in. Folders are not made: a slip of the
// fingers would put what is secret where it is not looked for.
func checkFolder(asks, name, path string) error {
	if info, err := os.Stat(filepath.Dir(path)); err == nil && info.IsDir() {
		return nil
	}
	return console.Failure(diag.Diagnostics{diag.Errorf("Folder is not there", "%s is to be written into a folder, and %s is none. Nothing was written. Make that folder first (mkdir -p), or correct the name.", asks, filepath.Dir(name))})
}

// CheckDistinct refuses to write lines over the plan that the same command saves, or carries out.
func (a *Workspace) CheckDistinct(lines, plan string) error {
	if lines == "" || plan == "" || !sameFile(a.Named(lines), a.Named(plan)) {
		return nil
	}
	return console.Failure(diag.Diagnostics{diag.Errorf("File would be written over", "-json-into=%s names the file of the plan as well. Nothing was written. Give another name.", lines)})
}

// CheckRegular refuses what is there and is no regular file. What is written gets its name
// when it is whole: it would take the place of a device or a pipe that others use, or of
// a link, and not go where that leads.
func CheckRegular(asks, path string) error {
	err := safefile.Replaceable(path)
	refused, isNone := errors.AsType[*safefile.NotRegular](err)
	switch {
	case err == nil:
		return nil // what cannot be examined fails when it is written
	case !isNone:
		return console.Failure(diag.Diagnostics{diag.Errorf("File cannot be written", "%s: %s. Nothing was written.", asks, safefile.Cause(err))})
	}
	mode := refused.Mode
	if to, err := os.Stat(path); err == nil && !to.Mode().IsRegular() {
		mode = to.Mode()
	}
	what, instead := "no regular file", "Name one, or a file that is not there yet. What is there is "+safefile.Kind(mode)+"."
	switch {
	case mode.IsDir():
		what, instead = "a folder", "Name a file, in it or elsewhere."
	case mode&fs.ModeSymlink != 0:
		what, instead = "a symbolic link", "Name the file that it leads to, or another one."
	}
	return console.Failure(diag.Diagnostics{diag.Errorf("Not a file", "%s is %s. Nothing was written. %s", asks, what, instead)})
}

// CheckNotOurs is spares of what asks for a file; folder is that of the configuration. By links
// a file has other names than its own: it is told by each of them.
func CheckNotOurs(asks, path, folder string, p statefile.Paths) error {
	clean := filepath.Clean(path)
	for _, name := range append([]string{clean, resolved(path)}, otherNames(path, folder, filepath.Dir(p.State), p.Snapshots)...) {
		what := belongs(name, p)
		if what == "" { // to a state of the folder that it is in
			what = belongs(name, statefile.DirPaths(filepath.Dir(name)))
		}
		if what == "" {
			continue
		}
		if name != clean {
			asks += " leads to " + name + ", which"
		}
		return console.Failure(diag.Diagnostics{diag.Errorf("File would be written over", "%s %s. Nothing was written. Give another name.", asks, what)})
	}
	return nil
}

// belongs says of what a file is by its name: of a configuration, or of a state; "" of
// neither.
func belongs(name string, p statefile.Paths) string {
	named := func(own string, behind ...string) bool {
		for _, own := range []string{filepath.Clean(own), settled(own), resolved(own)} {
			if name == own || slices.ContainsFunc(behind, func(b string) bool { return strings.HasPrefix(name, own+b) }) {
				return true
			}
		}
		return false
	}
	dir := filepath.Dir(p.State)
	switch {
	case slices.ContainsFunc(readSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) }):
		return "is named as a file of a configuration"
	case named(p.State, ".backup."), named(p.Journal, ".overtaken."), named(p.Errored, ".overtaken."), named(p.Lock), named(filepath.Join(dir, usedName)):
		return "belongs to the state"
	case named(filepath.Join(dir, SimFile)):
		return "holds the simulated hosts"
	}
	if _, err := os.Lstat(name); err == nil && named(p.Snapshots, string(filepath.Separator)) {
		return "is among the snapshots that are kept"
	}
	return ""
}

// resolved returns where a name leads to in the end, be there a file or none yet.
func resolved(path string) string {
	for range maxLinks {
		path = settled(path)
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Dir(path) + string(filepath.Separator) + to
		}
		path = to
	}
	return path
}

// maxLinks is how many links lead to one another at most, as in Linux.
const maxLinks = 40

// settled returns a name in the folder where its own leads to.
func settled(path string) string {
	dir, base := filepath.Split(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return filepath.Join(real, base)
	}
	return filepath.Clean(path)
}

// sameFile reports whether two names are of one file, or would be.
func sameFile(a, b string) bool {
	if resolved(a) == resolved(b) {
		return true
	}
	x, err := os.Stat(a)
	y, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(x, y)
}

// otherNames returns those that a file which is there has in these folders.
func otherNames(path string, folders ...string) []string {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	var out []string
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder) // one that is not there has none
		for _, e := range entries {
			if name := filepath.Join(folder, e.Name()); sameFile(path, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
