package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/spf13/cobra"
)

// initOptions are the flags of init.
type initOptions struct {
	session.Options
	migrate, reconfigure, copy bool
	example                    string
}

func initCommand(a *workspace.Workspace) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use: "init", Short: "Begin with an example, check where the state is kept, or move it", Args: takes(0, 0),
		Long: "With -example, init writes a configuration to begin with: main.hcl, kubewright.kwvars with the values of\n" +
			"its variables, a .gitignore and a workflow that checks pull requests. It writes all of them or none, never\n" +
			"over a file, and never into a folder that has a configuration or a state. The hosts are simulated until the\n" +
			"values say otherwise. The examples:\n\n" + exampleList() + "\n\n" +
			"Without it, init reads where the configuration keeps the state, looks there, and says what it found. No other\n" +
			"command needs it, until the place changes: then -migrate-state copies the state from the old place to\n" +
			"the new one, under the locks of both, and -reconfigure uses the new one as it is. The old one is\n" +
			"left as it is, and a state of another lineage or a newer one is never overwritten.",
		Example: "  kubewright init -example=ha\n  kubewright init\n  kubewright init -migrate-state\n  kubewright init -backend-config=team.backend",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("example") {
				return begin(a, cmd, o.example)
			}
			if o.migrate && o.reconfigure {
				return console.Misuse(cmd.CommandPath(), errors.New("-migrate-state takes the state along and -reconfigure does not: give one of them"))
			}
			return initialize(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.example, "example", "", "write the example with this `name` into the folder")
	_ = cmd.RegisterFlagCompletionFunc("example", completeExamples)
	_ = f.SetAnnotation("example", valuesAnnotation, []string{exampleList()})
	f.BoolVar(&o.migrate, "migrate-state", false, "copy the state from the place where it was to the configuration's")
	f.BoolVar(&o.reconfigure, "reconfigure", false, "use the configuration's place as it is, and copy nothing")
	f.BoolVar(&o.copy, "force-copy", false, "with -migrate-state: do not ask")
	f.BoolVar(&o.Input, "input", true, "ask on a terminal")
	lockFlag(&o.Options, f)
	return cmd
}

func initialize(ctx context.Context, a *workspace.Workspace, o initOptions) error {
	if a.StatePath != "" {
		return console.Misuse("kubewright init", errors.New("-state names a file for one command; init is about where the configuration keeps the state"))
	}
	settings := a.Settings()
	diags := settings.Misplaced
	if !settings.Whole && !diags.HasErrors() {
		diags = diag.Diagnostics{diag.Errorf("Configuration cannot be parsed", "So it cannot be told whether this is all that it says of where the state is kept. Nothing was changed. "+
			"To see what is wrong, run\n\n  kubewright validate")}
	}
	if err := a.Report(diags); err != nil {
		return err
	}
	now, err := a.ConfiguredPlace(settings.Backend)
	if err != nil {
		return err
	}
	last, err := a.LastPlace()
	if err != nil {
		return err
	}
	moved := a.BackendMoved(last, now)
	if moved && !o.migrate && !o.reconfigure {
		return a.BackendChanged(last, now)
	}
	to := statefile.NewStore(a.Paths(), now.Backend)
	if moved && o.migrate {
		err = migrate(ctx, a, o, last, now, to)
	} else {
		err = lookInto(ctx, a, to)
	}
	if err != nil {
		return err
	}
	return a.RememberPlace(now)
}

// lookInto says what is at the place.
func lookInto(ctx context.Context, a *workspace.Workspace, to *statefile.Store) error {
	loaded, err := to.Load(ctx)
	if err != nil {
		return err
	}
	text := "The state is kept at " + to.Place() + ".\n"
	if st := loaded.State; st != nil {
		text += described(st) + "\n"
	} else {
		text += "There is none yet: the first apply makes it.\n"
	}
	if hint := a.BeginningHint(); hint != "" {
		text += strings.TrimPrefix(hint, "\n") + "\n"
	}
	return a.Printf("%s", text)
}

