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

// storeAlone returns the state for a command that needs no configuration. Where that
// cannot be parsed, the state is where it was last.
func (a *workspace) storeAlone() (*statefile.Store, error) {
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

// completedState returns the state for completions: that of this folder. Where a backend keeps
// it there is none: the Tab key makes no connection, and a configuration may come from an
// untrusted branch.
func (a *workspace) completedState() (*state.State, error) {
	settings := a.settings()
	if a.statePath == "" && (settings.Backend != nil || settings.Misplaced.HasErrors()) {
		return nil, nil
	}
	if !settings.Whole && a.statePath == "" { // the configuration cannot tell
		last, err := a.lastUsed()
		if err != nil || last != nil && last.Type != localType {
			return nil, err
		}
	}
	loaded, err := statefile.NewStore(a.paths(), nil).Load(context.Background())
	return loaded.State, err
}

// writable refuses to begin what writes the state while its file is read-only: who made
// it so does not want it replaced, which needs nothing but the folder.
func (s *session) writable(operation string) error {
	info, err := os.Stat(s.store.State)
	if err != nil || !s.store.Local() || operation == pullOperation || info.Mode().Perm()&0o200 != 0 {
		return nil
	}
	return failure(diag.Diagnostics{diag.Errorf("State is read-only", "%s is write-protected (mode %04o), so that its owner does not want it changed. Nothing was changed, neither there nor on any host. "+
		"To have kubewright write it again:\n\n  chmod u+w %s", s.store.Place(), info.Mode().Perm(), state.ShellWord(s.store.Place()))})
}

// overtaken tells of a run that was cut short here and after which somebody else
// has written the state, or the state is gone. A command that writes moves its journal
// out of the way.
func (s *session) overtaken(loaded statefile.Loaded) error {
	entries := loaded.Overtaken
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
	why := "was written by somebody else since then"
	if loaded.State == nil {
		why = "is gone, and the journal alone is a part of it. Whoever puts that state back puts the journal back as well"
	}
	s.print(diag.Diagnostics{diag.Warningf("Journal was overtaken", "The journal of run %s, which was cut short here at %s, is not used: "+
		"the state at %s %s. What that run did is found on the hosts. %s",
		run.Run, run.Time.Format(time.RFC3339), s.store.Place(), why, what)})
	return nil
}

// present says what this folder has of a state; empty when it has nothing.
func (s *session) present(loaded statefile.Loaded) string {
	switch st := loaded.State; {
	case st != nil && st.Serial > 0:
		return fmt.Sprintf("%s holds a state (lineage %s, serial %d)", s.store.Place(), st.Lineage, st.Serial)
	case st != nil:
		return fmt.Sprintf("%s holds the beginning of a state (lineage %s), of a first run that was cut short and that kubewright apply goes on with", s.store.Journal, st.Lineage)
	case len(loaded.Overtaken) > 0:
		return fmt.Sprintf("%s holds what a run did that was cut short, and the state that it began with is gone", s.store.Journal)
	}
	return ""
}

// unlockTime bounds giving a lock back.
const unlockTime = 15 * time.Second

// unlock gives the state's lock back.
func (s *session) unlock() {
	ctx, cancel := context.WithTimeout(context.Background(), unlockTime)
	defer cancel()
	logState(s, "unlocking the state")
	if held := s.store.Held(); held != nil && !s.buried {
		held.PassOn()
	}
	if err := s.store.Unlock(ctx); err != nil && !s.store.Local() {
		s.print(diag.Diagnostics{diag.Warningf("Lock was not given back", "%s", fmt.Sprintf("%s. The next command of yours in this folder gives it back; "+
			"for others it stays until then, or until kubewright force-unlock %s.", sentence(err.Error()), s.runID))})
	}
}
