package cli

import (
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

// placed refuses a file that has no folder to be in, or is one itself. Folders are
// not made: a slip of the fingers would put what is secret where nobody looks for it.
func placed(asks, name, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &diagError{diag.Diagnostics{diag.Errorf("Not a file", "%s is a folder. Nothing was written. Name a file, in it or elsewhere.", asks)}}
	}
	if info, err := os.Stat(filepath.Dir(path)); err == nil && info.IsDir() {
		return nil
	}
	return &diagError{diag.Diagnostics{diag.Errorf("Folder is not there", "%s is to be written into a folder, and %s is none. Nothing was written. Make that folder first (mkdir -p), or correct the name.", asks, filepath.Dir(name))}}
}

// spared is spares of what asks for a file, and the files of a state.
func spared(asks, path string, p statefile.Paths) error {
	path = filepath.Clean(path)
	what := ""
	if slices.ContainsFunc(readSuffixes, func(suffix string) bool { return strings.HasSuffix(path, suffix) }) {
		what = "is named as a file of a configuration"
	}
	if slices.ContainsFunc([]string{p.State, p.Journal, p.Lock, p.Errored}, func(own string) bool { return filepath.Clean(own) == path }) {
		what = "belongs to the state"
	}
	if what == "" {
		return nil
	}
	return &diagError{diag.Diagnostics{diag.Errorf("File would be written over", "%s %s. Nothing was written. Give another name.", asks, what)}}
}
