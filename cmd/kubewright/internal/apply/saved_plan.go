package apply

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drift"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/state"
)

// Approval is how a plan is approved without the prompt.
type Approval struct {
	// Auto approves any plan.
	Auto bool
	// Digest approves the plan with this digest or this prefix of it.
	Digest string
	// Saved approves the plan in a file, unless the file is unauthenticated.
	Saved           *planfile.File
	unauthenticated bool
}

// given reports whether the plan is approved without a question.
func (by Approval) given() bool {
	return by.Auto || by.Digest != "" || by.Saved != nil && !by.unauthenticated
}

// digestOf returns the digest under which the journal knows a run: a resumed saved plan keeps
// the digest of its first run.
func (by Approval) digestOf(p *planner.Plan) string {
	if by.Saved != nil {
		p = by.Saved.Plan
	}
	return planfile.Digest(p)
}

// SavePlan writes the plan to a file, unless the path is empty, and prints how to apply it.
func SavePlan(s *session.Session, path string) error {
	if path == "" {
		if s.QuietStdout {
			return nil
		}
		return s.Screen().Saved("", s.Result.Plan)
	}
	key := s.LastingKey()
	if key.IsZero() {
		s.SavedDigest = planfile.Digest(s.Result.Plan)[:planfile.ShortDigest]
	}
	f := planfile.File{Key: key, Plan: s.Result.Plan, AllowUnreachable: s.Opts.AllowUnreachable, GivenAgain: s.GivenAgain, PriorOutputs: session.PriorOutputs(s.Recorded), Durations: session.Durations(s.Recorded), Parallelism: s.Opts.Parallelism}
	if err := planfile.Write(s.Named(path), f, s.Codec()); err != nil {
		return err
	}
	if s.QuietStdout {
		return planview.Saved(s.Stderr, path, s.Result.Plan, s.ErrorOptions())
	}
	return s.Screen().Saved(path, s.Result.Plan)
}

// SavedOptions returns the options of the command line together with those of the saved plan.
// Flags that permit what is refused otherwise are not taken from the file: the user who applies
// the plan gives -allow-unreachable and -override-policy again.
func SavedOptions(o session.Options, f *planfile.File, path string) (session.Options, error) {
	switch {
	case len(o.Targets)+len(o.SkipPhases) > 0 || o.Destroy || o.ChangeOptions.Given():
		return o, errors.New("a saved plan has its own -target, -skip-phase, -destroy and what else says what to plan: leave them out")
	case o.AllowUnreachable && !f.AllowUnreachable:
		return o, fmt.Errorf("the saved plan was made without -%s, and is carried out without: leave it out", commandline.AllowUnreachable)
	case !o.AllowUnreachable && f.AllowUnreachable:
		return o, fmt.Errorf("the saved plan was made with -%[1]s, which counts only when it is given here as well: kubewright apply -%[1]s %[2]s", commandline.AllowUnreachable, state.ShellWord(path))
	}
	o.Saved = f
	o.ChangeOptions = session.ChangeOptions{
		Excludes: f.Plan.Excluded, RefreshOnly: f.Plan.RefreshOnly,
		Replace: f.Plan.Replace, Accept: f.Plan.AcceptNewHost, Forget: f.Plan.ForgetUnreachable,
	}
	o.Targets, o.SkipPhases, o.Destroy = f.Plan.Targets, f.Plan.SkippedPhases, f.Plan.Destroy
	return o, nil
}

// fits refuses a saved plan that was not made by this program, from this configuration and for
// this state, and detects whether it resumes an interrupted apply. No host has been contacted
// yet.
func (s *Apply) fits(f *planfile.File) error {
	p := f.Plan
	serial, digest := int64(0), s.ConfigDigest()
	if s.Recorded != nil {
		serial = s.Recorded.Serial
	}
	if s.Unauthenticated {
		digest = session.FirstConfigDigest(s.Config)
	}
	if err := session.CheckOrigin(s.Recorded, p, s.Unauthenticated); err != nil {
		return err
	}
	last, since := session.LastApply(s.Recorded, p)
	switch {
	case last != nil && !last.Unfinished && (since != nil || !s.Leftover): // a leftover journal is its end
		return s.appliedAlready(last)
	case since != nil:
		return session.StalePlan("It was begun by run %s of %s and interrupted, and run %s of %s, which began at %s, has applied another plan since.",
			last.Run, cmp.Or(last.Who, "an unknown user"), since.Run, cmp.Or(since.Who, "an unknown user"), since.Time.Format(time.RFC3339))
	case p.ConfigDigest != digest:
		return session.StalePlan("The configuration, or a variable, is not as it was when the plan was made. A plan holds no values of variables: give the same ones.")
	case last != nil:
		s.Resumed = last
	case p.Serial != serial:
		return session.StalePlan("The state was of serial %d when the plan was made, and is of %d: something was applied since.", p.Serial, serial)
	}
	return nil
}

