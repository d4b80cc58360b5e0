package outline

import (
	"cmp"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
)

// Command returns the command that makes the same plan again and applies it, with all flags that
// the plan depends on.
func Command(plan *planner.Plan, o ui.Options) string {
	if o.SavedPlan != "" {
		return SavedPlanCommand(plan, ShellWord(o.SavedPlan), o)
	}
	words := []string{"kubewright", cmp.Or(ui.Clean(plan.Command), ApplyCommand(plan))}
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
			words = append(words, "-"+f.name+"="+ShellWord(v))
		}
	}
	if o.AllowUnreachable {
		words = append(words, "-allow-unreachable")
	}
	return strings.Join(append(words, repeatedFlags(o)...), " ")
}

// SavedPlanCommand returns the command that applies a plan in a file. The file records the flags
// that the plan depends on, but not flags that permit what is refused otherwise.
func SavedPlanCommand(plan *planner.Plan, word string, o ui.Options) string {
	words := []string{"kubewright apply"}
	for _, name := range plan.OverriddenPolicies {
		words = append(words, "-override-policy="+ShellWord(name))
	}
	if o.AllowUnreachable {
		words = append(words, "-allow-unreachable")
	}
	if o.SavedDigest != "" {
		words = append(words, "-approve="+o.SavedDigest)
	}
	return strings.Join(append(append(words, repeatedFlags(o)...), word), " ")
}

// repeatedFlags returns the flags of the command line that no plan records, quoted for a shell.
func repeatedFlags(o ui.Options) []string {
	var words []string
	for _, f := range o.GivenAgain {
		name, value, _ := strings.Cut(f, "=")
		words = append(words, "-"+name+"="+ShellWord(value))
	}
	return words
}

// ShellWord returns a word, quoted for a shell if necessary.
func ShellWord(s string) string { return state.ShellWord(ui.Clean(s)) }

// ApplyCommand returns the name of the command that makes such a plan and applies it.
func ApplyCommand(plan *planner.Plan) string {
	if plan.Destroy {
		return "destroy"
	}
	return "apply"
}

// ShortDigest returns the digest of a plan in its short form.
func ShortDigest(plan *planner.Plan) string { return planfile.Digest(plan)[:planfile.ShortDigest] }
