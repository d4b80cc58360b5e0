package cli

import (
	"context"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

// completedState returns the state for completions: that of this folder. Where a backend keeps
// it there is none: the Tab key makes no connection, and a configuration may come from an
// untrusted branch.
func completedState(a *workspace.Workspace) (*state.State, error) {
	settings := a.Settings()
	if a.StatePath == "" && (settings.Backend != nil || settings.Misplaced.HasErrors()) {
		return nil, nil
	}
	if !settings.Whole && a.StatePath == "" { // the configuration cannot tell
		last, err := a.LastPlace()
		if err != nil || last != nil && last.Type != workspace.LocalType {
			return nil, err
		}
	}
	loaded, err := statefile.NewStore(a.Paths(), nil).Load(context.Background())
	return loaded.State, err
}
