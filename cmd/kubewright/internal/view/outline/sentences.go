package outline

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/policy"
	"github.com/kubewright/kubewright/state"
)

// ExcludedDependents returns what the plan leaves out because it depends on an excluded resource,
// and excluded clusters whose nodes are not excluded with them.
func ExcludedDependents(plan *planner.Plan) string {
	text := ""
	if names := ui.Cleaned(plan.LeftOut); len(names) > 0 {
		if n := len(names); n > maxLeftOut+1 {
			names = append(names[:maxLeftOut:maxLeftOut], strconv.Itoa(n-maxLeftOut)+" more")
		}
		text = " and what needs that: " + ui.CommaList(names)
	}
	if clusters := clustersWithChangingNodes(plan); len(clusters) > 0 {
		text += "; none of the nodes of " + ui.CommaList(clusters) + " is excluded: exclude them by name"
	}
	return text
}

// clustersWithChangingNodes returns the excluded clusters whose nodes change.
func clustersWithChangingNodes(plan *planner.Plan) []string {
	changing := map[string]bool{}
	for _, r := range plan.Resources {
		if r.Target.Type == state.TypeNode && r.Action != planner.NoOp {
			changing[state.ClusterTarget(cmp.Or(r.After["cluster"], r.Before["cluster"])).String()] = true
		}
	}
	var out []string
	for _, excluded := range plan.Excluded {
		if changing[excluded] {
			out = append(out, ui.Clean(excluded))
		}
	}
	return out
}

// maxLeftOut is the number of dependents that are named.
const maxLeftOut = 8

// Counts returns the sentence after "Plan:".
func Counts(plan *planner.Plan) string {
	add, change, destroy := plan.Counts()
	imports := ""
	if n := plan.Imports(); n > 0 {
		imports = strconv.Itoa(n) + " to import, "
	}
	return imports + strconv.Itoa(add) + " to add, " + strconv.Itoa(change) + " to change, " + strconv.Itoa(destroy) + " to destroy."
}

// InterruptedNote returns the resources whose changes a refresh-only plan cannot show, since an
// apply was interrupted there.
func InterruptedNote(plan *planner.Plan) string {
	if len(plan.Interrupted) == 0 {
		return ""
	}
	return "The state does not know what an interrupted apply has left on " + ui.Clean(ui.CommaList(plan.Interrupted)) + ". " +
		"What was changed there since is shown by kubewright plan, as far as it differs from the configuration. The next apply writes what it finds."
}

// ChangedOutputs returns the names of outputs whose value is not the recorded one.
func ChangedOutputs(prior, planned map[string]state.Value) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(prior)), maps.Keys(planned))
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return prior[name].Equal(planned[name]) })
}

// Warnings returns the warnings that a plan was made with.
func Warnings(plan *planner.Plan) diag.Diagnostics {
	var out diag.Diagnostics
	for _, j := range plan.Diagnostics {
		out.Append(j.Diagnostic())
	}
	return out
}

// Summaries returns the summaries of findings, each once, with the number of findings if there
// are several.
func Summaries(list diag.Diagnostics) string {
	times := map[string]int{}
	var names []string
	for _, d := range list {
		if times[d.Summary]++; times[d.Summary] == 1 {
			names = append(names, d.Summary)
		}
	}
	for i, name := range names {
		names[i] = ui.Clean(name)
		if n := times[name]; n > 1 {
			names[i] += " (" + strconv.Itoa(n) + ")"
		}
	}
	return strings.Join(names, "; ")
}

// PolicyNote returns a policy's finding for readers outside of the terminal.
func PolicyNote(f planner.PolicyFinding) string {
	verb := "refuses"
	if f.Overridden {
		verb = "is overridden, and would refuse"
	}
	return "\"" + ui.Clean(f.Policy) + "\" " + verb + " (" + ui.Clean(f.Rule) + "): " + ui.Clean(f.Message) + "."
}

// RefusedByPolicy reports whether a policy refuses the plan for a reason that no approval lifts.
func RefusedByPolicy(plan *planner.Plan) bool {
	return slices.ContainsFunc(policy.Refusals(plan.Policies), func(f planner.PolicyFinding) bool { return f.Rule != policy.ApprovalOf })
}
