package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drift"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/cobra"
)

// Summaries of plans that are not carried out because they are not what was approved.
const (
	planIsStale = "Saved plan is stale"
	anotherPlan = "Another plan was approved"
)

// approval is who says yes to a plan, when it is not somebody at the prompt.
type approval struct {
	// auto approves any plan.
	auto bool
	// digest approves the plan with this digest, or one that begins so.
	digest string
	// saved approves the plan in a file, unless that is unauthenticated.
	saved           *planfile.File
	unauthenticated bool
}

// flags adds those by which a command is told that its plan is approved.
func (by *approval) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&by.auto, "auto-approve", false, "do not ask")
	cmd.Flags().Var((*approvedDigest)(&by.digest), "approve", "do not ask if the plan has this `digest`, and refuse any other")
}

// approvedDigest is the value of -approve. An empty one is refused, and does
// not count as none: it comes of a script in which nobody has set what is to stand
// there, and beside -auto-approve any plan would be carried out. One that is too short
// is not taken for another plan's: it may well be the beginning of this one's.
type approvedDigest string

// Set implements pflag.Value.
func (d *approvedDigest) Set(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("an empty digest approves no plan: give the one that the plan ends with")
	}
	if n := utf8.RuneCountInString(s); n < planfile.ShortDigest {
		return fmt.Errorf("a digest of %d characters is too short to tell one plan from another: give the %d that the plan ends with", n, planfile.ShortDigest)
	}
	*d = approvedDigest(s)
	return nil
}

// String implements pflag.Value.
func (d *approvedDigest) String() string { return string(*d) }

// Type implements pflag.Value.
func (d *approvedDigest) Type() string { return "string" }

// given reports whether nobody has to be asked.
func (by approval) given() bool {
	return by.auto || by.digest != "" || by.saved != nil && !by.unauthenticated
}

// digestOf returns the digest that the journal knows a run by: of a saved plan that
// goes on, the same as in its first run.
func (by approval) digestOf(p *planner.Plan) string {
	if by.saved != nil {
		p = by.saved.Plan
	}
	return planfile.Digest(p)
}

// named returns a file of the command line: its name begins in the folder of -chdir, as if
// the command ran there.
func (a *app) named(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.folder(), path)
}

// fromHere returns a file that the environment names, as it does for other programs: its
// name begins where the command runs.
func (a *app) fromHere(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.Dir, path)
}

// readPlan reads a saved plan.
func (a *app) readPlan(path string) (planfile.File, error) {
	f, err := planfile.Read(a.named(path), a.codec())
	if err == nil {
		return f, nil
	}
	remedy := "Make it anew with\n\n  kubewright plan -out=" + state.ShellWord(path)
	var refused *state.CodecError
	switch {
	case errors.As(err, &refused) && refused.Kind == state.ErrPlain:
		err = errors.New(refused.Problem)
	case errors.As(err, &refused):
		err, remedy = errors.New(refused.Problem), sentence(refused.Remedy)
	case errors.Is(err, planfile.ErrNoPlan):
		remedy = "A plan is saved with kubewright plan -out=FILE."
	case errors.Is(err, planfile.ErrNewer):
		remedy = "Use that version, or plan anew with this one."
	case errors.Is(err, fs.ErrNotExist):
		err = fs.ErrNotExist
	}
	return f, &diagError{diag.Diagnostics{diag.Errorf("Cannot read the saved plan", "%s: %v. %s", path, bare(err), remedy)}}
}

// bare is an error without the path that is named beside it.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// savePlan writes the plan to a file, unless the path is empty, and says how it
// is applied.
func (s *session) savePlan(path string) error {
	if path == "" {
		if s.quietStdout {
			return nil
		}
		return s.screen().saved("", s.result.Plan)
	}
	key := s.lastingKey()
	if key.IsZero() {
		s.savedDigest = planfile.Digest(s.result.Plan)[:planfile.ShortDigest]
	}
	f := planfile.File{Key: key, Plan: s.result.Plan, AllowUnreachable: s.opts.allowUnreachable, GivenAgain: s.givenAgain, PriorOutputs: s.priorOutputs(), Durations: s.durations(), Parallelism: s.opts.parallelism}
	if err := planfile.Write(s.named(path), f, s.codec()); err != nil {
		return err
	}
	if s.quietStdout {
		return planview.Saved(s.Stderr, path, s.result.Plan, s.errorOptions())
	}
	return s.screen().saved(path, s.result.Plan)
}

