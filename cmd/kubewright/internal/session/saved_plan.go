package session

import (
	"cmp"
	"errors"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
)

const NotVerified = "Saved plan was not verified"

// authenticate refuses a saved plan that the state's key does not authenticate, as soon as the
// state is read and before any host is contacted.
//
// The first apply makes the key, and a plan writes no state: a plan for a cluster without a
// state cannot be authenticated. Such a file counts only if its plan is approved on the command
// line or at the prompt (approvable), and if the state has no key yet or records that its first
// run began this very plan.
func (s *Session) authenticate() error {
	f := s.Opts.Saved
	if f == nil {
		return nil
	}
	cause := f.Authenticate(s.LastingKey())
	if cause == nil {
		return nil
	}
	if errors.Is(cause, planfile.ErrNoMAC) && (s.LastingKey().IsZero() || hasBegun(s.Recorded, f)) {
		s.Unauthenticated = true
		s.SavedDigest = planfile.Digest(f.Plan)[:planfile.ShortDigest]
		return nil
	}
	if err := CheckOrigin(s.Recorded, f.Plan, s.Unauthenticated); err != nil { // it says more about an honest mistake
		return err
	}
	file := state.ShellWord(s.SavedPlan)
	why := "It was saved with the key of another state, or changed since it was saved"
	switch {
	case errors.Is(cause, planfile.ErrEarlierFormat):
		why = "It was saved by an earlier version of kubewright, which did not authenticate plans"
	case errors.Is(cause, planfile.ErrNoMAC):
		why = "It has no authentication code, and plans of this state have one"
	}
	return s.Report(diag.Diagnostics{diag.Errorf(console.NotAuthentic, "%s does not count as a plan of the state at %s. %s. Nothing was changed. Plan again, and have that plan reviewed:\n\n  kubewright plan -out=%s",
		file, s.Store.Place(), why, file)})
}

// LastingKey returns the stored key of the state; zero before an apply has written one.
func (s *Session) LastingKey() state.Key {
	if s.firstKey != "" {
		return state.Key{}
	}
	return s.Key()
}

// hasBegun reports whether the state has a run that began the plan of a file made before there
// was a state.
func hasBegun(recorded *state.State, f *planfile.File) bool {
	last, _ := LastApply(recorded, f.Plan)
	return last != nil && f.Plan.Serial == 0
}

// StalePlan refuses a saved plan.
func StalePlan(format string, args ...any) error {
	return console.Failure(diag.Diagnostics{diag.Errorf(console.PlanIsStale, format+" Nothing was changed. Plan again, and have that plan reviewed.", args...)})
}

// CheckOrigin refuses a saved plan of another version of this program, or of another state than
// the recorded one.
func CheckOrigin(recorded *state.State, p *planner.Plan, unauthenticated bool) error {
	lineage := ""
	if recorded != nil {
		lineage = recorded.Lineage
	}
	last, _ := LastApply(recorded, p)
	switch {
	case p.ToolVersion != console.Version:
		return StalePlan("It was made by kubewright %s, and this is %s.", p.ToolVersion, console.Version)
	case p.Lineage != lineage && (last == nil || !unauthenticated): // a plan made before there was a state has no lineage
		return StalePlan("It was made for the state of lineage %s, and this one's is %s.", orNone(p.Lineage), orNone(lineage))
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// LastApply returns the last apply of a saved plan, and the last apply of another plan after
// it; nil if there is none. A plan is identified by its digest and the state that it was made
// for: a user who recreates a cluster may want the same plan again.
func LastApply(recorded *state.State, p *planner.Plan) (last, since *state.Apply) {
	if recorded == nil {
		return nil, nil
	}
	applies, digest := recorded.Applies, planfile.Digest(p)
	for i := len(applies) - 1; i >= 0; i-- {
		if a := applies[i]; a.Plan == digest && a.Serial == p.Serial {
			return &a, since
		}
		since = cmp.Or(since, &applies[i])
	}
	return nil, nil
}
