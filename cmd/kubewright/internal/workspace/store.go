package workspace

import (
	"context"
	"io/fs"
	"os"
	"slices"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/examples"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

// StoreAlone returns the state for a command that needs no configuration. If the configuration
// cannot be parsed, the last place of the state is used.
func (a *Workspace) StoreAlone() (*statefile.Store, error) {
	settings := a.Settings()
	if err := a.Report(settings.Misplaced); err != nil {
		return nil, err
	}
	if settings.Backend != nil || settings.Whole || a.StatePath != "" {
		return a.OpenStore(settings.Backend)
	}
	last, err := a.LastPlace()
	if err == nil {
		last, err = a.Reopen(last)
	}
	if err != nil {
		return nil, err
	}
	a.Place = last
	return statefile.NewStore(a.Paths(), last.Backend), nil
}

// ReadState reads the state; its error says what to do if there is none.
func (a *Workspace) ReadState(ctx context.Context) (*state.State, error) {
	store, err := a.StoreAlone()
	if err != nil {
		return nil, err
	}
	loaded, err := store.Load(ctx)
	if err != nil {
		return nil, err
	}
	if loaded.State == nil {
		return nil, a.NoState(store.Place())
	}
	return loaded.State, nil
}

// NoState returns the error for a missing state, for a command that needs one.
func (a *Workspace) NoState(path string) error {
	return console.Failure(diag.Diagnostics{diag.Errorf("No state", "There is none at %s: nothing was applied from here yet. "+
		"With -chdir or -state another one is read.%s", path, a.BeginningHint())})
}

// BeginningHint says how to begin, below an empty line, if the folder has no configuration;
// otherwise it is empty.
func (a *Workspace) BeginningHint() string {
	entries, err := os.ReadDir(a.Folder())
	if err != nil || slices.ContainsFunc(entries, func(en fs.DirEntry) bool { return hasSuffix(en.Name(), configSuffixes) }) {
		return ""
	}
	return "\n\nThe folder has no configuration. " + examples.Hint()
}
