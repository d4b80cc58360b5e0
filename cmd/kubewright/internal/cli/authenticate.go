package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
)

// Summaries about saved plans that the state's key does not authenticate.
const (
	notAuthentic = "Saved plan is not authentic"
	notApproved  = "Saved plan is not approved"
	notVerified  = "Saved plan was not verified"
)

// authenticate refuses a saved plan that the state's key does not authenticate, as soon as
// the state was read and before any host is contacted.
//
// The key is made by the first apply, and a plan writes no state: a plan of a cluster that
// has none cannot be authenticated. Such a file counts only where its plan is approved on
// the command line or at the prompt (approvable), and where the state has no key yet or
// says that its first run has begun this very plan.
func (s *session) authenticate() error {
	f := s.opts.saved
	if f == nil {
		return nil
	}
	cause := f.Authenticate(s.lastingKey())
	if cause == nil {
		return nil
	}
	if errors.Is(cause, planfile.ErrNoMAC) && (s.lastingKey().IsZero() || hasBegun(s.recorded, f)) {
		s.unauthenticated = true
		s.savedDigest = planfile.Digest(f.Plan)[:planfile.ShortDigest]
		return nil
	}
	if err := ofAnother(s.recorded, f.Plan, s.unauthenticated); err != nil { // which says more of an honest mistake
		return err
	}
	file := state.ShellWord(s.savedPlan)
	why := "It was saved with the key of another state, or changed since it was saved"
	switch {
	case errors.Is(cause, planfile.ErrEarlierFormat):
		why = "It was saved by an earlier version of kubewright, which did not authenticate plans"
	case errors.Is(cause, planfile.ErrNoMAC):
		why = "It has no authentication code, and plans of this state have one"
	}
	return s.failed(diag.Diagnostics{diag.Errorf(notAuthentic, "%s does not count as a plan of the state at %s. %s. Nothing was changed. Plan again, and have that plan reviewed:\n\n  kubewright plan -out=%s",
		file, s.store.Place(), why, file)})
}

// lastingKey returns the key of the state as it is kept; zero before an apply has written one.
func (s *session) lastingKey() state.Key {
	if s.firstKey != "" {
		return state.Key{}
	}
	return s.key()
}

// hasBegun reports whether the state knows a run that has begun the plan of a file, which
// was made before there was a state.
func hasBegun(recorded *state.State, f *planfile.File) bool {
	last, _ := applied(recorded, f.Plan)
	return last != nil && f.Plan.Serial == 0
}

// approvable refuses a plan that is neither authenticated nor approved, where no question can be
// asked.
func (s *applying) approvable(by approval) error {
	if by.given() || s.canAsk(s.opts) {
		return nil
	}
	file := state.ShellWord(s.savedPlan)
	return s.failed(diag.Diagnostics{diag.Errorf(notApproved, "%s was saved before there was a state, whose key authenticates a saved plan: whoever could write to the file could change it. Nothing was changed. "+
		"Give the digest of the plan that was reviewed, which kubewright plan and kubewright show print:\n\n  kubewright apply -approve=DIGEST %s", file, file)})
}

// reason returns an error as a clause.
func reason(err error) string {
	var diags *diagError
	if errors.As(err, &diags) && len(diags.list) > 0 {
		return diags.list[0].Summary
	}
	return strings.TrimSuffix(bare(err).Error(), ".")
}

// verifyTime bounds how long showing a saved plan waits for the state.
const verifyTime = 10 * time.Second

// verified warns of a saved plan that is shown where the state's key does not authenticate
// it. No host is contacted.
func (a *workspace) verified(ctx context.Context, f planfile.File) {
	warn := func(format string, args ...any) {
		a.print(diag.Diagnostics{diag.Warningf(notVerified, format, args...)})
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	var key state.Key
	store, err := a.storeAlone()
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
