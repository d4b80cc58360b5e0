package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
)

// reason returns an error as a clause.
func reason(err error) string {
	var diags *console.FindingsError
	if errors.As(err, &diags) && len(diags.List) > 0 {
		return diags.List[0].Summary
	}
	return strings.TrimSuffix(console.WithoutPath(err).Error(), ".")
}

// verifyTime bounds how long showing a saved plan waits for the state.
const verifyTime = 10 * time.Second

// verified warns of a saved plan that is shown where the state's key does not authenticate
// it. No host is contacted.
func verified(ctx context.Context, a *workspace.Workspace, f planfile.File) {
	warn := func(format string, args ...any) {
		a.Print(diag.Diagnostics{diag.Warningf(session.NotVerified, format, args...)})
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	var key state.Key
	store, err := a.StoreAlone()
	if err == nil {
		loaded, cannot := store.Load(ctx)
		if err = cannot; err == nil && loaded.State != nil {
			key = state.NewKey(loaded.State.FingerprintKey)
		}
	}
	switch cause := f.Authenticate(key); {
	case cause == nil:
	case errors.Is(cause, planfile.ErrEarlierFormat):
		warn("It was saved by an earlier version of kubewright, which did not authenticate plans: whoever could write to the file could change it. Apply refuses it.")
	case err != nil:
		warn("The state, whose key authenticates it, could not be read: %v. Whoever could write to the file could change it.", reason(err))
	case errors.Is(cause, planfile.ErrNoMAC) && key.IsZero():
		warn("It was saved before there was a state, whose key authenticates a saved plan. Apply carries it out only with -approve=DIGEST, or with a yes at the prompt.")
	case key.IsZero():
		warn("There is no state at %s, whose key would authenticate it. Whoever could write to the file could change it.", store.Place())
	default:
		warn("It does not count as a plan of the state at %s: it was saved with the key of another state, or changed since it was saved. Apply refuses it.", store.Place())
	}
}
