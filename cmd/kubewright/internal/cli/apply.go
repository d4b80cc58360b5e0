package cli

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/planner/phases"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/spf13/cobra"
)

func (a *app) applyCommand() *cobra.Command {
	var o planOptions
	var approved bool
	cmd := &cobra.Command{
		Use: "apply", Short: "Make the clusters as the configuration says", Args: takes(0, 0),
		Long: "apply plans, shows the plan, asks, and then carries out exactly that.\n" +
			"After any failure the remedy is the same command again.",
		Example: "  kubewright apply\n  kubewright apply -auto-approve",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.apply(cmd.Context(), o, approved) },
	}
	o.planFlags(cmd.Flags())
	cmd.Flags().BoolVar(&approved, "auto-approve", false, "do not ask")
	cmd.Flags().BoolVar(&o.destroy, "destroy", false, "remove everything")
	return cmd
}

func (a *app) destroyCommand() *cobra.Command {
	var o planOptions
	var approved bool
	cmd := &cobra.Command{
		Use: "destroy", Short: "Remove the clusters and give clean hosts back", Args: takes(0, 0),
		Long: "destroy stops everything, removes what kubewright and Kubernetes made, and puts settings back\n" +
			"to what they were. The data of the clusters is lost.",
		Example: "  kubewright destroy",
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.destroy = true
			return a.apply(cmd.Context(), o, approved)
		},
	}
	o.planFlags(cmd.Flags())
	cmd.Flags().BoolVar(&approved, "auto-approve", false, "do not ask")
	return cmd
}

// apply is the seven verbs in a row.
func (a *app) apply(ctx context.Context, o planOptions, approved bool) error {
	s, err := a.open(o)
	if err != nil {
		return err
	}
	defer s.close()
	release, err := s.lock(ctx, s.operation())
	if err != nil {
		return err
	}
	defer release()
	if err := s.plan(ctx); err != nil {
		return err
	}
	if err := s.show(false); err != nil {
		return err
	}
	if len(s.result.Plan.Steps) == 0 {
		return s.settle(ctx)
	}
	if !approved {
		if err := s.confirm(); err != nil {
			return err
		}
	}
	return s.execute(ctx)
}

func (s *session) operation() string {
	if s.opts.destroy {
		return "destroy"
	}
	return "apply"
}

// settle ends an apply that has nothing to do: the state learns what it did not know.
func (s *session) settle(_ context.Context) error {
	view.Complete(s.Stdout, s.result.Plan, s.options())
	learned := phases.Record(s.view, s.result)
	if learned.IsZero() && s.recorded != nil && !s.leftover && maps.EqualFunc(s.recorded.Outputs, s.result.Plan.Outputs, state.Value.Equal) {
		return view.Outputs(s.Stdout, s.result.Plan.Outputs, s.options())
	}
	st, err := statefile.Fold(s.ensureState(), []state.Entry{{Kind: state.EntryDone, Lineage: s.ensureState().Lineage, Learned: learned}})
	if err != nil {
		return err
	}
	journal, err := statefile.OpenJournal(s.paths.Journal)
	if err != nil {
		return err
	}
	defer journal.Close()
	st.Outputs, st.ToolVersion = s.result.Plan.Outputs, Version
	if err := statefile.Save(s.paths, st, journal); err != nil {
		return err
	}
	return view.Outputs(s.Stdout, st.Outputs, s.options())
}

// confirm asks as Terraform does: only yes approves; destroy wants the cluster's name.
func (s *session) confirm() error {
	if !s.opts.input || !s.Interactive {
		return fmt.Errorf("nobody can be asked here: run with -auto-approve when the plan above is what you want")
	}
	want := "yes"
	if s.opts.destroy && len(s.config.Clusters) > 0 {
		want = s.config.Clusters[0].Label
	}
	view.Prompt(s.Stdout, want, s.opts.destroy, s.options())
	line, _ := bufio.NewReader(s.Stdin).ReadString('\n')
	if strings.TrimSpace(line) != want {
		fmt.Fprintf(s.Stdout, "\n%s cancelled.\n", strings.ToUpper(s.operation()[:1])+s.operation()[1:])
		return exit(exitError)
	}
	fmt.Fprintln(s.Stdout)
	return nil
}

// execute runs the plan's steps and records what became of them.
func (s *session) execute(ctx context.Context) error {
	st := s.ensureState()
	journal, err := statefile.OpenJournal(s.paths.Journal)
	if err != nil {
		return err
	}
	defer journal.Close()
	if err := journal.Reserve(4 * len(s.result.Plan.Steps)); err != nil {
		return err
	}
	progress := view.NewProgress(s.Stdout, s.options(), s.Width() > 0)
	ctx, stop, done := s.stopper(ctx, progress.Note)
	ticking := progress.Start(s.Now)
	// The plan of a cluster that is new knows no lineage yet: it is the state's
	// that this run begins.
	plan := *s.result.Plan
	plan.Lineage = st.Lineage
	run := s.newRunner()
	defer run.performer.Close()
	outcome, runErr := executor.Execute(ctx, &plan, run, journal, executor.Options{
		ID: s.NewID(), Token: s.nextToken(), Who: s.Who, Parallelism: s.opts.parallelism,
		Stop: stop, Durations: st.Durations, Sink: progress.Event, Now: s.Now,
	})
	done()
	ticking()
	if err := s.fleet.world.save(); err != nil {
		return err
	}
	if outcome == nil {
		return runErr
	}
	recordErr := s.record(context.WithoutCancel(ctx), journal, outcome)
	view.Outcome(s.Stdout, s.Stderr, s.result.Plan, outcome, s.options())
	switch {
	case runErr != nil:
		return runErr
	case recordErr != nil:
		return recordErr
	case outcome.Stopped:
		return exit(exitInterrupted)
	case !outcome.OK():
		return exit(exitError)
	}
	return view.Outputs(s.Stdout, s.result.Plan.Outputs, s.options())
}

// nextToken is above every token that state and hosts have seen.
func (s *session) nextToken() int64 {
	token := s.recorded.RunToken
	for _, r := range s.view.Reports {
		if r.Marks != nil {
			token = max(token, r.Marks.Token)
		}
	}
	return token + 1
}

// record observes once more and writes down what is seen to be as wanted. The
// journal has been the record until here; with the state written it is emptied.
func (s *session) record(ctx context.Context, journal *statefile.Journal, outcome *executor.Outcome) error {
	loaded, err := statefile.Load(s.paths)
	if err != nil {
		return err
	}
	st := loaded.State
	s.recorded = st
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if !s.opts.destroy {
		done := s.result
		if err := s.plan(ctx); err == nil {
			learned := phases.Record(s.view, s.result)
			if st, err = statefile.Fold(st, []state.Entry{{Kind: state.EntryDone, Lineage: st.Lineage, Learned: learned}}); err != nil {
				return err
			}
			if outcome.OK() && len(s.opts.targets)+len(s.opts.skipPhases) == 0 && len(s.result.Plan.Steps) > 0 {
				view.NotConverged(s.Stderr, s.result.Plan, s.options())
			}
		}
		s.result = done
	} else if outcome.OK() && len(st.Nodes) == 0 {
		st.Clusters, st.Items = nil, nil
	}
	st.Outputs, st.ToolVersion = s.result.Plan.Outputs, Version
	return statefile.Save(s.paths, st, journal)
}
