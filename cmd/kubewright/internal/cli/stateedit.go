package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/stateview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/encryption"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/spf13/cobra"
)

// held holds the state's lock for a command that has to do with the state alone:
// no host is looked at, and of the configuration only the encryption is read. The
// caller closes the session.
func (a *app) held(ctx context.Context, o planOptions, operation string) (*session, error) {
	if err := a.failed(a.settings().Wrong); err != nil {
		return nil, err
	}
	store, err := a.storeAlone()
	if err != nil {
		return nil, err
	}
	s := &session{app: a, opts: o, store: store}
	if err := s.hold(ctx, operation); err != nil {
		s.close()
		return nil, err
	}
	loaded, err := s.store.Load(ctx)
	if err == nil {
		err = s.overtaken(loaded)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	s.recorded, s.leftover = loaded.State, len(loaded.Recovered) > 0
	return s, nil
}

// there refuses to go on without a state.
func (s *session) there() error {
	if s.recorded == nil {
		return noState(s.store.Place())
	}
	return nil
}

func noState(path string) error {
	return &diagError{diag.Diagnostics{diag.Errorf("No state", "There is none at %s: nothing was applied from here yet. "+
		"With -chdir or -state another one is read.", path)}}
}

// rewrite writes what the state has learned. The one before is kept as a backup.
func (s *session) rewrite(ctx context.Context, learned state.Learned) error {
	st, err := statefile.Fold(s.recorded, []state.Entry{{Kind: state.EntryDone, Learned: learned}})
	if err != nil {
		return err
	}
	st.ToolVersion = Version
	return s.save(ctx, st)
}

// save writes a state and empties the journal, which is in it.
func (s *session) save(ctx context.Context, st *state.State) error {
	journal, err := s.store.OpenJournal()
	if err != nil {
		return err
	}
	defer journal.Close()
	return s.store.Save(context.WithoutCancel(ctx), st, journal)
}

// recordedTarget returns an address of the command line that the state has to have. A
// node block's name alone is each of its nodes.
func recordedTarget(st *state.State, text string) ([]state.Target, error) {
	t, err := state.ParseTarget(text)
	if err != nil {
		return nil, &diagError{diag.Diagnostics{diag.Errorf("Invalid address", "%s", sentence(err.Error()))}}
	}
	all := known(&config.Config{}, st)
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
		return nil, &diagError{diag.Diagnostics{diag.Errorf("Not in the state", "The state has no %s.%s It has %s.", t, didYouMean("", text, names), listed(names))}}
	}
	return out, nil
}

func (a *app) stateMoveCommand() *cobra.Command {
	var o planOptions
	var dry bool
	cmd := &cobra.Command{
		Use: "mv SOURCE DESTINATION", Short: "Give a cluster, node or addon in the state another name", Args: takes(2, 2),
		Long: "mv is for when a block or a key has another name by now: what the state has under SOURCE it has under\n" +
			"DESTINATION from then on. Nothing is changed on any host; the next plan brings their marks up to date.\n" +
			"A moved block in the configuration does the same, for everybody who has it, and is shown in the plan.",
		Example:           "  kubewright state mv 'node.worker[\"w2\"]' 'node.batch[\"w2\"]'\n  kubewright state mv -dry-run node.worker node.batch\n  kubewright state mv cluster.prod cluster.live",
		ValidArgsFunction: a.recordedTargets,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.held(cmd.Context(), o, "state mv")
			if err != nil {
				return err
			}
			defer s.close()
			if err := s.there(); err != nil {
				return err
			}
			moves, err := s.moves(args[0], args[1])
			if err != nil {
				return err
			}
			if !dry {
				if err := s.rewrite(cmd.Context(), state.Learned{Moved: moves}); err != nil {
					return err
				}
			}
			return stateview.Moved(s.Stdout, moves, dry, s.options())
		},
	}
	o.lockFlag(cmd.Flags())
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be moved")
	return cmd
}

