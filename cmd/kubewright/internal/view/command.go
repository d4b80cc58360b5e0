package view

import (
	"cmp"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// commandFor is the command that makes such a plan again and carries it out: it
// has the flags that make the plan what it is. Without them it would be another.
func commandFor(plan *planner.Plan, o Options) string {
	if o.SavedPlan != "" { // has the flags
		words := []string{"kubewright apply"}
		for _, name := range plan.OverriddenPolicies { // who applies may have added some
			words = append(words, "-override-policy="+shellWord(name))
		}
		return strings.Join(append(append(words, givenAgain(o)...), shellWord(o.SavedPlan)), " ")
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

// givenAgain are the flags of the command line that no plan holds, as words for a shell.
func givenAgain(o Options) []string {
	var words []string
	for _, f := range o.GivenAgain {
		name, value, _ := strings.Cut(f, "=")
		words = append(words, "-"+name+"="+shellWord(value))
	}
	return words
}

// shellWord is a word that a shell takes as it is, in quotes where it has to be.
func shellWord(s string) string { return state.ShellWord(Clean(s)) }
