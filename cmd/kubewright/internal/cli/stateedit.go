package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/stateview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/encryption"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/spf13/cobra"
)

// recordedTarget returns the targets of an address of the command line, which the state has to
// have. The name of a node block alone refers to all of its nodes.
func recordedTarget(st *state.State, text string) ([]state.Target, error) {
	t, err := state.ParseTarget(text)
	if err != nil {
		return nil, console.Failure(diag.Diagnostics{diag.Errorf("Invalid address", "%s", console.Sentence(err.Error()))})
	}
	all := session.KnownTargets(&config.Config{}, st)
	var out []state.Target
	var names []string
	for _, k := range all {
		names = append(names, k.String())
		if block := state.NodeTarget(k.Name).String(); k.Keyed && k.Type == state.TypeNode && !slices.Contains(names, block) {
			names = append(names, block)
		}
		if config.Covers(t, k) {
			out = append(out, k)
		}
	}
	if len(out) == 0 {
		return nil, console.Failure(diag.Diagnostics{diag.Errorf("Not in the state", "The state has no %s.%s It has %s.", t, console.DidYouMean("", text, names), console.ListOf(names))})
	}
	return out, nil
}

func stateMoveCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	var dry bool
	cmd := &cobra.Command{
		Use: "mv SOURCE DESTINATION", Short: "Give a cluster, node or addon in the state another name", Args: takes(2, 2),
		Long: "mv is for when a block or a key has another name by now: what the state has under SOURCE it has under\n" +
			"DESTINATION from then on. Nothing is changed on any host; the next plan brings their marks up to date.\n" +
			"A moved block in the configuration does the same, for every user of the configuration, and is shown in the plan.",
		Example:           "  kubewright state mv 'node.worker[\"w2\"]' 'node.batch[\"w2\"]'\n  kubewright state mv -dry-run node.worker node.batch\n  kubewright state mv cluster.prod cluster.live",
		ValidArgsFunction: recordedTargets(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := session.OpenState(cmd.Context(), a, o, "state mv")
			if err != nil {
				return err
			}
			defer s.Close()
			if err := s.RequireState(); err != nil {
				return err
			}
			moves, err := renamings(s, args[0], args[1])
			if err != nil {
				return err
			}
			if !dry {
				if err := s.Rewrite(cmd.Context(), state.Learned{Moved: moves}); err != nil {
					return err
				}
			}
			return stateview.Moved(s.Stdout, moves, dry, s.Options())
		},
	}
	lockFlag(&o, cmd.Flags())
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be moved")
	return cmd
}

// renamings returns the renamings that a moved block from one address to the other would make.
func renamings(s *session.Session, source, destination string) ([]state.Moved, error) {
	const summary = "Cannot be moved"
	from, err := recordedTarget(s.Recorded, source)
	if err != nil {
		return nil, err
	}
	block, _ := state.ParseTarget(source)
	to, err := state.ParseTarget(destination)
	switch {
	case err != nil:
		return nil, console.Failure(diag.Diagnostics{diag.Errorf(summary, "%v.", err)})
	case to.Type != block.Type:
		return nil, console.Failure(diag.Diagnostics{diag.Errorf(summary, "%s is of the kind %s and %s of the kind %s. What is moved keeps its kind.", block, block.Type, to, to.Type)})
	case to == block:
		return nil, console.Failure(diag.Diagnostics{diag.Errorf(summary, "Source and destination are both %s.", to)})
	case to.Type == state.TypeAddon && to.Name != block.Name:
		return nil, console.Failure(diag.Diagnostics{diag.Errorf(summary, "%s is an addon of another cluster. It is in the cluster where it is, and stays there.", to)})
	case len(from) > 1 && to.Keyed:
		return nil, console.Failure(diag.Diagnostics{diag.Errorf(summary, "%s is %d nodes, and %s is one. Move them one by one, or all to another block as in node.%s.", block, len(from), to, to.Name)})
	}
	moves := []state.Moved{{From: block, To: to}}
	if to.Type != state.TypeAddon {
		var diags diag.Diagnostics
		if moves, diags = ownership.Moves(&config.Config{Moves: []config.Move{{From: block, To: to}}}, s.Recorded); diags.HasErrors() {
			moves = []state.Moved{{From: block, To: to}}
		}
	}
	have := session.KnownTargets(&config.Config{}, s.Recorded)
	for _, m := range moves {
		if slices.Contains(have, m.To) {
			return nil, console.Failure(diag.Diagnostics{diag.Errorf(summary, "The state has %s as well, so that %s cannot become it. If the two are one by now, forget one of them first with\n\n  kubewright state rm %s", m.To, m.From, state.ShellWord(m.To.String()))})
		}
	}
	return moves, nil
}

func stateRemoveCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	var dry, approved bool
	cmd := &cobra.Command{
		Use: "rm ADDRESS…", Short: "Forget clusters, nodes or addons without touching them", Args: takes(1, -1),
		Long: "rm takes addresses out of the state, a cluster with its nodes and addons. Their hosts and what runs there\n" +
			"stay as they are. What is still in the configuration is found again by the next plan; what is not is\n" +
			"unmanaged. A removed block in the configuration does the same, and is shown in the plan.",
		Example:           "  kubewright state rm 'node.worker[\"w2\"]'\n  kubewright state rm -dry-run cluster.old",
		ValidArgsFunction: recordedTargets(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := session.OpenState(cmd.Context(), a, o, "state rm")
			if err != nil {
				return err
			}
			defer s.Close()
			if err := s.RequireState(); err != nil {
				return err
			}
			left, err := addressed(s.Recorded, args)
			if err != nil {
				return err
			}
			if err := stateview.Forgetting(s.Stdout, forgets(s, left), dry, s.Options()); err != nil || dry {
				return err
			}
			if !approved {
				if err := agree(cmd.Context(), s, "state rm"); err != nil {
					return err
				}
			}
			if err := s.Rewrite(cmd.Context(), state.Learned{Left: left}); err != nil {
				return err
			}
			return stateview.Forgot(s.Stdout, len(left), s.Options())
		},
	}
	o.Input = true
	lockFlag(&o, cmd.Flags())
	cmd.Flags().BoolVar(&o.Input, "input", true, "ask on a terminal")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be forgotten")
	cmd.Flags().BoolVar(&approved, "auto-approve", false, "do not ask")
	return cmd
}

