package cli

import (
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
	return spared("-"+flag+"="+name, a.named(name), a.paths())
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