// savedOptions returns those of the command line which a saved plan was made with. What
// permits something that is refused otherwise is not among them: whoever applies the plan
// gives -allow-unreachable and -override-policy again.
func savedOptions(o planOptions, f *planfile.File, path string) (planOptions, error) {
	switch {
	case len(o.targets)+len(o.skipPhases) > 0 || o.destroy || o.changeOptions.given():
		return o, errors.New("a saved plan has its own -target, -skip-phase, -destroy and what else says what to plan: leave them out")
	case o.allowUnreachable && !f.AllowUnreachable:
		return o, fmt.Errorf("the saved plan was made without -%s, and is carried out without: leave it out", topology.AllowUnreachableFlag)
	case !o.allowUnreachable && f.AllowUnreachable:
		return o, fmt.Errorf("the saved plan was made with -%[1]s, which counts only when it is given here as well: kubewright apply -%[1]s %[2]s", topology.AllowUnreachableFlag, state.ShellWord(path))
	}
	o.saved = f
	o.changeOptions = changeOptions{
		excludes: f.Plan.Excluded, refreshOnly: f.Plan.RefreshOnly,
		replace: f.Plan.Replace, accept: f.Plan.AcceptNewHost, forget: f.Plan.ForgetUnreachable,
	}
	o.targets, o.skipPhases, o.destroy = f.Plan.Targets, f.Plan.SkippedPhases, f.Plan.Destroy
	return o, nil
}

// stale refuses a saved plan.
func (s *session) stale(format string, args ...any) error {
	return s.failed(diag.Diagnostics{diag.Errorf(planIsStale, format+" Nothing was changed. Plan again, and have that plan reviewed.", args...)})
}

// ofAnother refuses a saved plan of another version of this program, or of another state.
func (s *session) ofAnother(p *planner.Plan) error {
	lineage := ""
	if s.recorded != nil {
		lineage = s.recorded.Lineage
	}
	last, _ := s.applied(p)
	switch {
	case p.ToolVersion != Version:
		return s.stale("It was made by kubewright %s, and this is %s.", p.ToolVersion, Version)
	case p.Lineage != lineage && (last == nil || !s.unauthenticated): // one that was made before there was a state knows no lineage
		return s.stale("It was made for the state of lineage %s, and this one's is %s.", orNone(p.Lineage), orNone(lineage))
	}
	return nil
}

