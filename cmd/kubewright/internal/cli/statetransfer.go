package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/safefile"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/spf13/cobra"
)

func statePullCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	var decrypt bool
	cmd := &cobra.Command{
		Use: "pull", Short: "Print the state, for state push and for programs", Args: takes(0, 0),
		Long: "pull prints the state as one JSON document, with what the journal has and the file not yet. Where the\n" +
			"state is encrypted it is printed so; with -decrypt it is printed as it is, in plain text\n" +
			"who sees the output. state push takes both.",
		Example: "  kubewright state pull > state.json\n  kubewright state pull -decrypt | jq .serial",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.QuietStdout = true
			s, err := session.OpenState(cmd.Context(), a, o, session.PullOperation)
			if err != nil {
				return err
			}
			defer s.Close()
			if err := s.RequireState(); err != nil {
				return err
			}
			b, err := statefile.Encode(s.Recorded)
			if err == nil && !decrypt {
				b, err = printable(s, b)
			}
			if err != nil {
				return err
			}
			_, err = a.Stdout.Write(b)
			return err
		},
	}
	lockFlag(&o, cmd.Flags())
	cmd.Flags().BoolVar(&decrypt, "decrypt", false, "print it as it is, and not encrypted")
	return cmd
}

// printable returns a state as it is kept: an encrypted state is not printed as plain text just
// because its recipients are no longer configured.
func printable(s *session.Session, b []byte) ([]byte, error) {
	kept, err := s.Codec().Seal(b)
	if refused := (*state.CodecError)(nil); errors.As(err, &refused) {
		return nil, &statefile.Error{
			Op: "print state", Path: s.Store.Place(), Kind: refused.Kind, Problem: refused.Problem,
			Remedy: "give -decrypt to have it printed in plain text, " + refused.Remedy,
		}
	}
	return kept, err
}

func statePushCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	var force bool
	cmd := &cobra.Command{
		Use: "push FILE", Short: "Put a state from a file into the place of the present one", Args: takes(1, 1),
		Long: "push writes the state in FILE, or on stdin for -, over the present one, which is kept as a backup. It is\n" +
			"refused when FILE is damaged or of a newer kubewright, and without -force when it is of another lineage,\n" +
			"or not newer than the present one. The state gets a serial above both. No host is touched.",
		Example: "  kubewright state push state.json\n  kubewright state push -force kubewright.state.json.backup.41",
		RunE: func(cmd *cobra.Command, args []string) error {
			return push(cmd.Context(), a, o, args[0], force)
		},
	}
	lockFlag(&o, cmd.Flags())
	cmd.Flags().BoolVar(&force, "force", false, "also when it is of another lineage or older")
	return cmd
}

func push(ctx context.Context, a *workspace.Workspace, o session.Options, file string, force bool) error {
	b, err := readPushed(ctx, a, file)
	if err != nil {
		return err
	}
	s, err := session.OpenState(ctx, a, o, "state push")
	if err != nil {
		return err
	}
	defer s.Close()
	// A pushed state may be plain: the user who pushes it says so.
	plain := s.Store.Paths
	plain.Codec = a.NewCodec(nil, true)
	pushed, err := statefile.Decode(plain, file, b)
	if err != nil {
		return err
	}
	same, err := pushable(s, pushed, file, force)
	if err != nil {
		return err
	}
	if same {
		_, err := fmt.Fprintln(a.Stdout, "The state is as in the file already: nothing was written.")
		return err
	}
	if s.Recorded != nil && pushed.Lineage == s.Recorded.Lineage {
		// Hosts refuse a run whose token is lower than one they have seen.
		pushed.RunToken = state.LaterRun(pushed.RunToken, s.Recorded.RunToken)
	}
	if err := replace(ctx, s, pushed); err != nil {
		return err
	}
	return a.Printf("Pushed the state of lineage %s: %d nodes, %d items; it has serial %d now.\nRun kubewright plan to see what differs from the configuration.\n",
		pushed.Lineage, len(pushed.Nodes), len(pushed.Items), pushed.Serial)
}

// readPushed reads the file that push names, or stdin.
func readPushed(ctx context.Context, a *workspace.Workspace, file string) ([]byte, error) {
	if file == "-" {
		return a.ReadAll(ctx)
	}
	b, err := safefile.ReadGiven(a.Named(file), backend.MaxState)
	if errors.Is(err, fs.ErrNotExist) {
		err = console.Failure(diag.Diagnostics{diag.Errorf("No such file", "%s is not there. A state is written to a file with kubewright state pull > FILE, and older ones are beside the state as *.backup.SERIAL.", file)})
	}
	return b, err
}

// pushable refuses a state that must not replace the present one; same reports whether they are
// equal.
func pushable(s *session.Session, pushed *state.State, file string, force bool) (same bool, err error) {
	now := s.Recorded
	if now == nil {
		return false, nil
	}
	a, err := statefile.Encode(pushed)
	if err != nil {
		return false, err
	}
	b, err := statefile.Encode(now)
	if err != nil {
		return false, err
	}
	const way = "Nothing was written. With -force it is pushed all the same, and the present state is kept as a backup."
	refuse := func(format string, args ...any) error {
		return console.Failure(diag.Diagnostics{diag.Errorf("State is not pushed", format+" "+way, args...)})
	}
	switch {
	case bytes.Equal(a, b) && !s.Leftover:
		return true, nil
	case force:
		return false, nil
	case pushed.Lineage != now.Lineage:
		return false, refuse("%s is of lineage %s, and the present state of %s: they are of different clusters, and the hosts of the one do not belong to the other.", file, pushed.Lineage, now.Lineage)
	case pushed.Serial < now.Serial:
		return false, refuse("%s has serial %d, and the present state %d: it does not know what was done since.", file, pushed.Serial, now.Serial)
	case pushed.Serial == now.Serial && !bytes.Equal(a, b):
		return false, refuse("%s has serial %d as the present state has, and says something else: it was changed by hand, or the two have gone different ways.", file, pushed.Serial)
	case s.Leftover:
		return false, refuse("A run did not get to its end, and the journal holds what it did: %s does not know it.", file)
	}
	return false, nil
}

// replace writes a state over the present one. It writes the entries of the journal first, so
// that the backup has them.
func replace(ctx context.Context, s *session.Session, st *state.State) error {
	if s.Leftover {
		if err := s.Save(ctx, s.Recorded); err != nil {
			return err
		}
	}
	return s.Store.Replace(context.WithoutCancel(ctx), st)
}
