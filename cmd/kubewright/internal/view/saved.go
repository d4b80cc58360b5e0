package view

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/planner/policy"
	"github.com/kubewright/kubewright/state"
)

// Saved ends a plan: where it was saved and how it is applied, or with an empty
// path that it was not. Of a plan without changes, or one that a policy refuses,
// that is not worth a word.
func Saved(w io.Writer, path string, plan *planner.Plan, o Options) error {
	refused := refusedAsItIs(plan)
	if path == "" && (plan.Empty() || refused) {
		return nil
	}
	p := newPage(o)
	p.line()
	p.rule()
	p.line()
	if path == "" {
		p.prose("Note: This plan was not saved, and kubewright apply plans anew. To carry out this plan and no other, save it with -out, or approve it by its digest:")
		p.line()
		p.line("    ", commandFor(plan, o), " -approve=", short(plan))
		return p.flush(w)
	}
	p.line("Saved the plan to: ", Clean(path))
	p.line("Its digest is ", short(plan), ".")
	p.line()
	if refused {
		p.prose("kubewright apply refuses it as long as the policies above have something against it.")
		return p.flush(w)
	}
	word := shellWord(path)
	if word == path { // in the quotes that Terraform prints, where they change nothing
		word = `"` + path + `"`
	}
	p.line("To perform exactly these actions, run the following command to apply:")
	p.line("    ", applySaved(plan, word, o))
	return p.flush(w)
}

// refusedAsItIs reports whether a policy has something against the plan that nobody's
// approval would lift.
func refusedAsItIs(plan *planner.Plan) bool {
	return slices.ContainsFunc(policy.Refusals(plan.Policies), func(f planner.PolicyFinding) bool { return f.Rule != policy.ApprovalOf })
}

// verb returns the command that makes such a plan and carries it out.
func verb(plan *planner.Plan) string {
	if plan.Destroy {
		return "destroy"
	}
	return "apply"
}

func short(plan *planner.Plan) string { return planfile.Digest(plan)[:planfile.ShortDigest] }

// mostDifferences is how many are shown.
const mostDifferences = 20

// Differences says what is not as it was when a plan was saved: each item and
// below it what became of it.
func Differences(list []planfile.Difference) string {
	var lines []string
	var of state.Address
	for i, d := range list {
		if i == mostDifferences {
			lines = append(lines, "  and "+strconv.Itoa(len(list)-i)+" more")
			break
		}
		if d.Address != of {
			of = d.Address
			lines = append(lines, "  "+Clean(of.String()))
			if d.Path != "" && (d.What == planfile.Appeared || d.What == planfile.Settled) {
				lines = append(lines, "    "+d.What+":")
			}
		}
		lines = append(lines, "    "+difference(d))
	}
	return strings.Join(lines, "\n")
}

// difference says what became of one thing.
func difference(d planfile.Difference) string {
	saved, now := inline(d.Saved), inline(d.Now)
	switch {
	case d.Address == (state.Address{}):
		return "the plan as a whole is another one: in its order, its limits or what it leaves out"
	case d.Path == "":
		return d.What + presence(d)
	case d.What == planfile.Otherwise:
		return Clean(d.Path) + " was to become " + saved + ", and would become " + now
	case d.Now.IsPending(): // only an apply would have told what it is to become
		return Clean(d.Path) + " was " + saved + " when the plan was saved"
	case d.Saved.IsPending():
		return Clean(d.Path) + " is " + now + " now"
	case d.Saved.IsNull():
		return Clean(d.Path) + " was not there when the plan was saved, and is " + now + " now"
	case d.Now.IsNull():
		return Clean(d.Path) + " was " + saved + " when the plan was saved, and is not there now"
	}
	return Clean(d.Path) + " was " + saved + " when the plan was saved, and is " + now + " now"
}

// presence says of an item that is meant as a whole whether it was there and is.
func presence(d planfile.Difference) string {
	was, is := "there", "is not there now"
	switch {
	case d.Action == planner.Create && d.What == planfile.Settled:
		was, is = "not there", "is now"
	case d.Action == planner.Create || d.Action == planner.Delete && d.What == planfile.Settled:
	default:
		return ""
	}
	return ": it was " + was + " when the plan was saved, and " + is
}
