package status

import (
	"context"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
)

// History prints the last applies of the state, at most the given number; 0 stands for all. No
// host is contacted.
func History(ctx context.Context, a *workspace.Workspace, most int, asJSON bool) error {
	store, err := a.StoreAlone()
	if err != nil {
		return err
	}
	loaded, err := store.Load(ctx)
	if err != nil {
		return err
	}
	if loaded.State == nil {
		return a.NoState(store.Place())
	}
	holder := ""
	if lock, err := store.Backend().Holder(ctx); err == nil && lock != nil {
		holder = lock.ID
	}
	applies := listing.Applies(loaded.State, most, holder)
	if asJSON {
		return listing.HistoryJSON(a.Stdout, loaded.State, applies)
	}
	return listing.History(a.Stdout, applies, a.Options())
}