// begun returns the steps of the saved plan that were begun: all of them for a run that
// completed without its state being written.
func (s *Apply) begun(p *planner.Plan) []state.Address {
	var out []state.Address
	for _, step := range p.Steps {
		if !s.Resumed.Unfinished {
			out = append(out, step.ID)
		}
	}
	for _, text := range s.Resumed.Begun {
		if a, err := state.ParseAddress(text); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// resume drops from the options of the saved plan what its interrupted run has done already.
func (s *Apply) resume(p *planner.Plan) {
	s.DropForgotten()
	s.Opts.Replace = record.Unreplaced(s.Config, s.Opts.Replace, s.begun(p))
	s.Opts.Accept = slices.DeleteFunc(slices.Clone(s.Opts.Accept), func(a string) bool { return !slices.Contains(s.Opts.Replace, a) })
}

// unmoved refuses if the new plan is not the saved one, or the rest of it, and says what
// differs.
func (s *Apply) unmoved(f *planfile.File) error {
	var progress *planfile.Progress
	if s.Resumed != nil {
		begun := s.begun(f.Plan)
		progress = &planfile.Progress{Begun: begun, Touched: drift.Touched(begun), Recorded: (&state.Snapshot{Items: s.Recorded.Items}).Find}
	}
	if s.Resumed != nil && !s.Resumed.Unfinished && len(s.Result.Plan.Steps) > 0 && !s.Result.Plan.OnlyProves() {
		return s.appliedAlready(s.Resumed)
	}
	differences := planfile.Compare(f.Plan, s.Result.Plan, progress)
	if len(differences) == 0 {
		return nil
	}
	return s.Report(diag.Diagnostics{diag.Errorf(console.PlanIsStale, "%s\n\nNothing was changed. Plan again, and have that plan reviewed.", planview.Differences(differences))})
}

// appliedAlready refuses a saved plan that was applied to its end: a second run would replace
// again what it has replaced, and change what was not reviewed.
func (s *Apply) appliedAlready(last *state.Apply) error {
	return s.Report(diag.Diagnostics{diag.Errorf(console.PlanIsStale, "It was applied already, to its end: by run %s of %s, which began at %s. A plan is carried out once. Nothing was changed. To see whether something is left to do, plan again.",
		last.Run, cmp.Or(last.Who, "an unknown user"), last.Time.Format(time.RFC3339))})
}

// leaves reports whether a run that resumes a saved plan has to leave a part of it to another
// run: something that was observed when it was saved cannot be observed now.
func (s *Apply) leaves(by Approval) bool {
	return by.Saved != nil && planfile.Leaves(by.Saved.Plan, s.Result.Plan)
}

// resumes returns the run whose plan this one resumes; empty if there is none.
func (s *Apply) resumes() string {
	if s.Resumed == nil {
		return ""
	}
	return s.Resumed.Run
}

// approves refuses a plan that is not the one the digest approves.
func (by Approval) approves(s *session.Session, p *planner.Plan) error {
	if by.Digest == "" {
		return nil
	}
	digest, read := planfile.Digest(p), "Read the plan above"
	if by.Saved != nil {
		read = "Read it (kubewright show " + state.ShellWord(s.SavedPlan) + ")"
	}
	if strings.HasPrefix(digest, strings.ToLower(by.Digest)) {
		return nil
	}
	return s.Report(diag.Diagnostics{diag.Errorf(console.AnotherPlan, "-approve=%s is the digest of another plan; this one's is %s. Nothing was changed. "+
		"%s, and approve it if it is what you want.", by.Digest, digest[:planfile.ShortDigest], read)})
}

// approvable refuses a plan that is neither authenticated nor approved if the user cannot be
// asked.
func (s *Apply) approvable(by Approval) error {
	if by.given() || session.CanAsk(s.Session.Workspace, s.Opts) {
		return nil
	}
	file := state.ShellWord(s.SavedPlan)
	return s.Report(diag.Diagnostics{diag.Errorf(console.NotApproved, "%s was saved before there was a state, whose key authenticates a saved plan: anyone who could write to the file could change it. Nothing was changed. "+
		"Give the digest of the plan that was reviewed, which kubewright plan and kubewright show print:\n\n  kubewright apply -approve=DIGEST %s", file, file)})
}