// moves returns the renamings from one address to another: those that a moved block
// would make.
func (s *session) moves(source, destination string) ([]state.Moved, error) {
	const summary = "Cannot be moved"
	from, err := recordedTarget(s.recorded, source)
	if err != nil {
		return nil, err
	}
	block, _ := state.ParseTarget(source)
	to, err := state.ParseTarget(destination)
	switch {
	case err != nil:
		return nil, &diagError{diag.Diagnostics{diag.Errorf(summary, "%v.", err)}}
	case to.Type != block.Type:
		return nil, &diagError{diag.Diagnostics{diag.Errorf(summary, "%s is of the kind %s and %s of the kind %s. What is moved keeps its kind.", block, block.Type, to, to.Type)}}
	case to == block:
		return nil, &diagError{diag.Diagnostics{diag.Errorf(summary, "Source and destination are both %s.", to)}}
	case to.Type == state.TypeAddon && to.Name != block.Name:
		return nil, &diagError{diag.Diagnostics{diag.Errorf(summary, "%s is an addon of another cluster. It is in the cluster where it is, and stays there.", to)}}
	case len(from) > 1 && to.Keyed:
		return nil, &diagError{diag.Diagnostics{diag.Errorf(summary, "%s is %d nodes, and %s is one. Move them one by one, or all to another block as in node.%s.", block, len(from), to, to.Name)}}
	}
	moves := []state.Moved{{From: block, To: to}}
	if to.Type != state.TypeAddon {
		var diags diag.Diagnostics
		if moves, diags = ownership.Moves(&config.Config{Moves: []config.Move{{From: block, To: to}}}, s.recorded); diags.HasErrors() {
			moves = []state.Moved{{From: block, To: to}}
		}
	}
	have := known(&config.Config{}, s.recorded)
	for _, m := range moves {
		if slices.Contains(have, m.To) {
			return nil, &diagError{diag.Diagnostics{diag.Errorf(summary, "The state has %s as well, so that %s cannot become it. If the two are one by now, forget one of them first with\n\n  kubewright state rm %s", m.To, m.From, state.ShellWord(m.To.String()))}}
		}
	}
	return moves, nil
}

func (a *app) stateRemoveCommand() *cobra.Command {
	var o planOptions
	var dry, approved bool
	cmd := &cobra.Command{
		Use: "rm ADDRESS…", Short: "Forget clusters, nodes or addons without touching them", Args: takes(1, -1),
		Long: "rm takes addresses out of the state, a cluster with its nodes and addons. Their hosts and what runs there\n" +
			"stay as they are. What is still in the configuration is found again by the next plan; what is not is\n" +
			"nobody's any more. A removed block in the configuration does the same, and is shown in the plan.",
		Example:           "  kubewright state rm 'node.worker[\"w2\"]'\n  kubewright state rm -dry-run cluster.old",
		ValidArgsFunction: a.recordedTargets,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.held(cmd.Context(), o, "state rm")
			if err != nil {
				return err
			}
			defer s.close()
			if err := s.there(); err != nil {
				return err
			}
			left, err := spokenOf(s.recorded, args)
			if err != nil {
				return err
			}
			if err := stateview.Forgetting(s.Stdout, s.forgets(left), dry, s.options()); err != nil || dry {
				return err
			}
			if !approved {
				if err := s.agree(cmd.Context(), "state rm"); err != nil {
					return err
				}
			}
			if err := s.rewrite(cmd.Context(), state.Learned{Left: left}); err != nil {
				return err
			}
			return stateview.Forgot(s.Stdout, len(left), s.options())
		},
	}
	o.input = true
	o.lockFlag(cmd.Flags())
	cmd.Flags().BoolVar(&o.input, "input", true, "ask on a terminal")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be forgotten")
	cmd.Flags().BoolVar(&approved, "auto-approve", false, "do not ask")
	return cmd
}

// spokenOf returns the targets that the addresses refer to; a cluster is meant with its
// nodes and addons.
func spokenOf(st *state.State, addresses []string) ([]state.Target, error) {
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
			for _, k := range known(&config.Config{}, st) {
				if n := st.Nodes[k]; n != nil && n.Cluster == t.Name || k.Type == state.TypeAddon && k.Name == t.Name {
					out = append(out, k)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b state.Target) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out), nil
}

