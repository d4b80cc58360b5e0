package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/runreport"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drift"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/spf13/cobra"
)

func (a *app) applyCommand() *cobra.Command {
	var o planOptions
	cmd := a.changing(&o, cobra.Command{
		Use: "apply [PLAN]", Short: "Make the clusters as the configuration says",
		Long: "apply plans, shows the plan, asks, and then carries out exactly that. A plan that was\n" +
			"saved with plan -out is carried out unasked, if nothing has changed since: with the\n" +
			"same configuration and variables, and with -override-policy and -allow-unreachable again if it was\n" +
			"made with them. -approve=DIGEST approves one plan by its digest, as the terminal and every review\n" +
			"show it, and refuses any other, one in a file as well. A file that was saved before there was a\n" +
			"state needs it, or an answer at the prompt.\n\n" +
			"Steps run as soon as what they need is done, of etcd's members and of control planes one at a\n" +
			"time. Ctrl-C lets what runs end and begins nothing more; once more stops at once. After any\n" +
			"failure, crash or lost connection the remedy is the same command again: it goes on from there.",
		Example: "  kubewright apply\n  kubewright apply plan.kwplan\n  kubewright apply -approve=3a2816c5be94cc61\n" +
			"  kubewright apply -auto-approve -lock-timeout=10m\n  kubewright apply -replace='node.worker[\"w1\"]'",
	})
	cmd.Args, cmd.ValidArgsFunction = takes(0, 1), nil
	cmd.Flags().BoolVar(&o.destroy, "destroy", false, "remove everything")
	return cmd
}

func (a *app) destroyCommand() *cobra.Command {
	return a.changing(&planOptions{destroy: true}, cobra.Command{
		Use: "destroy", Short: "Remove the clusters and give clean hosts back",
		Long: "destroy stops everything, removes what kubewright and Kubernetes made, and puts settings back\n" +
			"to what they were. The data of the clusters is lost.\n\n" +
			"It shows what it would do and asks for the names of the clusters. A node is taken out by removing\n" +
			"it from the configuration instead: then it is drained, and the cluster lives on.",
		Example: "  kubewright destroy\n  kubewright plan -destroy\n  kubewright destroy -auto-approve -allow-unreachable",
	})
}

// changing makes a command that carries out a plan.
func (a *app) changing(o *planOptions, cmd cobra.Command) *cobra.Command {
	var by approval
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := planForm("").check(o.json, a.full, explanation{}); err != nil {
			return &usageError{cmd.CommandPath(), err}
		}
		if len(args) == 0 {
			return a.apply(cmd.Context(), *o, by)
		}
		if err := a.apart(o.jsonInto, args[0]); err != nil {
			return err
		}
		saved, err := a.readPlan(args[0])
		if err != nil {
			return err
		}
		opts, err := savedOptions(*o, &saved, args[0])
		if err != nil {
			return &usageError{cmd.CommandPath(), err}
		}
		a.savedPlan = args[0]
		by.saved = &saved
		return a.apply(cmd.Context(), opts, by)
	}
	a.planning(o, &cmd)
	by.flags(&cmd)
	o.onError.flag(&cmd)
	return &cmd
}

// apply is the seven verbs in a row.
func (a *app) apply(ctx context.Context, o planOptions, by approval) error {
	return a.carryOut(ctx, o, by, operation(o), nil)
}

