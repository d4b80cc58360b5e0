package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/safefile"
	"github.com/kubewright/kubewright/state/statefile"
)

// pullOperation holds the lock, and writes nothing.
const pullOperation = "state pull"

func (a *workspace) statePullCommand() *cobra.Command {
	var o planOptions
	var decrypt bool
	cmd := &cobra.Command{
		Use: "pull", Short: "Print the state, for state push and for programs", Args: takes(0, 0),
		Long: "pull prints the state as one JSON document, with what the journal has and the file not yet. Where the\n" +
			"state is encrypted it is printed so; with -decrypt it is printed as it is, for everybody to read\n" +
			"who sees the output. state push takes both.",
		Example: "  kubewright state pull > state.json\n  kubewright state pull -decrypt | jq .serial",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.quietStdout = true
			s, err := a.held(cmd.Context(), o, pullOperation)
			if err != nil {
				return err
			}
			defer s.close()
			if err := s.there(); err != nil {
				return err
			}
			b, err := statefile.Encode(s.recorded)
			if err == nil && !decrypt {
				b, err = s.printable(b)
			}
			if err != nil {
				return err
			}
			_, err = a.Stdout.Write(b)
			return err
		},
	}
	o.lockFlag(cmd.Flags())
	cmd.Flags().BoolVar(&decrypt, "decrypt", false, "print it as it is, and not encrypted")
	return cmd
}

// printable returns a state as it is kept: one that was encrypted is not printed plain because
// nobody says any more to whom.
func (s *session) printable(b []byte) ([]byte, error) {
	kept, err := s.codec().Seal(b)
	if refused := (*state.CodecError)(nil); errors.As(err, &refused) {
		return nil, &statefile.Error{
			Op: "print state", Path: s.store.Place(), Kind: refused.Kind, Problem: refused.Problem,
			Remedy: "give -decrypt to have it printed for everybody to read, " + refused.Remedy,
		}
	}
	return kept, err
}

func (a *workspace) statePushCommand() *cobra.Command {
	var o planOptions
	var force bool
	cmd := &cobra.Command{
		Use: "push FILE", Short: "Put a state from a file into the place of the present one", Args: takes(1, 1),
		Long: "push writes the state in FILE, or on stdin for -, over the present one, which is kept as a backup. It is\n" +
			"refused when FILE is damaged or of a newer kubewright, and without -force when it is of another lineage,\n" +
			"or not newer than the present one. The state gets a serial above both. No host is touched.",
		Example: "  kubewright state push state.json\n  kubewright state push -force kubewright.state.json.backup.41",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.push(cmd.Context(), o, args[0], force)
		},
	}
	o.lockFlag(cmd.Flags())
	cmd.Flags().BoolVar(&force, "force", false, "also when it is of another lineage or older")
	return cmd
}

func (a *workspace) push(ctx context.Context, o planOptions, file string, force bool) error {
	b, err := a.readPushed(ctx, file)
	if err != nil {
		return err
	}
	s, err := a.held(ctx, o, "state push")
	if err != nil {
		return err
	}
	defer s.close()
	// What is pushed may be plain: to say so by hand is to say so.
	plain := s.store.Paths
	plain.Codec = a.newCodec(nil, true)
	pushed, err := statefile.Decode(plain, file, b)
	if err != nil {
		return err
	}
	same, err := s.pushable(pushed, file, force)
	if err != nil {
		return err
	}
	if same {
		_, err := fmt.Fprintln(a.Stdout, "The state is as in the file already: nothing was written.")
		return err
	}
	if s.recorded != nil && pushed.Lineage == s.recorded.Lineage {
		// Hosts refuse a run with a lower token than they have seen.
		pushed.RunToken = state.LaterRun(pushed.RunToken, s.recorded.RunToken)
	}
	if err := s.replace(ctx, pushed); err != nil {
		return err
	}
	return a.say("Pushed the state of lineage %s: %d nodes, %d items; it has serial %d now.\nRun kubewright plan to see what differs from the configuration.\n",
		pushed.Lineage, len(pushed.Nodes), len(pushed.Items), pushed.Serial)
}

// readPushed reads the file of push, or stdin.
func (a *workspace) readPushed(ctx context.Context, file string) ([]byte, error) {
	if file == "-" {
		return a.everything(ctx)
	}
	b, err := safefile.ReadGiven(a.named(file), backend.MaxState)
	if errors.Is(err, fs.ErrNotExist) {
		err = failure(diag.Diagnostics{diag.Errorf("No such file", "%s is not there. A state is written to a file with kubewright state pull > FILE, and older ones are beside the state as *.backup.SERIAL.", file)})
	}
	return b, err
}

// pushable refuses a state that the present one should not give way to; same reports
// whether it is the present one.
func (s *session) pushable(pushed *state.State, file string, force bool) (same bool, err error) {
	now := s.recorded
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
		return failure(diag.Diagnostics{diag.Errorf("State is not pushed", format+" "+way, args...)})
	}
	switch {
	case bytes.Equal(a, b) && !s.leftover:
		return true, nil
	case force:
		return false, nil
	case pushed.Lineage != now.Lineage:
		return false, refuse("%s is of lineage %s, and the present state of %s: they are of different clusters, and the hosts of the one do not belong to the other.", file, pushed.Lineage, now.Lineage)
	case pushed.Serial < now.Serial:
		return false, refuse("%s has serial %d, and the present state %d: it does not know what was done since.", file, pushed.Serial, now.Serial)
	case pushed.Serial == now.Serial && !bytes.Equal(a, b):
		return false, refuse("%s has serial %d as the present state has, and says something else: it was changed by hand, or the two have gone different ways.", file, pushed.Serial)
	case s.leftover:
		return false, refuse("A run did not get to its end, and the journal holds what it did: %s does not know it.", file)
	}
	return false, nil
}

// replace writes a state over the present one. What the journal has is written first,
// so that the backup has it.
func (s *session) replace(ctx context.Context, st *state.State) error {
	if s.leftover {
		if err := s.save(ctx, s.recorded); err != nil {
			return err
		}
	}
	return s.store.Replace(context.WithoutCancel(ctx), st)
}