// forgets tells what is forgotten, and which of it was protected.
func (s *session) forgets(targets []state.Target) []stateview.Forgotten {
	var out []stateview.Forgotten
	for _, t := range targets {
		f := stateview.Forgotten{Target: t}
		if n := s.recorded.Nodes[t]; n != nil {
			f.Note, f.Protected = n.Address+", "+n.Role, n.PreventDestroy
		}
		if c := s.recorded.Clusters[t.Name]; c != nil && t.Type == state.TypeCluster {
			f.Note, f.Protected = "Kubernetes "+strings.TrimPrefix(c.Version, "v"), c.PreventDestroy
		}
		out = append(out, f)
	}
	return out
}

// agree asks; only yes goes on.
func (s *session) agree(ctx context.Context, command string) error {
	if !s.canAsk(s.opts) {
		return fmt.Errorf("%w: run kubewright %s with -auto-approve when the above is what you want", errNobody, command)
	}
	ui.Ask(s.Stdout, "yes", s.options())
	line, err := s.line(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || strings.TrimSpace(line) != "yes" {
		if err := ui.NothingChanged(s.Stdout, s.options()); err != nil {
			return err
		}
		return exit(exitError)
	}
	return nil
}

func (a *app) stateEncryptCommand() *cobra.Command {
	return a.resealing("encrypt", "Encrypt a state that was there before the encryption block",
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

func (a *app) stateDecryptCommand() *cobra.Command {
	return a.resealing("decrypt", "Keep a state without encryption from here on",
		"decrypt writes the state, and the older states beside it, so that everybody can read them who can read\n"+
			"the files. Take the encryption block out of the configuration first.",
		func(block *config.Encryption) *diag.Diagnostic {
			if block == nil {
				return nil
			}
			return diag.Errorf("Encryption is configured", "The configuration says that the state is encrypted, and the next command would refuse one that is not. Take the block out first.").At(block.Source)
		})
}

// resealing makes the two commands that write all that is kept again.
func (a *app) resealing(name, short, long string, refuse func(*config.Encryption) *diag.Diagnostic) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long, Args: takes(0, 0), Example: "  kubewright state " + name,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings := a.settings()
			if err := a.failed(settings.Wrong); err != nil {
				return err
			}
			if d := refuse(settings.Encryption); d != nil {
				return &diagError{diag.Diagnostics{d}}
			}
			a.sealer = a.newCodec(settings.Encryption, true)
			s, err := a.held(cmd.Context(), o, "state "+name)
			if err != nil {
				return err
			}
			defer s.close()
			if err := s.there(); err != nil {
				return err
			}
			if settings.Encryption == nil && !s.leftover {
				if sealed, err := s.store.Any(cmd.Context(), encryption.Sealed); err != nil || !sealed {
					if err == nil {
						_, err = fmt.Fprintln(s.Stdout, "The state is not encrypted, nor is an older one beside it: nothing was written.")
					}
					return err
				}
			}
			if err := s.save(cmd.Context(), s.recorded); err != nil {
				return err
			}
			older, refused, err := s.store.Reseal()
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(s.Stdout, "The state and %d older states beside it are written anew, %sed.\n", older, name); err != nil || len(refused) == 0 {
				return err
			}
			return unreadable(refused)
		},
	}
	o.lockFlag(cmd.Flags())
	return cmd
}

// unreadable says which older states are as they were.
func unreadable(refused []*statefile.Error) error {
	var files []string
	for _, e := range refused {
		files = append(files, fmt.Sprintf("  %s: %s", e.Path, e.Problem))
	}
	return &diagError{diag.Diagnostics{diag.Errorf("Older states are as they were", "All else is written. These could not be read here:\n\n%s\n\n"+
		"Run the same command again with the private keys that can read them beside the present one (-age-identity=FILE for each), or delete them if nobody needs them.", strings.Join(files, "\n"))}}
}

var _ state.Codec = (*encryption.Codec)(nil)