// addressed returns the targets that the addresses refer to; a cluster includes its nodes and
// addons.
func addressed(st *state.State, addresses []string) ([]state.Target, error) {
	var out []state.Target
	for _, text := range addresses {
		targets, err := recordedTarget(st, text)
		if err != nil {
			return nil, err
		}
		for _, t := range targets {
			out = append(out, t)
			if t.Type != state.TypeCluster {
				continue
			}
			for _, k := range session.KnownTargets(&config.Config{}, st) {
				if n := st.Nodes[k]; n != nil && n.Cluster == t.Name || k.Type == state.TypeAddon && k.Name == t.Name {
					out = append(out, k)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b state.Target) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out), nil
}

// forgets returns the targets that the state forgets, and which of them are protected.
func forgets(s *session.Session, targets []state.Target) []stateview.Forgotten {
	var out []stateview.Forgotten
	for _, t := range targets {
		f := stateview.Forgotten{Target: t}
		if n := s.Recorded.Nodes[t]; n != nil {
			f.Note, f.Protected = n.Address+", "+n.Role, n.PreventDestroy
		}
		if c := s.Recorded.Clusters[t.Name]; c != nil && t.Type == state.TypeCluster {
			f.Note, f.Protected = "Kubernetes "+strings.TrimPrefix(c.Version, "v"), c.PreventDestroy
		}
		out = append(out, f)
	}
	return out
}

// agree asks; only yes approves.
func agree(ctx context.Context, s *session.Session, command string) error {
	if !session.CanAsk(s.Workspace, s.Opts) {
		return fmt.Errorf("%w: run kubewright %s with -auto-approve when the above is what you want", console.ErrNoTerminal, command)
	}
	ui.Ask(s.Stdout, "yes", s.Options())
	line, err := s.ReadLine(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || strings.TrimSpace(line) != "yes" {
		if err := ui.NothingChanged(s.Stdout, s.Options()); err != nil {
			return err
		}
		return console.Exit(console.ExitError)
	}
	return nil
}

func stateEncryptCommand(a *workspace.Workspace) *cobra.Command {
	return resealing(a, "encrypt", "Encrypt a state that was there before the encryption block",
		"encrypt writes the state, and the older states beside it, as the encryption block of the configuration\n"+
			"says, once: what is plain from before, or encrypted to recipients of before. From then on a state\n"+
			"that is not encrypted is refused. What was saved or copied elsewhere is not found: plans, copies.",
		func(block *config.Encryption) *diag.Diagnostic {
			if block != nil {
				return nil
			}
			return diag.Errorf("No recipients", "The configuration does not say whom the state is encrypted to. Write\n\n  kubewright {\n    encryption {\n      recipients = [\"age1…\"]\n    }\n  }")
		})
}

func stateDecryptCommand(a *workspace.Workspace) *cobra.Command {
	return resealing(a, "decrypt", "Keep a state without encryption from here on",
		"decrypt writes the state, and the older states beside it, in plain text: anyone who can read the files can\n"+
			"read them. Take the encryption block out of the configuration first.",
		func(block *config.Encryption) *diag.Diagnostic {
			if block == nil {
				return nil
			}
			return diag.Errorf("Encryption is configured", "The configuration says that the state is encrypted, and the next command would refuse one that is not. Take the block out first.").At(block.Source)
		})
}

// resealing makes the two commands that rewrite everything that is kept.
func resealing(a *workspace.Workspace, name, short, long string, refuse func(*config.Encryption) *diag.Diagnostic) *cobra.Command {
	var o session.Options
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long, Args: takes(0, 0), Example: "  kubewright state " + name,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings := a.Settings()
			if err := a.Report(settings.Wrong); err != nil {
				return err
			}
			if d := refuse(settings.Encryption); d != nil {
				return console.Failure(diag.Diagnostics{d})
			}
			a.Sealer = a.NewCodec(settings.Encryption, true)
			s, err := session.OpenState(cmd.Context(), a, o, "state "+name)
			if err != nil {
				return err
			}
			defer s.Close()
			if err := s.RequireState(); err != nil {
				return err
			}
			if settings.Encryption == nil && !s.Leftover {
				if sealed, err := s.Store.Any(cmd.Context(), encryption.Sealed); err != nil || !sealed {
					if err == nil {
						_, err = fmt.Fprintln(s.Stdout, "The state is not encrypted, nor is an older one beside it: nothing was written.")
					}
					return err
				}
			}
			if err := s.Save(cmd.Context(), s.Recorded); err != nil {
				return err
			}
			older, refused, err := s.Store.Reseal()
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(s.Stdout, "The state and %d older states beside it are rewritten, %sed.\n", older, name); err != nil || len(refused) == 0 {
				return err
			}
			return unreadable(refused)
		},
	}
	lockFlag(&o, cmd.Flags())
	return cmd
}

// unreadable lists the older states that were left as they are.
func unreadable(refused []*statefile.Error) error {
	var files []string
	for _, e := range refused {
		files = append(files, fmt.Sprintf("  %s: %s", e.Path, e.Problem))
	}
	return console.Failure(diag.Diagnostics{diag.Errorf("Some backups could not be re-encrypted", "Everything else is written. These backups could not be read here:\n\n%s\n\n"+
		"Run the same command again with the private keys that can read them beside the present one (-age-identity=FILE for each), or delete them if they are not needed.", strings.Join(files, "\n"))})
}
