package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/runreport"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/engine"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/drift"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
)

// Apply is a run that has its plan approved, carries it out and records the result.
type Apply struct {
	*session.Session
	// held are the policy findings against continuing the run.
	held []planner.PolicyFinding
}

// CarryOut makes a plan, shows it, asks for approval, and carries it out. prepare, if not nil,
// chooses the plan; otherwise the plan is what the configuration asks for.
func CarryOut(ctx context.Context, a *workspace.Workspace, o session.Options, by Approval, operation string, prepare func(*session.Session)) error {
	if o.JSON && !by.given() {
		return console.Misuse("kubewright "+operation, errors.New("-json asks no questions: give -auto-approve as well"))
	}
	opened, err := session.Open(ctx, a, o, operation)
	if err != nil {
		return err
	}
	s := &Apply{Session: opened}
	defer s.Close()
	by.unauthenticated = s.Unauthenticated
	s.Approved = by.Digest != "" || by.Saved != nil && !by.unauthenticated
	if prepare != nil {
		prepare(s.Session)
	}
	if err := s.planFor(ctx, by); err != nil {
		if by.Saved == nil && s.Result.Plan != nil {
			return errors.Join(s.Show(), err) // refused, and for reading
		}
		return err
	}
	if err := s.Show(); err != nil {
		return err
	}
	if by.Saved == nil { // planFor has checked a saved plan
		if err := by.approves(s.Session, s.Result.Plan); err != nil {
			return err
		}
	}
	if s.Result.Plan.Empty() {
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
	if len(s.Result.Plan.Steps) == 0 {
		return s.whole(s.settle(ctx, by))
	}
	return s.whole(s.executeAndGuide(ctx, by))
}

// planFor plans, and refuses a plan that differs from the saved one to be carried out.
func (s *Apply) planFor(ctx context.Context, by Approval) error {
	if by.Saved == nil {
		return s.Plan(ctx)
	}
	// A run that continues a saved plan has only the rest of it, with another digest.
	if err := by.approves(s.Session, by.Saved.Plan); err != nil {
		return err
	}
	if err := s.fits(by.Saved); err != nil {
		return err
	}
	if err := s.approvable(by); err != nil {
		return err
	}
	if s.Resumed != nil {
		s.resume(by.Saved.Plan)
	}
	if err := s.Plan(ctx); err != nil {
		return err
	}
	return s.unmoved(by.Saved)
}

// Operation returns the name of the command that carries a plan out: apply or destroy.
func Operation(o session.Options) string {
	if o.Destroy {
		return "destroy"
	}
	return "apply"
}

// lesson is what a state learns from a plan without steps.
type lesson struct {
	state.Learned
	// nothing reports whether the state knows all of it already.
	nothing bool
}

func (s *Apply) lesson() lesson {
	learned := record.Record(s.Observed, s.Result)
	if s.Opts.RefreshOnly {
		learned = drift.Refreshed(s.Observed, s.Result)
	}
	if s.Opts.Destroy && s.Recorded != nil {
		learned.Left = append(learned.Left, record.TakenApart(s.Result.Plan, s.Recorded).Left...)
	}
	settled := ownership.Settled(s.Observed, s.Result.Plan)
	learned.Moved, learned.Left = settled.Moved, append(learned.Left, settled.Left...)
	learned.Nodes, learned.Clusters = overlaid(settled.Nodes, learned.Nodes), overlaid(settled.Clusters, learned.Clusters)
	return lesson{learned, learned.IsZero() && s.Recorded != nil && !s.Leftover && !s.OutputsChange()}
}

// settle ends an apply that has nothing to do on any host: it records what the state lacks, and
// that a resumed saved plan is complete.
func (s *Apply) settle(ctx context.Context, by Approval) error {
	learned := s.lesson()
	ends := s.Resumed != nil && s.Resumed.Unfinished && !s.leaves(by)
	if learned.nothing && !ends || s.Opts.Destroy && s.Recorded == nil { // no state is made of nothing
		return s.Screen().Complete(s.Result.Plan, nil)
	}
	st, err := statefile.Fold(s.EnsureState(), []state.Entry{{Kind: state.EntryDone, Lineage: s.EnsureState().Lineage, Learned: learned.Learned}})
	if err != nil {
		return err
	}
	if ends {
		st.Applies[len(st.Applies)-1].Finish() // the last apply is the one of this plan
	}
	if p := s.Result.Plan; s.Opts.RefreshOnly && len(p.Drift) > 0 {
		// After it is taken over, the fleet is no longer as an interrupted saved plan left it.
		st.Applies = append(st.Applies, state.Apply{Time: s.Now(), Run: s.RunID, Plan: by.digestOf(p), Serial: p.Serial, Who: s.Who, Job: s.job(), Ended: s.Now()})
	}
	journal, err := s.Store.OpenJournal()
	if err != nil {
		return err
	}
	defer journal.Close()
	s.conclude(st)
	if err := s.Store.Save(context.WithoutCancel(ctx), st, journal); err != nil {
		return err
	}
	return s.Screen().Complete(s.Result.Plan, nil)
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

// confirm asks as Terraform does: only yes approves; destroy asks for the cluster's name.
func (s *Apply) confirm(ctx context.Context) error {
	if !session.CanAsk(s.Session.Workspace, s.Opts) {
		return fmt.Errorf("%w: run with -auto-approve when the plan above is what you want", console.ErrNoTerminal)
	}
	want := cmp.Or(s.Typed, "yes")
	if s.Opts.Destroy {
		want = cmp.Or(s.destroyedClusters(), want)
	}
	ui.Prompt(s.Stdout, want, s.Opts.Destroy, s.Options())
	line, err := s.ReadLine(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || strings.TrimSpace(line) != want {
		if err := ui.Cancelled(s.Stdout, s.Opts.Destroy, s.Options()); err != nil {
			return err
		}
		return console.Exit(console.ExitError)
	}
	return nil
}

// destroyedClusters returns the names of the clusters that the plan destroys, whole or in part,
// separated by spaces.
func (s *Apply) destroyedClusters() string {
	var names []string
	for _, c := range s.Result.Plan.Resources {
		if c.Target.Type == state.TypeCluster && c.Action == planner.Delete {
			names = append(names, c.Target.Name)
		}
	}
	if len(names) == 0 && len(s.Config.Clusters) > 0 {
		return s.Config.Clusters[0].Label
	}
	return strings.Join(names, " ")
}

// executeAndGuide executes the plan, and shows what comes next if that has founded clusters.
func (s *Apply) executeAndGuide(ctx context.Context, by Approval) error {
	founded := founds(s.Result.Plan, s.Recorded)
	if err := s.execute(ctx, by); err != nil {
		return err
	}
	return s.showNextSteps(founded)
}

// execute runs the plan's steps and records their outcome.
func (s *Apply) execute(ctx context.Context, by Approval) error {
	defer console.IgnoreBrokenPipe()()
	st := s.EnsureState()
	journal, err := s.Store.OpenJournal()
	if err != nil {
		return err
	}
	defer journal.Close()
	if err := journal.Reserve(4 * len(s.Result.Plan.Steps)); err != nil {
		return err
	}
	run := PlanRun(s.Session).NewRunner()
	defer run.Performer.Close()
	// Since the plan was shown, force-unlock may have ended this run's lock.
	if err := s.Store.Held().Confirm(ctx); err != nil {
		return err
	}
	if err := run.Fences.Claim(ctx); err != nil {
		return errors.Join(err, s.Hosts.World.Save())
	}
	progress := s.Screen().Progress(s.Result.Plan, s.PlanView())
	ctx, stop, done := s.Interrupts.Stopper(ctx, cmp.Or(s.TermGrace, console.TermGrace), progress.Note)
	if err := ctx.Err(); err != nil {
		// The interrupt came after the approval and before the first step.
		done()
		run.Fences.Release(ctx)
		s.Buried = true
		return errors.Join(err, s.Hosts.World.Save())
	}
	ticking := progress.Start(s.Now)
	// The plan of a new cluster has no lineage yet: it gets the lineage of the state that this
	// run creates.
	plan := *s.Result.Plan
	plan.Lineage = st.Lineage
	still := run.Fences.Beat(ctx)
	outcome, runErr := executor.Execute(ctx, &plan, spelling{run}, engine.Journal{Journal: journal}, executor.Options{
		ID: s.RunID, Token: ownership.NextRun(s.Observed), Who: s.Who, PlanDigest: by.digestOf(s.Result.Plan), Resumes: s.resumes(), Partial: s.leaves(by), Job: s.job(), Learned: ownership.Settled(s.Observed, s.Result.Plan),
		Parallelism: s.Opts.Parallelism, OnError: s.Opts.OnError.Meaning(),
		Stop: stop, Hold: s.holdBack(), Durations: st.Durations, Sink: s.events(progress.Event), Now: s.Now, Busy: s.Hosts.World.Clock().Busy,
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
		if err := s.Screen().Incomplete(s.Result.Plan, outcome); err != nil {
			return err
		}
	}
	defer s.showCertificateKeys(outcome)
	switch {
	case runErr != nil && !errors.Is(recordErr, backend.ErrLost): // this error says all of it, and where the state is
		return runErr
	case recordErr != nil:
		return recordErr
	case interrupted(outcome) && console.IsClosed(stop):
		return console.Exit(console.ExitInterrupted)
	case outcome.Stopped && len(s.held) > 0:
		return s.heldBack()
	case !outcome.OK():
		return console.Exit(s.OutcomeCode(outcome))
	}
	return s.Screen().Complete(s.Result.Plan, outcome)
}

// spelling is a runner whose errors have commands in place of remedies.
type spelling struct{ *engine.Runner }

// RunStep implements executor.Runner.
func (r spelling) RunStep(ctx context.Context, step *planner.Step, run executor.Run, report func(executor.OpEvent) error) (executor.Result, error) {
	result, err := r.Runner.RunStep(ctx, step, run, report)
	return result, commandline.Error(err)
}

// PlanRun returns the run that carries out the plan of this session.
func PlanRun(s *session.Session) *engine.Run {
	lineage := ""
	if s.Recorded != nil {
		lineage = s.Recorded.Lineage
	}
	return &engine.Run{
		Hosts: s.Hosts, Config: s.Config, Recorded: s.Recorded, Observed: s.Observed, Result: s.Result,
		Lineage: lineage, ID: s.RunID, Who: s.Who, Dead: lastRun(s), Leaseless: s.Leaseless, Restores: s.Restores,
		Artifacts: s.ArtifactsOf, Snapshots: s.Store.Snapshots, Sealing: workspace.SnapshotSealing{Workspace: s.Workspace}, Made: s.Log.Hide,
	}
}

// lastRun returns the run whose lease is of no use any more, if it is still there: the one that ended without
// releasing the state's lock, or else the last one that the state records. An API that did not answer
// when that run released its lease has kept it.
func lastRun(s *session.Session) string {
	if s.Ended.ID != "" || s.Recorded == nil || len(s.Recorded.Applies) == 0 {
		return s.Ended.ID
	}
	last := s.Recorded.Applies[len(s.Recorded.Applies)-1]
	if last.Ended.IsZero() {
		return ""
	}
	return last.Run
}

// wrapUp releases the clusters and records the outcome of the steps. In a hurry, after an
// interrupt that leaves little time, it writes the state first: a host that no longer answers,
// which may be the reason for the interrupt, must not prevent that.
func (s *Apply) wrapUp(ctx context.Context, run *engine.Runner, journal *statefile.Journal, outcome *executor.Outcome, hurry bool) (recordErr, err error) {
	letGo := func() error {
		run.Fences.Release(ctx)
		s.Buried = true
		return s.Hosts.World.Save()
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

// showCertificateKeys shows the keys that were generated for uploaded certificates, this one
// time: they are not stored, and without them the certificates are useless.
func (s *Apply) showCertificateKeys(outcome *executor.Outcome) {
	for _, c := range s.Config.Clusters {
		if key, ok := outcome.Outputs.Lookup(objects.CertificateKeyOf(c.Label)); ok && s.Lines == nil {
			runreport.CertificateKey(s.Stdout, state.ClusterTarget(c.Label), key.Secret, s.Options())
		}
	}
}

// takenApart returns the state without the clusters that a destroy left no node of.
func (s *Apply) takenApart(st *state.State) (*state.State, error) {
	if len(st.Nodes) == 0 {
		st.Clusters, st.Items, st.Unseen = nil, nil, nil
		return st, nil
	}
	learned := record.TakenApart(s.Result.Plan, st)
	return statefile.Fold(st, []state.Entry{{Kind: state.EntryDone, Lineage: st.Lineage, Learned: learned}})
}

// reached returns the state together with the journal. If the state disappeared during the run,
// it returns the one that the run began with: Save keeps that aside and reports it.
func (s *Apply) reached(ctx context.Context) (*state.State, error) {
	loaded, err := s.Store.Reload(ctx)
	if err != nil || len(loaded.Overtaken) == 0 || loaded.State != nil {
		return loaded.State, err
	}
	return statefile.Fold(s.Recorded, loaded.Overtaken)
}

// record observes once more, unless in a hurry, and records what is as desired. Until here the
// journal was the record; it is emptied once the state is written.
func (s *Apply) record(ctx context.Context, journal *statefile.Journal, outcome *executor.Outcome, hurry bool) error {
	st, err := s.reached(ctx)
	if err != nil || st == nil { // a first run that could not write its journal has done nothing and reports why
		return err
	}
	if st.FingerprintKey == "" {
		st.FingerprintKey = s.Recorded.FingerprintKey
	}
	s.Recorded, s.Moved = st, nil
	// Replace and Accept are done, or have to be given again. Hosts to forget stay gone for
	// good, whether their nodes were removed already or not.
	s.Opts.Replace, s.Opts.Accept = nil, nil
	s.DropForgotten()
	var unseen diag.Diagnostics
	switch {
	case s.Opts.Destroy && outcome.OK():
		st, err = s.takenApart(st)
	case s.Opts.Destroy:
	case hurry:
		unseen = s.unobserved(outcome, nil, context.Canceled)
	default:
		st, unseen, err = s.reobserve(ctx, st, outcome)
	}
	if err != nil {
		return err
	}
	s.conclude(st)
	if err := s.Store.Save(ctx, st, journal); err != nil {
		return err
	}
	s.Print(unseen)
	return nil
}

// conclude completes the state at the end of an apply. By then the names that nodes took from
// their hosts are known, and the outputs made of them.
func (s *Apply) conclude(st *state.State) {
	s.Recorded = st
	st.Outputs, st.ToolVersion = s.Outputs(), console.Version
	s.Result.Plan = s.Result.Plan.WithOutputs(st.Outputs)
}

// reobserve returns the state with what is observed to be as desired, and findings if nothing
// could be observed, which does not make the apply fail. An interrupt ends the observation.
func (s *Apply) reobserve(ctx context.Context, st *state.State, outcome *executor.Outcome) (*state.State, diag.Diagnostics, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute+startsWithin)
	defer cancel()
	ctx, over := s.Interrupts.Patience(ctx, false)
	defer over()
	done, opts := s.Result, s.Opts
	defer func() { s.Result, s.Opts = done, opts }()
	s.Opts.AllowUnreachable = opts.AllowUnreachable || s.Planner != nil // which went on without silent hosts
	look := s.Replan
	if outcome.OK() {
		look = s.replanStarted
	}
	diags, err := look(ctx)
	if err != nil || diags.HasErrors() {
		return st, s.unobserved(outcome, diags, err), nil
	}
	// What an operator has to do after the apply is said at its end.
	reminders := slices.DeleteFunc(diags, func(d *diag.Diagnostic) bool { return d.Summary != drain.CordonedOutside })
	learned := record.Record(s.Observed, s.Result)
	st, err = statefile.Fold(st, []state.Entry{{Kind: state.EntryDone, Lineage: st.Lineage, Learned: learned}})
	if err == nil && outcome.OK() && s.Planner == nil && !s.Result.Plan.Restricted() && len(s.Result.Plan.Steps) > 0 && !s.wasLeftAlone(done.Plan) {
		err = s.Screen().NotConverged(s.Result.Plan)
	}
	return st, reminders, err
}

// wasLeftAlone reports whether the plan carried out had reported all remaining steps as withheld, or
// their targets, or clusters whose API did not answer.
func (s *Apply) wasLeftAlone(done *planner.Plan) bool {
	return !slices.ContainsFunc(s.Result.Plan.Steps, func(step planner.Step) bool {
		cluster := state.ClusterTarget(s.Hosts.ClusterOf(step.Target))
		if slices.ContainsFunc(done.WithheldSteps, func(w planner.WithheldStep) bool { return w.Step == step.ID }) {
			return false
		}
		return !slices.ContainsFunc(done.Withheld, func(u state.Unobserved) bool { return u.Target == step.Target || u.Target == cluster })
	})
}

// startsWithin is how long components that an apply has disturbed may take to run again.
const startsWithin = time.Minute

// replanStarted plans once more, and repeats that as long as the plan only waits for something
// to run: static pods that restart, because the kubelet has a new version or etcd beside them
// restarted, are no difference from the configuration. An interrupt ends the wait: all steps
// are done by then.
func (s *Apply) replanStarted(ctx context.Context) (diag.Diagnostics, error) {
	clock := s.Hosts.World.Clock()
	until := clock.Now().Add(startsWithin)
	patient, over := s.Interrupts.Patience(ctx, true)
	defer over()
	for told := false; ; told = true {
		diags, err := s.Replan(ctx)
		if err != nil || diags.HasErrors() || !s.Result.Plan.OnlyProves() || !clock.Now().Before(until) {
			return diags, err
		}
		if !told {
			s.Screen().Note(fmt.Sprintf("Every step is done. Waiting until what the steps disturbed runs again, for %.0f s at most. An interrupt ends the waiting.", startsWithin.Seconds()))
		}
		if err := clock.Sleep(patient, time.Second); err != nil {
			return diags, ctx.Err()
		}
	}
}

// unobserved returns why an apply that completed all its steps could not be verified
// afterwards. After an incomplete one the finding is only logged, since the same command
// observes again anyway.
func (s *Apply) unobserved(outcome *executor.Outcome, diags diag.Diagnostics, err error) diag.Diagnostics {
	diags.Spell(commandline.Line)
	if err != nil {
		diags = append(diags, console.Finding(err))
	}
	var why []string
	for _, d := range diags {
		if d.Severity == diag.Error {
			why = append(why, d.Summary+": "+d.Detail)
		}
	}
	if !outcome.OK() {
		s.Log.Warn("final verification failed", "why", why)
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return diag.Diagnostics{diag.Warningf("Final verification was interrupted",
			"All steps are done and the state is saved, but the hosts were not re-checked: the observation "+
				"that ends an apply was interrupted.\n\nRun kubewright plan to see whether anything is left to do.")}
	}
	return diag.Diagnostics{diag.Warningf("Final verification failed",
		"All steps are done and the state is saved, but the hosts could not be re-checked: the observation "+
			"that ends an apply failed, as a plan would now.\n\n%s\n\n"+
			"Fix the errors, and run kubewright plan to see whether anything is left to do.", strings.Join(why, "\n\n"))}
}

// interrupted reports whether the run was stopped before a step, or within one.
func interrupted(outcome *executor.Outcome) bool {
	return outcome.Stopped || slices.ContainsFunc(outcome.Steps, func(s executor.StepOutcome) bool { return executor.IsInterrupted(s.Err) })
}

// whole returns how a successful apply ends: with a code of its own if something was withheld because
// a target could not be observed. Operations that are no apply of the configuration report that only with
// -detailed-exitcode, as a host that does not answer.
func (s *Apply) whole(err error) error {
	switch {
	case err != nil || !s.Result.Plan.Withholds():
		return err
	case s.Planner == nil && session.Permits(s.Session):
		return console.Exit(console.ExitWithheld)
	case s.Finer:
		return console.Exit(console.ExitUnreachable)
	}
	return nil
}

// events logs and shows what an executor reports.
func (s *Apply) events(shown func(executor.Event)) func(executor.Event) {
	if s.Log == nil {
		return shown
	}
	return func(e executor.Event) {
		s.Log.Event(e)
		shown(e)
	}
}
