package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

// storeAlone is the state for a command that needs no configuration. Where that
// cannot be parsed, the state is where it was last.
func (a *app) storeAlone() (*statefile.Store, error) {
	settings := a.settings()
	if err := a.failed(settings.Misplaced); err != nil {
		return nil, err
	}
	if settings.Backend != nil || settings.Whole || a.statePath != "" {
		return a.openStore(settings.Backend)
	}
	last, err := a.lastUsed()
	if err == nil {
		last, err = a.again(last)
	}
	if err != nil {
		return nil, err
	}
	a.place = last
	return statefile.NewStore(a.paths(), last.backend), nil
}

// completionTime bounds what a shell waits for.
const completionTime = 2 * time.Second

// completedState is the state for completions.
func (a *app) completedState() (statefile.Loaded, error) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	store, err := a.storeAlone()
	if err != nil {
		return statefile.Loaded{}, err
	}
	return store.Load(ctx)
}

// writable refuses to begin what writes the state while its file is read-only: who made
// it so does not want it replaced, which needs nothing but the folder.
func (s *session) writable(operation string) error {
	info, err := os.Stat(s.store.State)
	if err != nil || !s.store.Local() || operation == pullOperation || info.Mode().Perm()&0o200 != 0 {
		return nil
	}
	return &diagError{diag.Diagnostics{diag.Errorf("State is read-only", "%s is write-protected (mode %04o), so that its owner does not want it changed. Nothing was changed, neither there nor on any host. "+
		"To have kubewright write it again:\n\n  chmod u+w %s", s.store.Place(), info.Mode().Perm(), state.ShellWord(s.store.Place()))}}
}

// overtaken tells of a run that was cut short here and after which somebody else
// has written the state. A command that writes moves its journal out of the way.
func (s *session) overtaken(entries []state.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	what := "The next command that writes moves it out of the way."
	if s.store.Held() != nil {
		to, err := s.store.SetAside(entries)
		if err != nil {
			return err
		}
		what = "It was moved to " + to + "."
	}
	var run state.Entry
	for _, e := range entries {
		if e.Kind == state.EntryRun {
			run = e
		}
	}
	s.print(diag.Diagnostics{diag.Warningf("Journal was overtaken", "The journal of run %s, which was cut short here at %s, is not used: "+
		"the state at %s was written by somebody else since then. What that run did is found on the hosts. %s",
		run.Run, run.Time.Format(time.RFC3339), s.store.Place(), what)})
	return nil
}

// unlockTime bounds giving a lock back.
const unlockTime = 15 * time.Second

// unlock gives the state's lock back.
func (s *session) unlock() {
	ctx, cancel := context.WithTimeout(context.Background(), unlockTime)
	defer cancel()
	s.logState("unlocking the state")
	if held := s.store.Held(); held != nil && !s.buried {
		held.PassOn()
	}
	if err := s.store.Unlock(ctx); err != nil && !s.store.Local() {
		s.print(diag.Diagnostics{diag.Warningf("Lock was not given back", "%s", fmt.Sprintf("%s. The next command of yours in this folder gives it back; "+
			"for others it stays until then, or until kubewright force-unlock %s.", sentence(err.Error()), s.runID))})
	}
}