func described(st *state.State) string {
	return fmt.Sprintf("Lineage %s, serial %d: %s, %s.", st.Lineage, st.Serial, ui.Plural(len(st.Clusters), "cluster"), ui.Plural(len(st.Nodes), "node"))
}

// migrate copies the state from the last place to the configured one.
func migrate(ctx context.Context, a *workspace.Workspace, o initOptions, last, now *workspace.Place, to *statefile.Store) error {
	before, err := a.Reopen(last)
	if err != nil {
		return err
	}
	from := statefile.NewStore(oldPaths(a), before.Backend)
	if !o.copy {
		question := fmt.Sprintf("The state is copied\n  from %s\n  to   %s\nand everything uses it there from then on. The old one stays where it is.", before, now)
		if err := agreed(ctx, a, o.Options, question, "-force-copy"); err != nil {
			return err
		}
	}
	unlock, err := lockBoth(ctx, a, o, from, to)
	if err != nil {
		return err
	}
	copied, err := from.CopyTo(ctx, to)
	if err = errors.Join(err, unlock()); err != nil {
		return err
	}
	text := "Copied the state to " + to.Place() + ", and read it back. "
	switch {
	case copied.State == nil:
		text = "There is no state at " + from.Place() + ", so that nothing was to copy. The state is kept at " + to.Place() + " from here on.\n"
	case !copied.Done:
		text = to.Place() + " has the state already. "
	}
	if copied.State != nil {
		text += described(copied.State) + "\n" + from.Place() + " is left as it is, and not used any more.\n"
	}
	if copied.Sealed {
		text += "It is encrypted at the new place, and not at the old one, where it and older states are yours to delete.\n"
	}
	return a.Printf("%s", text)
}

// oldPaths returns the paths of the place that a state is moved from. The state may be older
// than the encryption block: the user who moves it vouches for it, as with state encrypt.
func oldPaths(a *workspace.Workspace) statefile.Paths {
	p := a.Paths()
	if a.Sealer.Encrypts() {
		p.Codec = a.NewCodec(a.Settings().Encryption, true)
	}
	return p
}

// lockBoth takes the locks of both places of a folder's state.
func lockBoth(ctx context.Context, a *workspace.Workspace, o initOptions, from, to *statefile.Store) (unlock func() error, err error) {
	info := backend.LockInfo{ID: a.NewID(), Who: a.Who, Operation: "init -migrate-state", Time: a.Now(), PID: os.Getpid()}
	if err := from.Lock(ctx, info, o.LockTimeout); err != nil {
		return nil, err
	}
	end := context.WithoutCancel(ctx)
	if to.Local() { // it is locked by the folder's lock
		return func() error { return from.Unlock(end) }, nil
	}
	other, err := to.LockBackend(ctx, from.Held(), info, o.LockTimeout)
	if err != nil {
		return nil, errors.Join(err, from.Unlock(end))
	}
	return func() error {
		err := from.Unlock(end)
		if other != nil {
			err = errors.Join(other.Release(end), err)
		}
		return err
	}, nil
}

// agreed asks, and fails unless the answer is yes. flag is the flag that skips the question.
func agreed(ctx context.Context, a *workspace.Workspace, o session.Options, question, flag string) error {
	if !session.CanAsk(a, o) {
		return fmt.Errorf("%w: run with %s when this is what you want.\n\n%s", console.ErrNoTerminal, flag, question)
	}
	if err := a.Printf("%s\n\nOnly yes is accepted.\n\n  Enter a value: ", question); err != nil {
		return err
	}
	line, err := a.ReadLine(ctx)
	if over := ctx.Err(); over != nil {
		return over
	}
	if err != nil || strings.TrimSpace(line) != "yes" {
		_, err := fmt.Fprintln(a.Stdout, "\nCancelled. Nothing was changed.")
		return cmp.Or(err, error(console.Exit(console.ExitError)))
	}
	_, err = fmt.Fprintln(a.Stdout)
	return err
}
