// Package policy evaluates the configuration's policies for a plan. It is pure: time, digest and
// approvals come from outside.
//
// A plan is made and shown whatever its policies say, so that it can be read and approved. Policies
// are evaluated again before an apply starts, and before each step: by then a freeze may have
// begun, or an approval may have been withdrawn.
package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// The rules of a policy, as in PolicyFinding.Rule.
const (
	MaxDestroys = "max_destroys"
	Protected   = "protected"
	Freeze      = "freeze"
	ApprovalOf  = "approval"
)

// Input is the input of policies.
type Input struct {
	Policies []config.Policy
	Config   *config.Config
	// Recorded is nil before the first apply.
	Recorded *state.State
	Plan     *planner.Plan
	// Now is the time of the operator's clock.
	Now time.Time
	// Digest is the digest of the plan.
	Digest string
	// Approved reports whether the digest was given on the command line, or whether the plan is a
	// saved one.
	Approved bool
	// Approvals are the contents of the approval files, by file name.
	Approvals map[string][]Approval
}

// Evaluate returns all findings of policies about a plan, in the order of the policies. A plan that
// changes no host has none.
func Evaluate(in Input) []planner.PolicyFinding {
	var out []planner.PolicyFinding
	for _, p := range in.Policies {
		if !in.concerns(p) {
			continue
		}
		found := slices.Concat(in.destroys(p), in.protects(p), in.freezes(p), in.approval(p))
		for i := range found {
			found[i].Policy = p.Name
			found[i].Overridden = slices.Contains(in.Plan.OverriddenPolicies, p.Name)
		}
		out = append(out, found...)
	}
	return out
}

// MayChange reports whether the findings of a policy may change while the plan is carried out:
// because of the clock, or of a file of approvals.
func MayChange(p config.Policy) bool {
	return len(p.Freezes) > 0 || p.Approval != nil && p.Approval.File != ""
}

// Refusals returns the findings that stop an apply.
func Refusals(findings []planner.PolicyFinding) []planner.PolicyFinding {
	return slices.DeleteFunc(slices.Clone(findings), func(f planner.PolicyFinding) bool { return f.Overridden })
}

// concerns reports whether a step of the plan is within the scope of the policy.
func (in Input) concerns(p config.Policy) bool {
	return slices.ContainsFunc(in.Plan.Steps, func(s planner.Step) bool { return in.within(p, s.Target) })
}

// within reports whether a target belongs to the policy's cluster.
func (in Input) within(p config.Policy, t state.Target) bool {
	if p.Cluster == "" {
		return true
	}
	if t.Type != state.TypeNode {
		return t.Name == p.Cluster
	}
	for _, n := range in.Config.Nodes {
		if n.Target == t {
			return n.Cluster == p.Cluster
		}
	}
	return in.Recorded != nil && in.Recorded.Nodes[t] != nil && in.Recorded.Nodes[t].Cluster == p.Cluster
}

// leaving returns the targets within a policy's scope that the plan counts as destroyed or
// replaced.
func (in Input) leaving(p config.Policy) []string {
	var out []string
	for _, r := range in.Plan.Resources {
		if !r.Partly && (r.Action == planner.Delete || r.Action == planner.Replace) && in.within(p, r.Target) {
			out = append(out, r.Target.String())
		}
	}
	return out
}

func (in Input) destroys(p config.Policy) []planner.PolicyFinding {
	leaving := in.leaving(p)
	if p.MaxDestroys == config.NoLimit || len(leaving) <= p.MaxDestroys {
		return nil
	}
	return []planner.PolicyFinding{{
		Rule: MaxDestroys, Source: p.Source,
		Message: fmt.Sprintf("%d would be destroyed or replaced (%s), and the limit for one plan is %d", len(leaving), listed(leaving), p.MaxDestroys),
	}}
}

func (in Input) protects(p config.Policy) []planner.PolicyFinding {
	var out []planner.PolicyFinding
	for _, r := range in.Plan.Resources {
		if r.Action != planner.Delete && r.Action != planner.Replace || !in.within(p, r.Target) {
			continue
		}
		i := slices.IndexFunc(p.Protected, func(pattern string) bool { return config.Matches(pattern, r.Target) })
		if i < 0 {
			continue
		}
		what := "destroyed"
		if r.Action == planner.Replace {
			what = "replaced"
		}
		out = append(out, planner.PolicyFinding{
			Rule: Protected, Source: p.Source,
			Message: fmt.Sprintf("%s would be %s, and %q is protected", r.Target, what, p.Protected[i]),
		})
	}
	return out
}

func (in Input) freezes(p config.Policy) []planner.PolicyFinding {
	var out []planner.PolicyFinding
	for _, f := range p.Freezes {
		until, active := f.Active(in.Now)
		if !active {
			continue
		}
		message := fmt.Sprintf("frozen until %s by %q", until.Format("Mon 2006-01-02 15:04 MST"), f.Name)
		if f.Reason != "" {
			message += ": " + f.Reason
		}
		out = append(out, planner.PolicyFinding{Rule: Freeze, Source: f.Source, Message: message})
	}
	return out
}

// listed lists names, up to a readable number.
func listed(names []string) string {
	const most = 8
	if n := len(names); n > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ")
}
