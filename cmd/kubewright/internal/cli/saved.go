package cli

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
)

// approval is who says yes to a plan, when it is not somebody at the prompt.
type approval struct {
	// auto approves any plan.
	auto bool
	// digest approves the plan with this digest, or one that begins so.
	digest string
	// saved approves the plan in a file.
	saved *planfile.File
}

// given tells that nobody has to be asked.
func (by approval) given() bool { return by.auto || by.digest != "" || by.saved != nil }

// digestOf is the digest that the journal knows a run by: of a saved plan that
// goes on, the same as in its first run.
func (by approval) digestOf(p *planner.Plan) string {
	if by.saved != nil {
		p = by.saved.Plan
	}
	return planfile.Digest(p)
}

// named is a file of the command line: its name begins in the folder of -chdir, as if
// the command ran there.
func (a *app) named(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.folder(), path)
}

// fromHere is a file that the environment names, as it does for other programs: its
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
	remedy := "Make it anew with kubewright plan -out=" + path + "."
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
	f := planfile.File{Plan: s.result.Plan, AllowUnreachable: s.opts.allowUnreachable, PriorOutputs: s.priorOutputs(), Durations: s.durations(), Parallelism: s.opts.parallelism}
	if err := planfile.Write(s.named(path), f, s.codec()); err != nil {
		return err
	}
	if s.quietStdout {
		return view.Saved(s.Stderr, path, s.result.Plan, s.errorOptions())
	}
	return s.screen().saved(path, s.result.Plan)
}

// savedOptions are those of the command line which a saved plan was made with.
func savedOptions(o planOptions, f planfile.File) (planOptions, error) {
	if len(o.targets)+len(o.skipPhases) > 0 || o.allowUnreachable || o.destroy || o.changeOptions.given() {
		return o, errors.New("a saved plan has its own -target, -skip-phase, -destroy, -" + phases.AllowUnreachableFlag + " and what else says what to plan: leave them out")
	}
	o.changeOptions = changeOptions{
		excludes: f.Plan.Excluded, refreshOnly: f.Plan.RefreshOnly,
		replace: f.Plan.Replace, accept: f.Plan.AcceptNewHost, forget: f.Plan.ForgetUnreachable,
	}
	// Who applies may make an exception of their own; what was reviewed stays one.
	o.overridden = append(slices.Clone(f.Plan.OverriddenPolicies), o.overridden...)
	o.targets, o.skipPhases, o.destroy, o.allowUnreachable = f.Plan.Targets, f.Plan.SkippedPhases, f.Plan.Destroy, f.AllowUnreachable
	return o, nil
}

// fits tells whether a saved plan was made by this program, from this
// configuration and for this state. Nothing was contacted yet.
func (s *session) fits(f *planfile.File) error {
	p := f.Plan
	stale := func(format string, args ...any) error {
		return s.failed(diag.Diagnostics{diag.Errorf("Saved plan is stale", format+" Nothing was changed. Plan again, and have that plan reviewed.", args...)})
	}
	lineage, serial := "", int64(0)
	if s.recorded != nil {
		lineage, serial = s.recorded.Lineage, s.recorded.Serial
	}
	switch digest := p.ConfigDigest; {
	case p.ToolVersion != Version:
		return stale("It was made by kubewright %s, and this is %s.", p.ToolVersion, Version)
	case p.Lineage != lineage && !s.begun(f): // whose key the configuration's digest has, too
		return stale("It was made for the state of lineage %s, and this one's is %s.", orNone(p.Lineage), orNone(lineage))
	case digest != "" && digest != s.configDigest() && digest != s.config.Digest:
		return stale("The configuration, or a variable, is not as it was when the plan was made. A plan holds no values of variables: give the same ones.")
	case s.begun(f):
		return nil // this plan's own steps have made the state another one
	case p.Serial != serial:
		return stale("The state was of serial %d when the plan was made, and is of %d: something was applied since.", p.Serial, serial)
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// begun tells that the last apply was of the saved plan, and did not get to its end.
func (s *session) begun(f *planfile.File) bool {
	if s.recorded == nil || len(s.recorded.Applies) == 0 {
		return false
	}
	return s.recorded.Applies[len(s.recorded.Applies)-1].Plan == planfile.Digest(f.Plan)
}

// unmoved refuses when the plan that was just made is not the saved one, and
// says what is not as it was.
func (s *session) unmoved(f *planfile.File) error {
	differences := planfile.Compare(f.Plan, s.result.Plan, s.begun(f))
	if len(differences) == 0 {
		return nil
	}
	return s.failed(diag.Diagnostics{diag.Errorf("Saved plan is stale", "%s\n\nNothing was changed. Plan again, and have that plan reviewed.", view.Differences(differences))})
}

// appliedAlready refuses a saved plan of which nothing is left to do.
func (s *session) appliedAlready() error {
	last := s.recorded.Applies[len(s.recorded.Applies)-1]
	return s.failed(diag.Diagnostics{diag.Errorf("Saved plan is stale", "It was applied already, to its end: by run %s of %s, which began at %s. Nothing was changed. To see whether something is left to do, plan again.",
		last.Run, cmp.Or(last.Who, "somebody"), last.Time.Format(time.RFC3339))})
}

// approves refuses a plan that is not the one which the digest approves.
func (by approval) approves(s *session) error {
	if by.digest == "" {
		return nil
	}
	digest := planfile.Digest(s.result.Plan)
	if len(by.digest) >= planfile.ShortDigest && strings.HasPrefix(digest, strings.ToLower(by.digest)) {
		return nil
	}
	return s.failed(diag.Diagnostics{diag.Errorf("Another plan was approved", "-approve=%s is the digest of another plan; this one's is %s. Nothing was changed. "+
		"Read the plan above, and approve that if it is what you want.", by.digest, digest[:planfile.ShortDigest])})
}
