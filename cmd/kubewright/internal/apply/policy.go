package apply

import (
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/policy"
)

// permitted refuses to carry out a plan that a policy forbids.
func (s *Apply) permitted() error {
	return s.Report(refusals(s.Result.Plan.Policies, "Nothing was changed."))
}

// refusals returns the errors of findings that are not overridden.
func refusals(findings []planner.PolicyFinding, so string) diag.Diagnostics {
	var out diag.Diagnostics
	for _, f := range policy.Refusals(findings) {
		out = append(out, diag.Errorf(console.PolicyRefuses, "Policy %q, %s: %s. %s If this is an exception, and yours to make, proceed despite the policy with -override-policy=%s.",
			f.Policy, f.Rule, strings.TrimSuffix(f.Message, "."), so, f.Policy).At(f.Source))
	}
	return out
}

// holdBack returns a function that says, right before a step, why no further step of the plan
// may begin; empty if it may. It is nil if no policy can change its verdict during the run.
func (s *Apply) holdBack() func() string {
	judge := s.Judge()
	changing := judge.Changing()
	if len(changing) == 0 {
		return nil
	}
	plan := s.Result.Plan
	return func() string {
		s.held = judge.Recheck(changing, plan)
		if len(s.held) == 0 {
			return ""
		}
		return fmt.Sprintf("policy %q: %s", s.held[0].Policy, s.held[0].Message)
	}
}

// heldBack is the error of a run that a policy has stopped.
func (s *Apply) heldBack() error {
	return s.Report(refusals(s.held, "What was begun was finished, nothing else was begun, and the state has what was done."))
}
