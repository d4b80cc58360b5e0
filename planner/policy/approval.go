package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
)

// Approval is one line of a file of approvals.
type Approval struct {
	// Digest is the digest of a plan, or enough of its beginning.
	Digest string
	// Name is the approver according to the line; it is not verified.
	Name string
}

// shortest is how many characters of a digest are enough to approve a plan.
const shortest = 16

// ParseApprovals parses a file of approvals: DIGEST NAME on each line; # begins a comment.
func ParseApprovals(text string) ([]Approval, error) {
	var out []Approval
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		digest, name, _ := strings.Cut(line, " ")
		name = strings.Join(strings.Fields(name), " ")
		if len(digest) < shortest || strings.Trim(strings.ToLower(digest), "0123456789abcdef") != "" || name == "" {
			return nil, fmt.Errorf("line %d is not an approval: it must be DIGEST NAME, with at least %d characters of the digest that plan prints", number, shortest)
		}
		out = append(out, Approval{Digest: strings.ToLower(digest), Name: name})
	}
	return out, nil
}

func (in Input) approval(p config.Policy) []planner.PolicyFinding {
	a := p.Approval
	if a == nil {
		return nil
	}
	short := in.Digest[:min(len(in.Digest), shortest)]
	finding := planner.PolicyFinding{Rule: ApprovalOf, Source: a.Source}
	if a.File == "" {
		if in.Approved {
			return nil
		}
		finding.Message = string(remedy.Textf("not approved: %s", how(in.Plan, remedy.Option{Kind: remedy.Approve, Value: short})))
		return []planner.PolicyFinding{finding}
	}
	names := in.approvers(a)
	if len(names) >= a.Approvers {
		return nil
	}
	finding.Message = fmt.Sprintf("approved by %d of %d", len(names), a.Approvers)
	if len(names) > 0 {
		finding.Message += " (" + listed(names) + ")"
	}
	finding.Message += fmt.Sprintf(": to approve, add the line \"%s NAME\" to %s", short, a.File)
	return []planner.PolicyFinding{finding}
}

// how returns how to approve a plan, depending on its command.
func how(p *planner.Plan, approve remedy.Option) remedy.Text {
	switch {
	case p.Command != "":
		return remedy.Textf("run kubewright %s with %s", p.Command, approve)
	case p.Destroy:
		return remedy.Textf("destroy with %s, or apply a saved plan", approve)
	}
	return remedy.Textf("apply with %s, or apply a saved plan", approve)
}

// approvers returns the different people who approve the plan.
func (in Input) approvers(a *config.Approval) []string {
	var out []string
	for _, line := range in.Approvals[a.File] {
		if !strings.HasPrefix(in.Digest, line.Digest) || len(a.Names) > 0 && !slices.Contains(a.Names, line.Name) {
			continue
		}
		out = append(out, line.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
