package view

import (
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/policy"
)

// policies tells what policies have against the plan: what stops an apply, and
// what would if nobody had overridden it.
func (p planPrinter) policies() {
	refusals := policy.Refusals(p.plan.Policies)
	if len(refusals) > 0 {
		p.line(p.bold(p.yellow("Warning: ")), "apply is refused by ", policyNames(refusals), ":")
		p.findings(refusals)
	}
	var passed []planner.PolicyFinding
	for _, f := range p.plan.Policies {
		if f.Overridden {
			passed = append(passed, f)
		}
	}
	if len(passed) > 0 {
		p.line(p.bold(p.yellow("Note: ")), "overridden with -override-policy, ", policyNames(passed), " stops nothing:")
		p.findings(passed)
	}
}

func (p planPrinter) findings(found []planner.PolicyFinding) {
	for _, f := range found {
		at := ""
		if f.Source.File != "" {
			at = "  " + p.dim(Clean(f.Source.String()))
		}
		p.line("  ", p.bold(Clean(f.Rule)), at)
		p.line("    ", wrap(Clean(f.Message), p.width-4, "    "))
	}
	p.line()
}

// policyNames names the policies of findings, each once.
func policyNames(found []planner.PolicyFinding) string {
	var names []string
	for _, f := range found {
		if name := "policy \"" + Clean(f.Policy) + "\""; len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return list(names)
}

// policyText returns a finding for readers outside of the terminal.
func policyText(f planner.PolicyFinding) string {
	verb := "refuses"
	if f.Overridden {
		verb = "is overridden, and would refuse"
	}
	return "\"" + Clean(f.Policy) + "\" " + verb + " (" + Clean(f.Rule) + "): " + Clean(f.Message) + "."
}
