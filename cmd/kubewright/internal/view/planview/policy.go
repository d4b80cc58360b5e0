package planview

import (
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/policy"
)

// policies prints the findings of policies: those that refuse an apply, and those that are
// overridden.
func (p printer) policies() {
	refusals := policy.Refusals(p.plan.Policies)
	if len(refusals) > 0 {
		p.Line(p.Bold(p.Yellow("Warning: ")), "apply is refused by ", policyNames(refusals), ":")
		p.findings(refusals)
	}
	var passed []planner.PolicyFinding
	for _, f := range p.plan.Policies {
		if f.Overridden {
			passed = append(passed, f)
		}
	}
	if len(passed) > 0 {
		p.Line(p.Bold(p.Yellow("Note: ")), "overridden with -override-policy, ", policyNames(passed), " stops nothing:")
		p.findings(passed)
	}
}

func (p printer) findings(found []planner.PolicyFinding) {
	for _, f := range found {
		at := ""
		if f.Source.File != "" {
			at = "  " + p.Dim(ui.Clean(f.Source.String()))
		}
		p.Line("  ", p.Bold(ui.Clean(f.Rule)), at)
		p.Line("    ", ui.Wrap(ui.Clean(f.Message), p.Width-4, "    "))
	}
	p.Line()
}

// policyNames returns the policies of findings, each once.
func policyNames(found []planner.PolicyFinding) string {
	var names []string
	for _, f := range found {
		if name := "policy \"" + ui.Clean(f.Policy) + "\""; len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return ui.CommaList(names)
}