// fits refuses a saved plan that was not made by this program, from this configuration
// and for this state, and finds out whether it goes on from an apply that was cut
// short. No host was contacted yet.
func (s *session) fits(f *planfile.File) error {
	p := f.Plan
	serial, digest := int64(0), s.configDigest()
	if s.recorded != nil {
		serial = s.recorded.Serial
	}
	if s.unauthenticated {
		digest = s.firstConfigDigest()
	}
	if err := s.ofAnother(p); err != nil {
		return err
	}
	last, since := s.applied(p)
	switch {
	case last != nil && !last.Unfinished && (since != nil || !s.leftover): // what is left over is its end
		return s.appliedAlready(last)
	case since != nil:
		return s.stale("It was begun by run %s of %s and cut short, and run %s of %s, which began at %s, has applied another plan since.",
			last.Run, cmp.Or(last.Who, "somebody"), since.Run, cmp.Or(since.Who, "somebody"), since.Time.Format(time.RFC3339))
	case p.ConfigDigest != digest:
		return s.stale("The configuration, or a variable, is not as it was when the plan was made. A plan holds no values of variables: give the same ones.")
	case last != nil:
		s.resumed = last
	case p.Serial != serial:
		return s.stale("The state was of serial %d when the plan was made, and is of %d: something was applied since.", p.Serial, serial)
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// applied returns the last apply of a saved plan, and the last one of another plan behind
// it; nil when there is none. A plan is known by its digest and by the state that it was
// made for: who has one recreated later may want the same once more.
func (s *session) applied(p *planner.Plan) (last, since *state.Apply) {
	if s.recorded == nil {
		return nil, nil
	}
	applies, digest := s.recorded.Applies, planfile.Digest(p)
	for i := len(applies) - 1; i >= 0; i-- {
		if a := applies[i]; a.Plan == digest && a.Serial == p.Serial {
			return &a, since
		}
		since = cmp.Or(since, &applies[i])
	}
	return nil, nil
}

// begun returns the steps of the saved plan that were begun: all of one that came to its
// end and whose state was not written any more.
func (s *session) begun(p *planner.Plan) []state.Address {
	var out []state.Address
	for _, step := range p.Steps {
		if !s.resumed.Unfinished {
			out = append(out, step.ID)
		}
	}
	for _, text := range s.resumed.Begun {
		if a, err := state.ParseAddress(text); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// resume takes out of what the saved plan was asked for once what the part that was
// carried out has done.
func (s *session) resume(p *planner.Plan) {
	s.forgetKnown()
	s.opts.replace = record.Unreplaced(s.config, s.opts.replace, s.begun(p))
	s.opts.accept = slices.DeleteFunc(slices.Clone(s.opts.accept), func(a string) bool { return !slices.Contains(s.opts.replace, a) })
}

// unmoved refuses when the plan that was just made is not the saved one, or what is
// left of it, and says what is not as it was.
func (s *session) unmoved(f *planfile.File) error {
	var progress *planfile.Progress
	if s.resumed != nil {
		begun := s.begun(f.Plan)
		progress = &planfile.Progress{Begun: begun, Touched: drift.Touched(begun), Recorded: (&state.Snapshot{Items: s.recorded.Items}).Find}
	}
	if s.resumed != nil && !s.resumed.Unfinished && len(s.result.Plan.Steps) > 0 && !s.result.Plan.OnlyProves() {
		return s.appliedAlready(s.resumed)
	}
	differences := planfile.Compare(f.Plan, s.result.Plan, progress)
	if len(differences) == 0 {
		return nil
	}
	return s.failed(diag.Diagnostics{diag.Errorf(planIsStale, "%s\n\nNothing was changed. Plan again, and have that plan reviewed.", planview.Differences(differences))})
}

// appliedAlready refuses a saved plan that came to its end: once more it would replace
// what it has replaced, and put right what nobody has reviewed.
func (s *session) appliedAlready(last *state.Apply) error {
	return s.failed(diag.Diagnostics{diag.Errorf(planIsStale, "It was applied already, to its end: by run %s of %s, which began at %s. A plan is carried out once. Nothing was changed. To see whether something is left to do, plan again.",
		last.Run, cmp.Or(last.Who, "somebody"), last.Time.Format(time.RFC3339))})
}

// leaves reports whether a run which goes on with a saved plan has to leave a part of it for
// another one: something cannot be looked at that could be then.
func (s *session) leaves(by approval) bool {
	return by.saved != nil && planfile.Leaves(by.saved.Plan, s.result.Plan)
}

// resumes returns the run whose plan this one goes on with; empty when it goes on with none.
func (s *session) resumes() string {
	if s.resumed == nil {
		return ""
	}
	return s.resumed.Run
}

// approves refuses a plan that is not the one which the digest approves.
func (by approval) approves(s *session, p *planner.Plan) error {
	if by.digest == "" {
		return nil
	}
	digest, read := planfile.Digest(p), "Read the plan above"
	if by.saved != nil {
		read = "Read it (kubewright show " + state.ShellWord(s.savedPlan) + ")"
	}
	if strings.HasPrefix(digest, strings.ToLower(by.digest)) {
		return nil
	}
	return s.failed(diag.Diagnostics{diag.Errorf(anotherPlan, "-approve=%s is the digest of another plan; this one's is %s. Nothing was changed. "+
		"%s, and approve it if it is what you want.", by.digest, digest[:planfile.ShortDigest], read)})
}