// carryOut makes a plan, shows it, asks, and does it. prepare, when it is not
// nil, says which plan that is; otherwise it is what the configuration asks for.
func (a *app) carryOut(ctx context.Context, o planOptions, by approval, operation string, prepare func(*session)) error {
	if o.json && !by.given() {
		return &usageError{"kubewright " + operation, errors.New("with -json nobody is asked: give -auto-approve as well")}
	}
	s, err := a.open(ctx, o, operation)
	if err != nil {
		return err
	}
	defer s.close()
	by.unauthenticated = s.unauthenticated
	s.approved = by.digest != "" || by.saved != nil && !by.unauthenticated
	if prepare != nil {
		prepare(s)
	}
	if err := s.planFor(ctx, by); err != nil {
		return err
	}
	if err := s.show(); err != nil {
		return err
	}
	if by.saved == nil { // of which it was asked before
		if err := by.approves(s, s.result.Plan); err != nil {
			return err
		}
	}
	if s.result.Plan.Empty() {
		return s.whole(s.settle(ctx, by))
	}
	if err := s.permitted(); err != nil {
		return err
	}
	if !by.given() {
		if err := s.confirm(ctx); err != nil {
			return err
		}
	}
	if len(s.result.Plan.Steps) == 0 {
		return s.whole(s.settle(ctx, by))
	}
	return s.whole(s.execute(ctx, by))
}

// planFor plans, and refuses when that is not the saved plan which is to be
// carried out.
func (s *session) planFor(ctx context.Context, by approval) error {
	if by.saved == nil {
		return s.plan(ctx)
	}
	// What goes on with a plan is only the rest of it, and has another digest.
	if err := by.approves(s, by.saved.Plan); err != nil {
		return err
	}
	if err := s.fits(by.saved); err != nil {
		return err
	}
	if err := s.approvable(by); err != nil {
		return err
	}
	if s.resumed != nil {
		s.resume(by.saved.Plan)
	}
	if err := s.plan(ctx); err != nil {
		return err
	}
	return s.unmoved(by.saved)
}

func operation(o planOptions) string {
	if o.destroy {
		return "destroy"
	}
	return "apply"
}

// lesson is what a state learns from a plan without steps.
type lesson struct {
	state.Learned
	// nothing reports whether it knows all of it.
	nothing bool
}

func (s *session) lesson() lesson {
	learned := record.Record(s.view, s.result)
	if s.opts.refreshOnly {
		learned = drift.Refreshed(s.view, s.result)
	}
	if s.opts.destroy && s.recorded != nil {
		learned.Left = append(learned.Left, record.TakenApart(s.result.Plan, s.recorded).Left...)
	}
	settled := ownership.Settled(s.view, s.result.Plan)
	learned.Moved, learned.Left = settled.Moved, append(learned.Left, settled.Left...)
	learned.Nodes, learned.Clusters = overlaid(settled.Nodes, learned.Nodes), overlaid(settled.Clusters, learned.Clusters)
	return lesson{learned, learned.IsZero() && s.recorded != nil && !s.leftover && !s.outputsChange()}
}

// settle ends an apply that has nothing to do on any host: the state learns
// what it did not know, and that a saved plan which went on has come to its end.
func (s *session) settle(ctx context.Context, by approval) error {
	learned := s.lesson()
	ends := s.resumed != nil && s.resumed.Unfinished && !s.leaves(by)
	if learned.nothing && !ends || s.opts.destroy && s.recorded == nil { // nothing was there, and no state is made of that
		return s.screen().complete(s.result.Plan, nil)
	}
	st, err := statefile.Fold(s.ensureState(), []state.Entry{{Kind: state.EntryDone, Lineage: s.ensureState().Lineage, Learned: learned.Learned}})
	if err != nil {
		return err
	}
	if ends {
		st.Applies[len(st.Applies)-1].Finish() // that of this plan: it was the last
	}
	if p := s.result.Plan; s.opts.refreshOnly && len(p.Drift) > 0 {
		// What it takes over is no longer as a saved plan that was cut short has left it.
		st.Applies = append(st.Applies, state.Apply{Time: s.Now(), Run: s.runID, Plan: by.digestOf(p), Serial: p.Serial, Who: s.Who})
	}
	journal, err := s.store.OpenJournal()
	if err != nil {
		return err
	}
	defer journal.Close()
	s.conclude(st)
	if err := s.store.Save(context.WithoutCancel(ctx), st, journal); err != nil {
		return err
	}
	return s.screen().complete(s.result.Plan, nil)
}

// overlaid returns a map with the entries of another laid over it.
func overlaid[K comparable, V any](base, top map[K]V) map[K]V {
	out := maps.Clone(base)
	if out == nil {
		return top
	}
	maps.Copy(out, top)
	return out
}

