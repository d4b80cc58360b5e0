package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/planner/policy"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
)

// policyRefuses is the summary of a plan that policies do not let through.
const policyRefuses = "Refused by a policy"

// overrideFlag adds the flag that goes on against a policy.
func (o *planOptions) overrideFlag(f *pflag.FlagSet) {
	f.StringArrayVar(&o.overridden, "override-policy", nil, "go on against the policy with this `name`; the plan shows it (repeatable)")
}

// overrides returns the names given with -override-policy.
func (s *session) overrides() []string {
	out := slices.Clone(s.opts.overridden)
	slices.Sort(out)
	return slices.Compact(out)
}

// unknownPolicies returns the names given with -override-policy that no policy has.
func (s *session) unknownPolicies() diag.Diagnostics {
	var names []string
	for _, p := range s.config.Policies {
		names = append(names, p.Name)
	}
	var diags diag.Diagnostics
	for _, name := range s.overrides() {
		if !slices.Contains(names, name) {
			diags.Append(diag.Errorf("Unknown policy", "-override-policy=%s: the configuration has no such policy.%s Those that there are: %s.", name, didYouMean("", name, names), listed(names)))
		}
	}
	return diags
}

// idlePatterns warns of patterns of protected that nothing matches: what they were to
// protect is not protected.
func (s *session) idlePatterns() diag.Diagnostics {
	var diags diag.Diagnostics
	known := s.known()
	for _, p := range s.config.Policies {
		for _, pattern := range p.Protected {
			if !slices.ContainsFunc(known, func(t state.Target) bool { return config.Matches(pattern, t) }) {
				diags.Append(diag.Warningf("Pattern protects nothing", "policy %q protects %s, and nothing in configuration or state has such an address.%s",
					p.Name, pattern, didYouMean("", pattern, selectable(known))).At(p.Source))
			}
		}
	}
	return diags
}

// judge asks the policies about a plan that was just made.
func (s *session) judge(p *planner.Plan) error {
	if len(s.config.Policies) == 0 {
		return nil
	}
	in, err := s.policyInput(p)
	if err == nil {
		p.Policies = policy.Evaluate(in)
	}
	return err
}

func (s *session) policyInput(p *planner.Plan) (policy.Input, error) {
	in := policy.Input{
		Policies: s.config.Policies, Config: s.config, Recorded: s.recorded, Plan: p, Now: s.Now(),
		Digest: planfile.Digest(p), Approved: s.approved, Approvals: map[string][]policy.Approval{},
	}
	for _, p := range s.config.Policies {
		if p.Approval == nil || p.Approval.File == "" {
			continue
		}
		var err error
		if in.Approvals[p.Approval.File], err = s.approvals(p.Approval.File); err != nil {
			return in, s.failed(diag.Diagnostics{diag.Errorf("Approvals cannot be read", "%s, which policy %q names, cannot be read: %v. Nothing was changed.", p.Approval.File, p.Name, bare(err)).At(p.Approval.Source)})
		}
	}
	return in, nil
}

// maxApprovals bounds in bytes what is read of a file of approvals.
const maxApprovals = 1 << 20

// approvals reads a file of approvals. One that is not there has none. It is no part of
// the configuration's digest: to approve a plan does not make it another one.
func (s *session) approvals(file string) ([]policy.Approval, error) {
	b, err := safefile.ReadBelow(s.folder(), file, maxApprovals)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return policy.ParseApprovals(string(b))
}

// permitted refuses to carry out a plan that a policy has something against.
func (s *session) permitted() error {
	return s.failed(refusals(s.result.Plan.Policies, "Nothing was changed."))
}

// refusals returns the errors of findings that nobody has overridden.
func refusals(findings []planner.PolicyFinding, so string) diag.Diagnostics {
	var out diag.Diagnostics
	for _, f := range policy.Refusals(findings) {
		out = append(out, diag.Errorf(policyRefuses, "Policy %q, %s: %s. %s If this is an exception, and yours to make, go on against the policy with -override-policy=%s.",
			f.Policy, f.Rule, strings.TrimSuffix(f.Message, "."), so, f.Policy).At(f.Source))
	}
	return out
}

// holdBack says, right before a step, why no more of the plan may be begun; empty where
// it may. It is nil where no policy can say another thing than at the beginning.
func (s *session) holdBack() func() string {
	changing := slices.DeleteFunc(slices.Clone(s.config.Policies), func(p config.Policy) bool { return !policy.MayChange(p) })
	if len(changing) == 0 {
		return nil
	}
	in := policy.Input{
		Policies: changing, Config: s.config, Recorded: s.recorded, Plan: s.result.Plan,
		Digest: planfile.Digest(s.result.Plan), Approved: s.approved,
	}
	return func() string {
		in.Now = s.Now()
		s.held = policy.Refusals(append(s.reread(&in), policy.Evaluate(in)...))
		if len(s.held) == 0 {
			return ""
		}
		return fmt.Sprintf("policy %q: %s", s.held[0].Policy, s.held[0].Message)
	}
}

// reread gives policies what their files of approvals hold by now. One that cannot be
// read any more holds nobody's approval, which is said with why.
func (s *session) reread(in *policy.Input) []planner.PolicyFinding {
	var unread []planner.PolicyFinding
	in.Approvals = map[string][]policy.Approval{}
	for _, p := range in.Policies {
		if p.Approval == nil || p.Approval.File == "" {
			continue
		}
		list, err := s.approvals(p.Approval.File)
		if err != nil {
			unread = append(unread, planner.PolicyFinding{
				Policy: p.Name, Rule: policy.ApprovalOf, Source: p.Approval.Source,
				Message:    fmt.Sprintf("%s cannot be read any more: %v", p.Approval.File, bare(err)),
				Overridden: slices.Contains(in.Plan.OverriddenPolicies, p.Name),
			})
		}
		in.Approvals[p.Approval.File] = list
	}
	return unread
}

// heldBack are the errors of a run that a policy has stopped.
func (s *session) heldBack() error {
	return s.failed(refusals(s.held, "What was begun was finished, nothing else was begun, and the state has what was done."))
}
