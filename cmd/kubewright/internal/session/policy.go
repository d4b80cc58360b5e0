package session

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/planner/policy"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
	"github.com/spf13/pflag"
)

// OverrideFlag adds the flag that continues against a policy.
func (o *Options) OverrideFlag(f *pflag.FlagSet) {
	f.StringArrayVar(&o.overridden, "override-policy", nil, "proceed despite the policy with this `name`; the plan shows it (repeatable)")
}

// overrides returns the names given with -override-policy.
func (o *Options) overrides() []string {
	out := slices.Clone(o.overridden)
	slices.Sort(out)
	return slices.Compact(out)
}

// unknownPolicies reports the names given with -override-policy that no policy has.
func (s *Session) unknownPolicies() diag.Diagnostics {
	var names []string
	for _, p := range s.Config.Policies {
		names = append(names, p.Name)
	}
	var diags diag.Diagnostics
	for _, name := range s.Opts.overrides() {
		if !slices.Contains(names, name) {
			diags.Append(diag.Errorf("Unknown policy", "-override-policy=%s: the configuration has no such policy.%s Those that there are: %s.", name, console.DidYouMean("", name, names), console.ListOf(names)))
		}
	}
	return diags
}

// idlePatterns warns about patterns of protected that match nothing: they protect nothing.
func (s *Session) idlePatterns() diag.Diagnostics {
	var diags diag.Diagnostics
	known := s.addresses().known()
	for _, p := range s.Config.Policies {
		for _, pattern := range p.Protected {
			if !slices.ContainsFunc(known, func(t state.Target) bool { return config.Matches(pattern, t) }) {
				diags.Append(diag.Warningf("Pattern protects nothing", "policy %q protects %s, and nothing in configuration or state has such an address.%s",
					p.Name, pattern, console.DidYouMean("", pattern, Selectable(known))).At(p.Source))
			}
		}
	}
	return diags
}

// Judge evaluates the policies of a configuration for a plan.
type Judge struct {
	config   *config.Config
	recorded *state.State
	// approved reports whether the plan is approved by its digest, or by having been saved.
	approved bool
	now      func() time.Time
	// folder is the configuration's folder, which has the approval files.
	folder string
}

// Judge returns the Judge of this run.
func (s *Session) Judge() Judge {
	return Judge{s.Config, s.Recorded, s.Approved, s.Now, s.Folder()}
}

// evaluate returns a new plan with the findings of the policies about it.
func (j Judge) evaluate(p *planner.Plan) (*planner.Plan, error) {
	if len(j.config.Policies) == 0 {
		return p, nil
	}
	in := j.input(j.config.Policies, p)
	for _, of := range j.config.Policies {
		if of.Approval == nil || of.Approval.File == "" {
			continue
		}
		var err error
		if in.Approvals[of.Approval.File], err = j.approvals(of.Approval.File); err != nil {
			return p, console.Failure(diag.Diagnostics{diag.Errorf("Approvals cannot be read", "%s, which policy %q names, cannot be read: %v. Nothing was changed.", of.Approval.File, of.Name, console.WithoutPath(err)).At(of.Approval.Source)})
		}
	}
	judged := *p
	judged.Policies = policy.Evaluate(in)
	for i, f := range judged.Policies {
		judged.Policies[i].Message = commandline.Text(remedy.Text(f.Message))
	}
	return &judged, nil
}

func (j Judge) input(policies []config.Policy, p *planner.Plan) policy.Input {
	return policy.Input{
		Policies: policies, Config: j.config, Recorded: j.recorded, Plan: p, Now: j.now(),
		Digest: planfile.Digest(p), Approved: j.approved, Approvals: map[string][]policy.Approval{},
	}
}

// maxApprovals limits, in bytes, how much is read of an approval file.
const maxApprovals = 1 << 20

// approvals reads an approval file. A missing file has no approvals. The file is not part of
// the configuration's digest: approving a plan must not change its digest.
func (j Judge) approvals(file string) ([]policy.Approval, error) {
	b, err := safefile.ReadBelow(j.folder, file, maxApprovals)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return policy.ParseApprovals(string(b))
}

// Changing returns the policies whose verdict may change while a plan is carried out.
func (j Judge) Changing() []config.Policy {
	return slices.DeleteFunc(slices.Clone(j.config.Policies), func(p config.Policy) bool { return !policy.MayChange(p) })
}

// Recheck returns the policy findings against continuing a plan now, with the current approval
// files. A file that can no longer be read approves nothing, and the finding says why.
func (j Judge) Recheck(policies []config.Policy, plan *planner.Plan) []planner.PolicyFinding {
	in := j.input(policies, plan)
	var unread []planner.PolicyFinding
	for _, p := range policies {
		if p.Approval == nil || p.Approval.File == "" {
			continue
		}
		list, err := j.approvals(p.Approval.File)
		if err != nil {
			unread = append(unread, planner.PolicyFinding{
				Policy: p.Name, Rule: policy.ApprovalOf, Source: p.Approval.Source,
				Message:    fmt.Sprintf("%s cannot be read any more: %v", p.Approval.File, console.WithoutPath(err)),
				Overridden: slices.Contains(plan.OverriddenPolicies, p.Name),
			})
		}
		in.Approvals[p.Approval.File] = list
	}
	return policy.Refusals(append(unread, policy.Evaluate(in)...))
}