// confirm asks as Terraform does: only yes approves; destroy wants the cluster's name.
func (s *session) confirm(ctx context.Context) error {
	if !s.canAsk(s.opts) {
		return fmt.Errorf("%w: run with -auto-approve when the plan above is what you want", errNobody)
	}
	want := cmp.Or(s.typed, "yes")
	if s.opts.destroy {
		want = cmp.Or(s.destroyedClusters(), want)
	}
	ui.Prompt(s.Stdout, want, s.opts.destroy, s.options())
	line, err := s.line(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || strings.TrimSpace(line) != want {
		if err := ui.Cancelled(s.Stdout, s.opts.destroy, s.options()); err != nil {
			return err
		}
		return exit(exitError)
	}
	return nil
}

// destroyedClusters names the clusters that the plan takes apart, or of which it
// takes a part, with a space between them.
func (s *session) destroyedClusters() string {
	var names []string
	for _, c := range s.result.Plan.Resources {
		if c.Target.Type == state.TypeCluster && c.Action == planner.Delete {
			names = append(names, c.Target.Name)
		}
	}
	if len(names) == 0 && len(s.config.Clusters) > 0 {
		return s.config.Clusters[0].Label
	}
	return strings.Join(names, " ")
}

// execute runs the plan's steps and records what became of them.
func (s *session) execute(ctx context.Context, by approval) error {
	defer unread()()
	st := s.ensureState()
	journal, err := s.store.OpenJournal()
	if err != nil {
		return err
	}
	defer journal.Close()
	if err := journal.Reserve(4 * len(s.result.Plan.Steps)); err != nil {
		return err
	}
	run := s.newRunner()
	defer run.performer.Close()
	// Since the plan was shown somebody may have ended this run's lock.
	if err := s.store.Held().Confirm(ctx); err != nil {
		return err
	}
	if err := run.fences.claim(ctx); err != nil {
		return errors.Join(err, s.fleet.world.save())
	}
	progress := s.screen().progress(s.result.Plan, s.planView())
	ctx, stop, done := s.interrupts.stopper(ctx, cmp.Or(s.TermGrace, TermGrace), progress.Note)
	if err := ctx.Err(); err != nil {
		// The interrupt came behind the approval and before the first step.
		done()
		run.fences.release(ctx)
		return errors.Join(err, s.fleet.world.save())
	}
	ticking := progress.Start(s.Now)
	// The plan of a cluster that is new knows no lineage yet: it is the state's
	// that this run begins.
	plan := *s.result.Plan
	plan.Lineage = st.Lineage
	still := run.fences.beat(ctx)
	outcome, runErr := executor.Execute(ctx, &plan, run, guarded{journal}, executor.Options{
		ID: s.runID, Token: ownership.NextRun(s.view), Who: s.Who, PlanDigest: by.digestOf(s.result.Plan), Resumes: s.resumes(), Partial: s.leaves(by), Learned: ownership.Settled(s.view, s.result.Plan),
		Parallelism: s.opts.parallelism, OnError: s.opts.onError.meaning(),
		Stop: stop, Hold: s.holdBack(), Durations: st.Durations, Sink: s.events(progress.Event), Now: s.Now, Busy: s.fleet.world.clock().Busy,
	})
	still()
	hurry := done()
	ticking()
	recordErr, err := s.wrapUp(ctx, run, journal, outcome, hurry)
	if err != nil {
		return err
	}
	if outcome == nil {
		return runErr
	}
	if !outcome.OK() {
		if err := s.screen().incomplete(s.result.Plan, outcome); err != nil {
			return err
		}
	}
	defer s.showCertificateKeys(outcome)
	switch {
	case runErr != nil && !errors.Is(recordErr, backend.ErrLost): // which says all of it, and where the state is
		return runErr
	case recordErr != nil:
		return recordErr
	case cutShort(outcome) && over(stop):
		return exit(exitInterrupted)
	case outcome.Stopped && len(s.held) > 0:
		return s.heldBack()
	case !outcome.OK():
		return exit(s.outcomeCode(outcome))
	}
	return s.screen().complete(s.result.Plan, outcome)
}

// wrapUp gives the clusters back and records what became of the steps. Where whoever
// has interrupted them may not wait for long, the state is written first: a host that
// does not answer any more, as may be why, keeps nobody from that.
func (s *session) wrapUp(ctx context.Context, run *runner, journal *statefile.Journal, outcome *executor.Outcome, hurry bool) (recordErr, err error) {
	letGo := func() error {
		run.fences.release(ctx)
		return s.fleet.world.save()
	}
	write := func() error {
		if outcome == nil {
			return nil
		}
		return s.record(context.WithoutCancel(ctx), journal, outcome, hurry)
	}
	if hurry {
		recordErr = write()
		return recordErr, letGo()
	}
	if err := letGo(); err != nil {
		return nil, err
	}
	return write(), nil
}

// showCertificateKeys shows, this once, the keys that were generated for
// uploaded certificates: nobody could use them otherwise. They are kept nowhere.
func (s *session) showCertificateKeys(outcome *executor.Outcome) {
	for _, c := range s.config.Clusters {
		if key, ok := outcome.Outputs.Lookup(objects.CertificateKeyOf(c.Label)); ok && s.lines == nil {
			runreport.CertificateKey(s.Stdout, state.ClusterTarget(c.Label), key.Secret, s.options())
		}
	}
}

// takenApart returns the state without the clusters of which a destroy left no node.
func (s *session) takenApart(st *state.State) (*state.State, error) {
	if len(st.Nodes) == 0 {
		st.Clusters, st.Items, st.Unseen = nil, nil, nil
		return st, nil
	}
	learned := record.TakenApart(s.result.Plan, st)
	return statefile.Fold(st, []state.Entry{{Kind: state.EntryDone, Lineage: st.Lineage, Learned: learned}})
}

// reached returns the state with what the journal has. Where it is gone under the run, that is
// the one which the run began with: Save keeps it aside, and says so.
func (s *session) reached(ctx context.Context) (*state.State, error) {
	loaded, err := s.store.Reload(ctx)
	if err != nil || len(loaded.Overtaken) == 0 || loaded.State != nil {
		return loaded.State, err
	}
	return statefile.Fold(s.recorded, loaded.Overtaken)
}

// record observes once more, unless there is a hurry, and writes down what is seen to be
// as wanted. The journal has been the record until here; with the state written it is
// emptied.
func (s *session) record(ctx context.Context, journal *statefile.Journal, outcome *executor.Outcome, hurry bool) error {
	st, err := s.reached(ctx)
	if err != nil || st == nil { // a first run that could journal nothing has done nothing, and says why
		return err
	}
	if st.FingerprintKey == "" {
		st.FingerprintKey = s.recorded.FingerprintKey
	}
	s.recorded, s.moved = st, nil
	// What was asked for once is done, or is asked for again. Hosts are gone for good
	// all the same, whether their nodes were taken out already or not.
	s.opts.replace, s.opts.accept = nil, nil
	s.forgetKnown()
	var unseen diag.Diagnostics
	switch {
	case s.opts.destroy && outcome.OK():
		st, err = s.takenApart(st)
	case s.opts.destroy:
	case hurry:
		unseen = s.unseen(outcome, nil, context.Canceled)
	default:
		st, unseen, err = s.lookAgain(ctx, st, outcome)
	}
	if err != nil {
		return err
	}
	s.conclude(st)
	if err := s.store.Save(ctx, st, journal); err != nil {
		return err
	}
	s.print(unseen)
	return nil
}

// conclude gives a state what an apply ends with. By then the names that nodes took
// from their hosts are known, and outputs that are made of them.
func (s *session) conclude(st *state.State) {
	s.recorded = st
	st.Outputs, st.ToolVersion = s.outputs(), Version
	s.result.Plan.Outputs = st.Outputs
}

// lookAgain returns the state with what is seen to be as wanted, and what is to be told
// when nothing could be seen: it spoils nothing that was done. An interrupt ends it.
func (s *session) lookAgain(ctx context.Context, st *state.State, outcome *executor.Outcome) (*state.State, diag.Diagnostics, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute+startsWithin)
	defer cancel()
	ctx, over := s.interrupts.patience(ctx, false)
	defer over()
	done := s.result
	defer func() { s.result = done }()
	look := s.replan
	if outcome.OK() {
		look = s.replanStarted
	}
	if diags, err := look(ctx); err != nil || diags.HasErrors() {
		return st, s.unseen(outcome, diags, err), nil
	}
	learned := record.Record(s.view, s.result)
	st, err := statefile.Fold(st, []state.Entry{{Kind: state.EntryDone, Lineage: st.Lineage, Learned: learned}})
	if err == nil && outcome.OK() && s.planner == nil && !s.result.Plan.Restricted() && len(s.result.Plan.Steps) > 0 && !s.wasLeftAlone(done.Plan) {
		err = s.screen().notConverged(s.result.Plan)
	}
	return st, nil, err
}

