package view

import (
	"cmp"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// commandFor returns the command that makes such a plan again and carries it out: it
// has the flags that make the plan what it is. Without them it would be another.
func commandFor(plan *planner.Plan, o Options) string {
	if o.SavedPlan != "" {
		return applySaved(plan, shellWord(o.SavedPlan), o)
	}
	words := []string{"kubewright", cmp.Or(Clean(plan.Command), verb(plan))}
	if plan.RefreshOnly {
		words = append(words, "-refresh-only")
	}
	for _, f := range []struct {
		name   string
		values []string
	}{
		{"target", plan.Targets},
		{"exclude", plan.Excluded},
		{"skip-phase", plan.SkippedPhases},
		{"replace", plan.Replace},
		{"accept-new-host", plan.AcceptNewHost},
		{"forget-unreachable", plan.ForgetUnreachable},
		{"override-policy", plan.OverriddenPolicies},
	} {
		for _, v := range f.values {
			words = append(words, "-"+f.name+"="+shellWord(v))
		}
	}
	if o.AllowUnreachable {
		words = append(words, "-allow-unreachable")
	}
	return strings.Join(append(words, givenAgain(o)...), " ")
}

// applySaved returns the command that carries out a plan in a file. The file has the flags that
// make the plan what it is, and not those that permit something.
func applySaved(plan *planner.Plan, word string, o Options) string {
	words := []string{"kubewright apply"}
	for _, name := range plan.OverriddenPolicies {
		words = append(words, "-override-policy="+shellWord(name))
	}
	if o.AllowUnreachable {
		words = append(words, "-allow-unreachable")
	}
	if o.SavedDigest != "" {
		words = append(words, "-approve="+o.SavedDigest)
	}
	return strings.Join(append(append(words, givenAgain(o)...), word), " ")
}

// givenAgain returns the flags of the command line that no plan holds, as words for a shell.
func givenAgain(o Options) []string {
	var words []string
	for _, f := range o.GivenAgain {
		name, value, _ := strings.Cut(f, "=")
		words = append(words, "-"+name+"="+shellWord(value))
	}
	return words
}

// shellWord returns a word that a shell takes as it is, in quotes where it has to be.
func shellWord(s string) string { return state.ShellWord(Clean(s)) }
