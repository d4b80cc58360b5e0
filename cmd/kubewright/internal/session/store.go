package session

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

// writable refuses a command that writes the state if its file is read-only: the user who made
// it so does not want it replaced, and replacing needs only write permission on the folder.
func (s *Session) writable(operation string) error {
	info, err := os.Stat(s.Store.State)
	if err != nil || !s.Store.Local() || operation == PullOperation || info.Mode().Perm()&0o200 != 0 {
		return nil
	}
	return console.Failure(diag.Diagnostics{diag.Errorf("State is read-only", "%s is write-protected (mode %04o), so that its owner does not want it changed. Nothing was changed, neither there nor on any host. "+
		"To have kubewright write it again:\n\n  chmod u+w %s", s.Store.Place(), info.Mode().Perm(), state.ShellWord(s.Store.Place()))})
}

// overtaken warns about a run that was interrupted here and after which another run wrote the
// state, or the state disappeared. A command that writes moves the journal of that run aside.
func (s *Session) overtaken(loaded statefile.Loaded) error {
	entries := loaded.Overtaken
	if len(entries) == 0 {
		return nil
	}
	what := "The next command that writes moves it out of the way."
	if s.Store.Held() != nil {
		to, err := s.Store.SetAside(entries)
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
	why := "was written by another run since then"
	if loaded.State == nil {
		why = "is gone, and the journal alone is a part of it. If you restore that state, restore the journal as well"
	}
	s.Print(diag.Diagnostics{diag.Warningf("Journal is obsolete", "The journal of run %s, which was interrupted here at %s, is not used: "+
		"the state at %s %s. What that run did is found on the hosts. %s",
		run.Run, run.Time.Format(time.RFC3339), s.Store.Place(), why, what)})
	return nil
}

// Present says which parts of a state this folder has; empty if it has none.
func (s *Session) Present(loaded statefile.Loaded) string {
	switch st := loaded.State; {
	case st != nil && st.Serial > 0:
		return fmt.Sprintf("%s holds a state (lineage %s, serial %d)", s.Store.Place(), st.Lineage, st.Serial)
	case st != nil:
		return fmt.Sprintf("%s holds the beginning of a state (lineage %s), of a first run that was interrupted and that kubewright apply resumes", s.Store.Journal, st.Lineage)
	case len(loaded.Overtaken) > 0:
		return fmt.Sprintf("%s holds what a run did that was interrupted, and the state that it began with is gone", s.Store.Journal)
	}
	return ""
}

// unlockTime limits how long releasing a lock may take.
const unlockTime = 15 * time.Second

// unlock releases the state's lock.
func (s *Session) unlock() {
	ctx, cancel := context.WithTimeout(context.Background(), unlockTime)
	defer cancel()
	logState(s, "unlocking the state")
	if held := s.Store.Held(); held != nil && !s.Buried {
		held.PassOn()
	}
	if err := s.Store.Unlock(ctx); err != nil && !s.Store.Local() {
		s.Print(diag.Diagnostics{diag.Warningf("Lock was not given back", "%s", fmt.Sprintf("%s. The next command of yours in this folder gives it back; "+
			"for others it stays until then, or until kubewright force-unlock %s.", console.Sentence(err.Error()), s.RunID))})
	}
}

// OpenState holds the state's lock for a command that works on the state alone: it observes no
// host and reads only the encryption block of the configuration. The caller closes the session.
func OpenState(ctx context.Context, a *workspace.Workspace, o Options, operation string) (*Session, error) {
	if err := a.Report(a.Settings().Wrong); err != nil {
		return nil, err
	}
	store, err := a.StoreAlone()
	if err != nil {
		return nil, err
	}
	s := &Session{Workspace: a, Opts: o, Store: store}
	if err := s.Hold(ctx, operation); err != nil {
		s.Close()
		return nil, err
	}
	loaded, err := s.Store.Load(ctx)
	if err == nil {
		err = s.overtaken(loaded)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.Recorded, s.Leftover = loaded.State, len(loaded.Recovered) > 0
	return s, nil
}

// RequireState refuses to continue without a state.
func (s *Session) RequireState() error {
	if s.Recorded == nil {
		return s.NoState(s.Store.Place())
	}
	return nil
}

// Rewrite writes what the state has learned. The previous state is kept as a backup.
func (s *Session) Rewrite(ctx context.Context, learned state.Learned) error {
	st, err := statefile.Fold(s.Recorded, []state.Entry{{Kind: state.EntryDone, Learned: learned}})
	if err != nil {
		return err
	}
	st.ToolVersion = console.Version
	return s.Save(ctx, st)
}

// Save writes a state and empties the journal, which the state includes.
func (s *Session) Save(ctx context.Context, st *state.State) error {
	journal, err := s.Store.OpenJournal()
	if err != nil {
		return err
	}
	defer journal.Close()
	return s.Store.Save(context.WithoutCancel(ctx), st, journal)
}

// PullOperation holds the lock and writes nothing.
const PullOperation = "state pull"