// wasLeftAlone reports whether what is still to do is of targets, or of clusters whose API
// did not answer, that the plan which was carried out had left alone and says so.
func (s *session) wasLeftAlone(done *planner.Plan) bool {
	return !slices.ContainsFunc(s.result.Plan.Steps, func(step planner.Step) bool {
		cluster := state.ClusterTarget(s.clusterLabel(&step))
		return !slices.ContainsFunc(done.Withheld, func(u state.Unobserved) bool { return u.Target == step.Target || u.Target == cluster })
	})
}

// startsWithin is how long what an apply has disturbed may take to be up again.
const startsWithin = time.Minute

// replanStarted plans once more, and again while all there is to do is to wait
// until something runs: static pods that restart, because a kubelet got another
// version or etcd beside them restarted, are no difference from the configuration.
// An interrupt ends the waiting: everything is done by then.
func (s *session) replanStarted(ctx context.Context) (diag.Diagnostics, error) {
	clock := s.fleet.world.clock()
	until := clock.Now().Add(startsWithin)
	patient, over := s.interrupts.patience(ctx, true)
	defer over()
	for told := false; ; told = true {
		diags, err := s.replan(ctx)
		if err != nil || diags.HasErrors() || !s.result.Plan.OnlyProves() || !clock.Now().Before(until) {
			return diags, err
		}
		if !told {
			s.screen().note(fmt.Sprintf("Every step is done. Waiting until what the steps disturbed runs again, for %.0f s at most. An interrupt ends the waiting.", startsWithin.Seconds()))
		}
		if err := clock.Sleep(patient, time.Second); err != nil {
			return diags, ctx.Err()
		}
	}
}

// unseen tells why an apply that did all it was to do was not looked at afterwards.
// After one that did not, the same command looks again anyway.
func (s *session) unseen(outcome *executor.Outcome, diags diag.Diagnostics, err error) diag.Diagnostics {
	if err != nil {
		diags = append(diags, explain(err))
	}
	var why []string
	for _, d := range diags {
		if d.Severity == diag.Error {
			why = append(why, d.Summary+": "+d.Detail)
		}
	}
	if !outcome.OK() {
		s.log.Warn("looking again was refused", "why", why)
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return diag.Diagnostics{diag.Warningf("Looking again was interrupted",
			"Every step was done and the state was written, but nobody has seen what has become of it: the look at all hosts "+
				"that ends an apply was interrupted.\n\nRun kubewright plan to see whether anything is left to do.")}
	}
	return diag.Diagnostics{diag.Warningf("Looking again was refused",
		"Every step was done and the state was written, but nobody has seen what has become of it: the look at all hosts "+
			"that ends an apply came to an error, as a plan would now.\n\n%s\n\n"+
			"Put that right, and run kubewright plan to see whether anything is left to do.", strings.Join(why, "\n\n"))}
}
