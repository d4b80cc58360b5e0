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

// configSuffixes are the suffixes of files of the language, and readSuffixes those of all files
// that a configuration reads by their name.
var (
	configSuffixes = []string{".hcl", ".hcl.json"}
	readSuffixes   = append([]string{".kwvars", ".kwvars.json"}, configSuffixes...)
)

// hasSuffix reports whether a name ends with one of the suffixes.
func hasSuffix(name string, suffixes []string) bool {
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}

// CheckOverwrite refuses to write the file that a flag names over the configuration or the
// state: a typo must not cost them.
func (a *Workspace) CheckOverwrite(flag, name string) error {
	if name == "" {
		return nil
	}
	asks, path := "-"+flag+"="+name, a.Named(name)
	return cmp.Or(CheckRegular(asks, path), CheckNotOurs(asks, path, a.Folder(), a.Paths()), checkFolder(asks, name, path))
}

// checkFolder refuses a file whose folder does not exist. Folders are not created: after a
// typo, a secret would end up where its owner does not expect it.
func checkFolder(asks, name, path string) error {
	if info, err := os.Stat(filepath.Dir(path)); err == nil && info.IsDir() {
		return nil
	}
	return console.Failure(diag.Diagnostics{diag.Errorf("Folder is not there", "%s is to be written into a folder, and %s is none. Nothing was written. Make that folder first (mkdir -p), or correct the name.", asks, filepath.Dir(name))})
}

// CheckDistinct refuses to write JSON lines over the plan that the same command saves or
// applies.
func (a *Workspace) CheckDistinct(lines, plan string) error {
	if lines == "" || plan == "" || !sameFile(a.Named(lines), a.Named(plan)) {
		return nil
	}
	return console.Failure(diag.Diagnostics{diag.Errorf("File would be written over", "-json-into=%s names the file of the plan as well. Nothing was written. Give another name.", lines)})
}

// CheckRegular refuses an existing file that is not a regular one. A file is written under
// another name and renamed: that would replace a device or a pipe that others use, or a link
// instead of its target.
func CheckRegular(asks, path string) error {
	err := safefile.Replaceable(path)
	refused, isNone := errors.AsType[*safefile.NotRegular](err)
	switch {
	case err == nil:
		return nil // a file that cannot be examined fails when it is written
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

// CheckNotOurs refuses to write over a file of a configuration, of a state, or of the simulated
// hosts; folder is the configuration's. A file may have several names through links: each of
// them is checked.
func CheckNotOurs(asks, path, folder string, p statefile.Paths) error {
	clean := filepath.Clean(path)
	for _, name := range append([]string{clean, resolved(path)}, otherNames(path, folder, filepath.Dir(p.State), p.Snapshots)...) {
		what := belongs(name, p)
		if what == "" { // is it one of a state in its own folder?
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

// Ours reports whether a name in the folder belongs to a configuration, a state or the simulated
// hosts.
func (a *Workspace) Ours(name string) bool {
	return belongs(filepath.Join(a.Folder(), name), a.Paths()) != ""
}

// belongs says what a file belongs to by its name: a configuration, a state, the simulated
// hosts or the snapshots; empty if to none of them.
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
	case hasSuffix(name, readSuffixes):
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

// resolved returns the final target of a name, whether the file exists or not.
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

// maxLinks limits how many links are followed, as Linux does.
const maxLinks = 40

// settled returns a path with the links in its folder resolved.
func settled(path string) string {
	dir, base := filepath.Split(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return filepath.Join(real, base)
	}
	return filepath.Clean(path)
}

// sameFile reports whether two names refer to the same file, or would once it exists.
func sameFile(a, b string) bool {
	if resolved(a) == resolved(b) {
		return true
	}
	x, err := os.Stat(a)
	y, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(x, y)
}

// otherNames returns the other names of an existing file in these folders.
func otherNames(path string, folders ...string) []string {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	var out []string
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder) // a missing folder has none
		for _, e := range entries {
			if name := filepath.Join(folder, e.Name()); sameFile(path, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
